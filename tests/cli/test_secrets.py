"""The signature of an address stays out of stdout, stderr, models, pages, reports and run files, whatever happens."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli_runner import Outcome, run, succeed

# A slash in it, as base64 has: what follows the last slash is no file name.
QUERY = "?X-Amz-Expires=60&X-Amz-Signature=hush/hush"
CSV = "x,z,y\n" + "".join(f"{i},{i * i % 17},{i * i}\n" for i in range(60))
FIT = "-t y --variant approximate"
LOUD = "-v --debug --log-format json"


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a folder with tables and models, good and bad, and without http: in front."""
    folder = tmp_path_factory.mktemp("web")
    (folder / "t.csv").write_text(CSV)
    (folder / "ragged.csv").write_text(CSV + "1,2\n")
    succeed("fit", folder / "t.csv", *FIT.split(), "--updatable", "-o", folder / "kept.joblib")
    succeed("fit", folder / "t.csv", *FIT.split(), "-o", folder / "m.joblib")
    (folder / "cut.joblib").write_bytes((folder / "m.joblib").read_bytes()[:-100])
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"//127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def typed(line: str, web: str) -> list[str]:
    """The words of a line; @t.csv is a signed address, %t.csv the same in capitals."""
    full = re.sub(r"([@%])(\S+)", lambda found: f"{_SCHEMES[found[1]]}:{web}/{found[2]}{QUERY}", line)
    return full.split()


_SCHEMES = {"@": "http", "%": "HTTP"}


# The exit code, and what is typed.
LINES = [
    (0, f"fit @t.csv {FIT} -o out.joblib --report page.html"),
    (0, f"fit %t.csv {FIT} -o out.joblib --report page.html --format json"),
    (0, f"fit @t.csv {FIT} --validation @t.csv --report page.html"),
    (0, f"fit @t.csv {FIT} --validation=@t.csv --report page.html"),
    (0, "fit @t.csv --like @kept.joblib -o out.joblib"),
    (2, "fit @t.csv --like @m.joblib -o out.joblib"),
    (2, f"fit @t.csv {FIT} -o @out.joblib"),
    (2, f"fit @t.csv {FIT} --report @page.html"),
    (2, "fit @t.csv"),
    (3, f"fit @ragged.csv {FIT}"),
    (3, f"fit @absent.csv {FIT}"),
    (3, "fit @t.csv -t absent"),
    (0, f"curve @t.csv {FIT} --report page.html"),
    (0, f"curve @t.csv {FIT} --format json"),
    (0, "compare @t.csv %t.csv -t y --method linear --repeats 1 --report page.html"),
    (0, "check @t.csv -t y --report page.html"),
    (3, "check @ragged.csv -t y --report page.html"),
    (3, "check @absent.csv @t.csv -t y --format json"),
    (0, "predict @m.joblib @t.csv -o out.csv --report out.json"),
    (0, "predict @m.joblib @t.csv"),
    (2, "predict @m.joblib @t.csv -o @out.csv"),
    (2, "predict @m.joblib @t.csv -o @m.joblib"),
    (2, "predict @m.joblib @t.csv --report @out.json"),
    (4, "predict @t.csv @m.joblib"),
    (3, "predict @m.joblib @m.joblib"),
    (0, "explain @m.joblib @t.csv --report page.html"),
    (0, "explain @m.joblib @t.csv --format json"),
    (0, "info @m.joblib --report page.html"),
    (0, "info @m.joblib --format json"),
    (0, "info @m.joblib --command"),
    (4, "info @cut.joblib"),
    (4, "info @absent.joblib"),
    (0, "update @kept.joblib @t.csv -o out.joblib"),
    (2, "update @m.joblib @t.csv -o out.joblib"),
    (2, "update @kept.joblib @t.csv -o @out.joblib"),
    (2, "update @kept.joblib @t.csv"),
    (3, "merge @kept.joblib %kept.joblib -o out.joblib"),
    (2, "merge @m.joblib @kept.joblib -o out.joblib"),
    (2, "export @m.joblib -o @out.onnx"),
    (4, "export @cut.joblib -o out.onnx"),
    (2, "sample friedman -o @out.csv"),
    (2, "sample @t.csv"),
    (2, f"config fit %t.csv {FIT} -o run.toml"),
    (2, "config -o run.toml fit t.csv --validation=@t.csv"),
    (0, "config -o run.toml @m.joblib"),
    (4, "config -o run.toml @cut.joblib"),
    (2, "config @t.csv fit"),
    (2, "glossary @t.csv"),
    (2, "@t.csv"),
    (2, "--@t.csv"),
]


