"""Tab in bash, zsh and fish: through the protocol of each, and in the shells themselves where they are installed."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from enrelm_cli.cli.app import app
from tests.cli_runner import run
from tests.shell import Shell

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    before = os.getcwd()
    made = Shell(tmp_path_factory.mktemp("tab"), rows=30)
    (made.folder / "spaced.csv").write_text("living area,land use,price\n1,2,3\n")
    (made.folder / "hostile.csv").write_text('"a\\$(touch owned)","a`touch owned`","a\'b",able\n1,2,3,4\n')
    os.chdir(made.folder)
    yield made
    os.chdir(before)


def asked(line: str, of: str, action: str = "get-args") -> tuple[int, str, str]:
    """The exit code, stdout and stderr of the program as a shell runs it for Tab, in this process: that is quick.

    The shells themselves, below, run it in their own.
    """
    at = len(shlex.split(line)) - (0 if line.endswith(" ") else 1)
    variables = {"COMP_WORDS": line, "COMP_CWORD": str(at), "_TYPER_COMPLETE_ARGS": line}
    variables |= {"_ENRELM_COMPLETE": f"complete_{of}", "_TYPER_COMPLETE_FISH_ACTION": action}
    done = CliRunner().invoke(app, [], env=variables, prog_name="enrelm")
    return done.exit_code, done.stdout.strip(), done.stderr


def offered(line: str, of: str) -> list[str]:
    """What a shell is told when Tab is pressed at the end of the line."""
    code, answer, said = asked(line, of)
    assert (code, said) == (0, "")
    if of != "zsh":
        return answer.splitlines()
    if answer == "_files":
        return []
    return [part.split('":"')[0].strip('"') for part in answer.removeprefix("_arguments '*: :((")[:-3].splitlines()]


LINES = {
    "enrelm fit sample_data/houses.csv --target p": ["price"],
    "enrelm fit sample_data/houses.csv -t price --drop h": ["heating", "house_id"],
    "enrelm fit sample_data/houses.csv --cat": ["--categorical"],
    "enrelm fit sample_data/houses.csv --variant k": ["kernel"],
    "enrelm compare sample_data/linear.csv 'sample_data/house?.csv' -t x2": ["x2", "x20"],
    "enrelm predict no.joblib sample_data/houses_new.csv --id l": ["listed"],
    "enrelm curve sample_data/houses.csv --categorical z": ["zone"],
    "enrelm compare sample_data/houses.csv --method lin": ["linear"],
    "enrelm pre": ["predict"],
    "enrelm ch": ["check"],
    "enrelm check sample_data/houses.csv --target p": ["price"],
}


@pytest.mark.usefixtures("shell")
@pytest.mark.parametrize("line", LINES)
def test_tab_offers(line: str) -> None:
    assert offered(line, "bash") == LINES[line]


@pytest.mark.usefixtures("shell")
@pytest.mark.parametrize("of", ["zsh", "fish"])
@pytest.mark.parametrize("line", list(LINES)[:3])
def test_tab_offers_the_same_elsewhere(of: str, line: str) -> None:
    assert [text.split("\t")[0] for text in offered(line, of)] == LINES[line]


@pytest.mark.usefixtures("shell")
@pytest.mark.parametrize("of", SHELLS)
@pytest.mark.parametrize("line", ["enrelm fit nothing.csv -t ", "enrelm fit - -t "])
def test_without_a_readable_table_nothing_is_offered_and_nothing_fails(of: str, line: str) -> None:
    if of == "fish":
        assert asked(line, of, "is-args") == (1, "", "")
    else:
        assert offered(line, of) == []


@pytest.mark.usefixtures("shell")
def test_names_with_blanks_are_quoted_for_bash() -> None:
    assert offered("enrelm fit spaced.csv -t l", "bash") == ["land\\ use", "living\\ area"]
    assert offered("enrelm fit spaced.csv -t l", "fish") == ["land use", "living area"]


@pytest.mark.usefixtures("shell")
@pytest.mark.parametrize("of", SHELLS)
def test_names_that_a_shell_might_run_are_not_offered(of: str) -> None:
    assert offered("enrelm fit hostile.csv -t a", of) == ["able"]


def test_bash_itself_completes(shell: Shell) -> None:
    script = (
        'eval "$(_ENRELM_COMPLETE=source_bash enrelm)"; complete -p enrelm >&2; COMP_CWORD=4; '
        "COMP_WORDS=(enrelm fit sample_data/houses.csv --target p); _enrelm_completion enrelm; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert shell.succeed(script) == "price\n"


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_itself_completes(shell: Shell) -> None:
    shell.succeed("_ENRELM_COMPLETE=source_fish enrelm > enrelm.fish")
    inside = "source enrelm.fish; complete -C 'enrelm fit sample_data/houses.csv --target p'"
    assert shell.succeed(f"fish --no-config -c {shlex.quote(inside)}").split() == ["price"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_itself_completes(shell: Shell) -> None:
    shell.succeed("_ENRELM_COMPLETE=source_zsh enrelm > _enrelm")
    # compdef and _arguments are zsh's own, of its completion system; here they only show what they are given.
    inside = (
        "compdef() { :; }; _arguments() { print -r -- $1; }; source ./_enrelm; "
        "words=(enrelm fit sample_data/houses.csv --target p); CURRENT=5; _enrelm_completion"
    )
    assert shell.succeed(f"zsh -f -c {shlex.quote(inside)}").strip() == '*: :(("price"))'


@pytest.mark.parametrize("of", SHELLS)
def test_completion_installs_itself(of: str, tmp_path: Path) -> None:
    """For the shell that is named, in whatever shell it is typed: this one is bash."""
    home = Shell(tmp_path)
    assert "_ENRELM_COMPLETE" in home.succeed(f"enrelm --show-completion {of}")
    assert "completion installed" in home.succeed(f"enrelm --install-completion {of}")
    where = {
        "bash": ".bash_completions/enrelm.sh",
        "zsh": ".zfunc/_enrelm",
        "fish": ".config/fish/completions/enrelm.fish",
    }
    assert f"complete_{of}" in (home.folder / where[of]).read_text()


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
def test_a_shell_without_completion_is_refused(option: str) -> None:
    refused = run(option, "csh")
    assert (refused.code, refused.stdout) == (2, "")
    assert "error: there is no completion for 'csh'" in refused.stderr
    assert "hint: type one of bash, zsh, fish, " in refused.stderr
