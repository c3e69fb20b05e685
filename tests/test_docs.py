"""What README, help and docs tell to type works, and docs/commands.md says what --help says."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from docs import make_commands
from enrelm_cli.cli.app import app
from tests.cli_runner import succeed
from tests.shell import ROOT, Shell, commands, needs, script

# What everybody types first is tried in every run, the pages behind it with --slow.
FIRST = ("README.md", "docs/commands.md")
# test_examples.py runs the scripts of examples/, with --slow, too.
SECOND = ("examples/README.md", "docs/variants.md", "docs/classes.md", "docs/targets.md")
SECOND += tuple(f"docs/howto/{path.name}" for path in sorted((ROOT / "docs" / "howto").glob("*.md")))
GROUP: Any = typer.main.get_command(app)


def told(pages: tuple[str, ...] = FIRST + SECOND) -> list[str]:
    """Every command of the pages, once, in the order in which a reader meets them."""
    found = [command for page in pages for command in commands((ROOT / page).read_text(encoding="utf-8"))]
    return list(dict.fromkeys(re.sub(r"\s+#(?!\s*needs).*$", "", command) for command in found))


# Of options that a command leaves to their default: what is tried is that the line works, not what it finds.
QUICK = {"ENRELM_METHOD": "kernel\nlinear", "ENRELM_TUNE_STEPS": "5"}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("reader"), rows=60)


@pytest.fixture(scope="module")
def quick_shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    made = Shell(tmp_path_factory.mktemp("quick-reader"), rows=60)
    made.environment.update(QUICK)
    return made


def written_by(command: str) -> list[str]:
    return re.findall(r"(?:-o|>) (\S+)", command)


def prepare(command: str, shell: Shell) -> None:
    """Run what the pages tell before this command and what it needs: another process may have run it elsewhere."""
    for before in told()[: told().index(command)]:
        files = [name for name in written_by(before) if f" {name}" in command and name not in written_by(command)]
        if files and needs(before) is None and not all((shell.folder / name).exists() for name in files):
            prepare(before, shell)
            shell.succeed(before)


@pytest.mark.parametrize("command", told(FIRST))
def test_a_command_of_the_pages_runs(command: str, quick_shell: Shell) -> None:
    run_as_told(command, quick_shell)


@pytest.mark.slow
@pytest.mark.parametrize("command", [command for command in told(FIRST) if "compare" in command])
def test_a_comparison_of_the_pages_runs_with_every_method(command: str, shell: Shell) -> None:
    run_as_told(command, shell)


@pytest.mark.slow
@pytest.mark.parametrize("command", told()[len(told(FIRST)) :])
def test_a_command_of_the_pages_for_later_runs(command: str, shell: Shell) -> None:
    run_as_told(command, shell)


def run_as_told(command: str, shell: Shell) -> None:
    wanted = needs(command)
    if wanted is not None and importlib.util.find_spec(wanted.split()[0]) is None:
        pytest.skip(f"needs {wanted}")
    prepare(command, shell)
    shell.succeed(command)


@pytest.mark.slow
def test_the_commands_of_the_readme_run_on_the_whole_tables(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for command in commands((ROOT / "README.md").read_text(encoding="utf-8")):
        if needs(command) is None:
            shell.succeed(command)


@pytest.mark.slow
def test_the_tutorial_runs_as_printed_in_an_empty_folder(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shutil.rmtree(tmp_path / "sample_data")
    shutil.rmtree(tmp_path / "examples")
    shown = shell.succeed(f"set -e; {script((ROOT / 'docs' / 'tutorial.md').read_text(encoding='utf-8'))}")
    assert "house_id,prediction" in shown
    assert "ended with 3" in shown
    log = (tmp_path / "nightly.log").read_text()
    assert re.search(r"refitted\n(.*\n)*.*the refit ended with 3: error: ", log)
    assert {"price.joblib", "priced.csv", "nightly.sh"} <= {path.name for path in tmp_path.iterdir()}


def test_commands_are_found_in_shell_blocks_only() -> None:
    page = (
        "`enrelm not this`\n\n```sh\n# enrelm nor this\n$ enrelm fit a.csv \\\n    -t y  # why\nmake test\n"
        "A=1 B='x y' enrelm info m\n"
        "enrelm fit b.csv  # needs dask\n```\n```json\nenrelm nor that\n```\n```sh\nexamples/sweep.sh x\n```\n"
    )
    found = commands(page)
    assert [re.sub(" +", " ", command) for command in found] == [
        "enrelm fit a.csv -t y # why",
        "A=1 B='x y' enrelm info m",
        "enrelm fit b.csv # needs dask",
        "examples/sweep.sh x",
    ]
    assert [needs(command) for command in found] == [None, None, "dask", None]


@pytest.mark.parametrize("name", GROUP.commands)
def test_help_begins_with_two_examples_that_the_docs_have_too(name: str) -> None:
    shown = succeed(name, "--help").stdout
    before_options = shown[: shown.index("╭")]
    lines = [line.strip() for line in before_options.splitlines() if line.strip().startswith("enrelm ")]
    assert len(lines) == 2
    assert set(lines) <= set(told())


@pytest.mark.parametrize("name", GROUP.commands)
def test_no_example_is_too_wide_for_80_columns(name: str) -> None:
    examples = re.findall(r"enrelm [^\[\n]*", GROUP.commands[name].help)
    assert max(len(line) for line in examples) <= 78


def test_the_page_of_commands_is_up_to_date() -> None:
    assert make_commands.PAGE.read_text(encoding="utf-8") == make_commands.page(), "run: python docs/make_commands.py"


def test_every_page_is_in_the_contents_of_the_site() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert not [page for page in pages if page != "index" and not re.search(rf"^{page}$", index, re.MULTILINE)]


def test_there_is_a_man_page_for_each_command_and_it_is_up_to_date() -> None:
    pages = make_commands.man_pages()
    assert pages.keys() == {"enrelm.1", *(f"enrelm-{name}.1" for name in GROUP.commands)}
    kept = {path.name: path.read_text(encoding="utf-8") for path in make_commands.MAN.glob("*.1")}
    assert kept == pages, "run: python docs/make_commands.py"


def test_man_pages_are_ascii_and_list_the_variables_of_the_page_on_run_files() -> None:
    """groff takes other letters for Latin-1 unless it is told otherwise."""
    pages = make_commands.man_pages()
    assert all(text.isascii() for text in pages.values())
    assert "Nystr\\[u00F6]m" in pages["enrelm-fit.1"]
    assert all(".SH ENVIRONMENT" in text for text in pages.values())
    table = (ROOT / "docs" / "howto" / "run-files.md").read_text(encoding="utf-8").partition("## Environment variables")
    variables = re.findall(r"`([A-Z_]+[A-Z])", table[2].partition("##")[0])
    assert {"ENRELM_CONFIG", "ENRELM_LOG_FORMAT", "ENRELM_MODEL_LIMIT", "NO_COLOR"} <= {*variables}
    of_program = pages["enrelm.1"].partition(".SH ENVIRONMENT")[2].partition(".SH ")[0]
    assert "The command line wins over variables" in of_program
    assert not [name for name in ("ENRELM_<OPTION>", *variables) if name not in of_program]


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_man_pages_are_sound_and_show_every_option() -> None:
    pages = [str(path) for path in sorted(make_commands.MAN.glob("*.1"))]
    complaints = subprocess.run(["groff", "-man", "-ww", "-z", *pages], capture_output=True, text=True)
    assert (complaints.returncode, complaints.stderr) == (0, "")
    for name, command in GROUP.commands.items():
        words = ["groff", "-man", "-T", "utf8", "-P", "-c", str(make_commands.MAN / f"enrelm-{name}.1")]
        shown = re.sub(".\b", "", subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        shown = shown.replace("−", "-").replace("‐", "-")
        missing = [
            flag for option in command.params for flag in option.opts if flag.startswith("--") and flag not in shown
        ]
        assert not missing, name


def test_every_option_of_every_command_is_in_the_page_and_has_help_and_a_panel() -> None:
    sections = re.split(r"^## enrelm ", (ROOT / "docs" / "commands.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    of = {section.split("\n", 1)[0]: section for section in sections[1:]}
    assert of.keys() == GROUP.commands.keys()
    for name, command in GROUP.commands.items():
        for option in command.params:
            assert option.help, (name, option.name)
            if option.opts[0].startswith("-"):
                assert option.rich_help_panel, (name, option.name)
                flags = (*option.opts, *(option.secondary_opts if option.default else ()))
                assert all(re.search(rf"`{flag}[ `]", of[name]) for flag in flags)


def test_the_exit_codes_are_in_the_help_and_in_the_page_for_scripts() -> None:
    page = (ROOT / "docs" / "howto" / "batch-jobs.md").read_text(encoding="utf-8")
    shown = succeed("--help").stdout
    for code in (0, 1, 2, 3, 4, 5, 130, 143):
        assert re.search(rf"^ +{code}  \w", shown, re.MULTILINE), code
        assert re.search(rf"^\|.*\b{code}\b.*\|", page, re.MULTILINE), code
