"""Tab in bash, zsh and fish: through the protocol of each, and in the shells themselves where they are installed."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests.shell import Shell

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    made = Shell(tmp_path_factory.mktemp("tab"), rows=30)
    (made.folder / "spaced.csv").write_text("living area,land use,price\n1,2,3\n")
    (made.folder / "hostile.csv").write_text('"a\\$(touch owned)","a`touch owned`","a\'b",able\n1,2,3,4\n')
    return made


def offered(shell: Shell, line: str, of: str) -> list[str]:
    """What a shell is told when Tab is pressed at the end of the line."""
    if of == "bash":
        at = len(shlex.split(line)) - (0 if line.endswith(" ") else 1)
        set_up = f"COMP_WORDS={shlex.quote(line)} COMP_CWORD={at} _ENRELM_COMPLETE=complete_bash"
    else:
        set_up = f"_TYPER_COMPLETE_ARGS={shlex.quote(line)} _ENRELM_COMPLETE=complete_{of}"
        if of == "fish":
            set_up += " _TYPER_COMPLETE_FISH_ACTION=get-args"
    answer = shell.succeed(f"{set_up} enrelm").strip()
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
    "enrelm compare sample_data/houses.csv --method li": ["linear"],
    "enrelm pre": ["predict"],
    "enrelm ch": ["check"],
    "enrelm check sample_data/houses.csv --target p": ["price"],
}


@pytest.mark.parametrize("line", LINES)
def test_tab_offers(line: str, shell: Shell) -> None:
    assert offered(shell, line, "bash") == LINES[line]


@pytest.mark.parametrize("of", ["zsh", "fish"])
@pytest.mark.parametrize("line", list(LINES)[:3])
def test_tab_offers_the_same_elsewhere(of: str, line: str, shell: Shell) -> None:
    assert [text.split("\t")[0] for text in offered(shell, line, of)] == LINES[line]


@pytest.mark.parametrize("of", SHELLS)
@pytest.mark.parametrize("line", ["enrelm fit nothing.csv -t ", "enrelm fit - -t "])
def test_without_a_readable_table_nothing_is_offered_and_nothing_fails(of: str, line: str, shell: Shell) -> None:
    if of == "fish":
        done = shell.run(
            f"_TYPER_COMPLETE_ARGS={shlex.quote(line)} _ENRELM_COMPLETE=complete_fish "
            "_TYPER_COMPLETE_FISH_ACTION=is-args enrelm"
        )
        assert (done.returncode, done.stdout.strip(), done.stderr) == (1, "", "")
    else:
        assert offered(shell, line, of) == []


def test_names_with_blanks_are_quoted_for_bash(shell: Shell) -> None:
    assert offered(shell, "enrelm fit spaced.csv -t l", "bash") == ["land\\ use", "living\\ area"]
    assert offered(shell, "enrelm fit spaced.csv -t l", "fish") == ["land use", "living area"]


@pytest.mark.parametrize("of", SHELLS)
def test_names_that_a_shell_might_run_are_not_offered(of: str, shell: Shell) -> None:
    assert offered(shell, "enrelm fit hostile.csv -t a", of) == ["able"]


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
    home = Shell(tmp_path)
    # Without this Typer asks the operating system which shell it runs in, and a test runs in none.
    home.environment["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    assert "_ENRELM_COMPLETE" in home.succeed(f"enrelm --show-completion {of}")
    assert "completion installed" in home.succeed(f"enrelm --install-completion {of}")
    where = {
        "bash": ".bash_completions/enrelm.sh",
        "zsh": ".zfunc/_enrelm",
        "fish": ".config/fish/completions/enrelm.fish",
    }
    assert f"complete_{of}" in (home.folder / where[of]).read_text()
