"""Signals and closed streams, from the first line of our code to the last: never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# Imported in this order by a fit. Whatever moment a signal picks, it lies between two of them.
MOMENTS = ("typer", "enrelm_cli.cli.commands", "pyarrow", "numpy", "scipy", "enrelm_cli.commands.fit", "rich.table")


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_during_an_import_ends_quietly(moment: str, which: signal.Signals, sample_data: Path) -> None:
    code = (
        "import os, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {moment!r}:\n"
        "            sys.meta_path.remove(self)\n"
        f"            os.kill(os.getpid(), {int(which)})\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from enrelm_cli.__main__ import main\n"
        f"sys.argv = ['enrelm', 'fit', {str(sample_data / 'linear.csv')!r}, '-t', 'y', '--variant', 'approximate']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 128 + which
    assert done.stderr in ("", "interrupted\n")
    assert done.stdout == ""


def test_nothing_slow_is_imported_before_signals_are_ours() -> None:
    root = Path(__file__).parents[2]
    code = f"import sys; sys.path.insert(0, {str(root)!r}); import enrelm_cli.__main__; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    loaded = {*done.stdout.split()}
    assert {name for name in loaded if name.startswith("enrelm")} == {
        "enrelm_cli", "enrelm_cli.__main__", "enrelm_cli.cli", "enrelm_cli.cli.startup",
    }  # fmt: skip
    assert not loaded & {"typing", "typer", "contextlib", "dataclasses"}


def test_no_command_imports_an_installed_pandas(tmp_path: Path, sample_data: Path) -> None:
    """pyarrow would, with its first scalar: half the time of a short command."""
    pytest.importorskip("pandas")
    model, table = tmp_path / "m.joblib", sample_data / "linear.csv"
    for words in (
        ("fit", table, "-t", "y", "--variant", "approximate", "--no-tune", "--folds", 1, "-o", model),
        ("info", model),
        ("config", model),
        ("predict", model, table),
        ("sample", 10, "--rows", 5),
        ("glossary", "alpha"),
    ):
        line = [sys.executable, "-X", "importtime", "-m", "enrelm_cli", *map(str, words)]
        done = subprocess.run(line, capture_output=True, text=True)
        imported = {each.rsplit("|", 1)[-1].strip() for each in done.stderr.splitlines()}
        assert (done.returncode, imported & {"pandas.core", "pyarrow"}) == (0, {"pyarrow"}), words


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("words", ["--version", "fit {table} -t y --variant approximate", "fit - -t y", "fit --targt"])
def test_a_closed_stream_is_no_bug(words: str, closed: tuple[int, ...], sample_data: Path) -> None:
    def close() -> None:
        for number in closed:
            os.close(number)

    line = words.format(table=sample_data / "linear.csv").split()
    done = subprocess.run(
        [sys.executable, "-m", "enrelm_cli", *line],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, preexec_fn=close,
    )  # fmt: skip
    assert done.returncode in ({2, 3} if "fit -" in words else {2} if 1 in closed else {0})
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_no_file_that_is_written_becomes_a_closed_stdout(sample_data: Path, tmp_path: Path) -> None:
    words = f"enrelm_cli fit {sample_data / 'linear.csv'} -t y --variant approximate"
    for closed in ("", ">&- 2>&-"):
        line = f"{sys.executable} -m {words} -o '{tmp_path / f'model{closed}.joblib'}' {closed}"
        subprocess.run(["bash", "-c", line], capture_output=True)
    first, second = (path.read_bytes() for path in tmp_path.iterdir())
    assert first == second


def test_the_list_of_commands_is_the_same_without_their_options() -> None:
    """A process that is asked for the list alone builds no options; one that imports the program has them all."""
    whole = "from enrelm_cli.cli.app import main; import sys; sys.argv = ['enrelm', '--help']; main()"
    texts = [
        subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True).stdout
        for words in (["-m", "enrelm_cli", "--help"], ["-m", "enrelm_cli", "-h"], ["-c", whole])
    ]
    assert texts[0] == texts[1] == texts[2]
    assert "glossary" in texts[0]