@pytest.mark.parametrize("more", ["", LOUD], ids=["quiet", "loud"])
@pytest.mark.parametrize(("code", "line"), LINES, ids=[line for _, line in LINES])
def test_a_signature_is_nowhere_to_be_read(
    web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, line: str, more: str
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *others = typed(line, web)
    done = run(command, *more.split(), *others)
    assert done.code == code, done.stderr
    assert not leaks(done, tmp_path)


def leaks(done: Outcome, folder: Path) -> list[str]:
    files = {path.name: path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()}
    told = {"stdout": done.stdout, "stderr": done.stderr, **files}
    return [f"{place}: {text}" for place, text in told.items() if "hush" in text]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http:{}/t.csv?sig=hush hush", "no blanks"),
        ("http:{}/t.csv?sig=hush\thush", "no blanks"),
        ("http://127.0.0.1:port/t.csv?sig=hush", "is malformed"),
        ("https://me:hush/hush@127.0.0.1/t.csv", "is malformed"),
        ("s3://me:hush@bucket/t.csv", "must not hold credentials"),
        ("https://me:hush@[127.0.0.1/t.csv", "is malformed"),
    ],
)
@pytest.mark.parametrize("command", [("info",), ("check",), ("fit", "-t", "y"), ("config",)])
def test_an_address_that_is_none_is_one_message(web: str, address: str, said: str, command: tuple[str, ...]) -> None:
    done = run(command[0], "--debug", *command[1:], address.format(web))
    assert done.code in (2, 3, 4)
    assert said in done.stdout + done.stderr
    assert "hush" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("s3://key:hush@bucket/x.csv",), "s3://bucket/x.csv: an address with credentials"),
        (("https://me:hush@host/x.csv?sig=hush",), "https://host/x.csv?...: an address with credentials"),
        (("t.csv", "--scheduler", "tcp://me:hush@host:1"), "tcp://host:1: an address with credentials"),
        (("HTTPS://host/x.csv?sig=hush",), "HTTPS://host/x.csv?...: an address with a query"),
    ],
)
def test_what_stays_out_of_a_run_file_is_called_by_its_name(words: tuple[str, ...], said: str) -> None:
    done = run("config", "fit", *words, "-t", "y")
    assert (done.code, done.stdout) == (2, "")
    assert said in done.stderr
    assert "hush" not in done.stderr


def test_what_a_run_file_should_not_have_is_not_written_to_another(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text('[fit]\ndata = ["https://host/x.csv?sig=hush"]\n')
    done = run("config", "fit", "--config", tmp_path / "one.toml", "-t", "y")
    assert (done.code, done.stdout) == (2, "")
    assert "hush" not in done.stderr


@pytest.mark.parametrize("more", [(), ("--debug",), ("--log-format", "json")])
def test_a_bug_tells_no_secret(monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]) -> None:
    def fail(path: str) -> None:
        raise FileNotFoundError(2, "No such file", path)

    monkeypatch.setattr("enrelm_cli.commands.info.info", fail)
    done = run("info", "http://localhost/m.joblib?sig=hush", *more)
    assert done.code == 1
    assert "http://localhost/m.joblib?..." in done.stderr
    assert "hush" not in done.stderr
