"""Files behind an address: a web server of this machine that answers as servers should not."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import HTTPRedirectHandler, Request

import pytest

from enrelm_cli import downloads
from enrelm_cli.downloads import Download
from enrelm_cli.errors import DataError
from enrelm_cli.remote import address_of
from tests.cli_runner import run, succeed
from tests.table.servers import CSV, FIT

ENDLESS = 5 << 20  # bytes: more than two looks at the limits are apart
REDIRECTS = {
    "/to-table": "/a%20caf%C3%A9.csv?signature=hush",
    "/to-itself": "/to-itself?signature=hush",
    "/to-http": "http://127.0.0.2:1/t.csv?signature=hush",
    "/to-ftp": "ftp://127.0.0.1/t.csv?signature=hush",
    "/to-file": "file:///etc/passwd?signature=hush",
    "/to-store": "s3://shop/t.csv",
}


class Odd(BaseHTTPRequestHandler):
    """What the path asks for."""

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path == "/garbage":
            self.wfile.write(b"\x16\x03\x01 nobody speaks HTTP here\r\n\r\n")
        elif path in REDIRECTS:
            self._answer(302, Location=REDIRECTS[path])
        elif path.startswith("/status/"):
            self._answer(int(path.rpartition("/")[2]))
        elif path == "/a%20caf%C3%A9.csv":
            self._answer(200, CSV, **{"Content-Length": str(len(CSV))})
        elif path == "/stalls":
            self._answer(200, b"x,y\n")
            self.rfile.read(1)  # until the client has gone
        else:
            self._answer(200, bytes(ENDLESS))

    def _answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class Quiet(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in mid-answer is what some tests are about."""


@pytest.fixture(scope="module")
def odd() -> Iterator[str]:
    server = Quiet(("127.0.0.1", 0), Odd)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["a café.csv", "a%20caf%C3%A9.csv", "a café.csv?signature=ä", "to-table"])
def test_an_address_may_hold_any_letter_and_may_redirect(odd: str, name: str) -> None:
    assert succeed("check", f"{odd}/{name}", "-t", "y", "--format", "json").json["rows"] == 60


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("garbage", "not HTTP"),
        ("status/401", "may have expired"),
        ("status/403", "may have expired"),
        ("status/404", "check the address"),
        ("status/500", "try again later"),
        ("status/503", "try again later"),
        ("to-itself", "infinite loop"),
        ("to-http", "http://127.0.0.2:1/t.csv: an unencrypted address"),
        ("to-ftp", "ftp://"),
        ("to-file", "file://"),
        ("to-store", "not an https:// address"),
    ],
)
def test_an_answer_that_is_no_file_is_one_line_and_a_hint(odd: str, name: str, said: str) -> None:
    outcome = run("fit", f"{odd}/{name}?signature=hush", *FIT, "--debug")
    assert outcome.code == 3
    assert said in outcome.stderr
    assert "hush" not in outcome.stderr
    told = outcome.stderr[outcome.stderr.index("error:") :]
    assert [line.split(":")[0] for line in told.splitlines()] == ["error", "hint"]


def test_a_server_that_does_not_speak_http_has_no_model_either(odd: str) -> None:
    assert run("info", f"{odd}/garbage").code == 4


@pytest.mark.parametrize("target", ["http://127.0.0.1:1/t.csv", "http://localhost/t.csv", "s3://shop/t.csv"])
def test_what_was_asked_for_encrypted_does_not_come_unencrypted(target: str) -> None:
    handlers = downloads._opener("https://host/t.csv").handlers  # type: ignore[attr-defined]
    follow = next(one for one in handlers if isinstance(one, HTTPRedirectHandler))
    headers = Message()
    headers["location"] = target
    for status in (follow.http_error_301, follow.http_error_302, follow.http_error_307):
        with pytest.raises(DataError, match="redirects elsewhere"):
            status(Request("https://host/t.csv"), io.BytesIO(), 302, "", headers)  # type: ignore[arg-type]


class Clock:
    """Half an hour and a little passes between two looks at it."""

    def __init__(self) -> None:
        self._seconds = count(0, 1900)

    def monotonic(self) -> float:
        return next(self._seconds)


def test_the_time_of_a_download_is_bounded_however_little_arrives(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "time", Clock())
    monkeypatch.setattr(downloads, "_ANSWER", 5)
    download = Download(address_of(f"{odd}/stalls"))
    with pytest.raises(DataError, match="not complete after 60 minutes"):
        download.read(1 << 28)


def test_the_size_of_a_download_is_bounded_while_it_arrives(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENRELM_DOWNLOAD_LIMIT", "100")
    download = Download(address_of(f"{odd}/endless"))
    with pytest.raises(DataError, match="larger than"):
        download.read(1 << 28)
    assert download._got <= 1 << 20


@pytest.mark.parametrize("size", [-1, 10, 1 << 28])
def test_a_download_hands_over_what_was_asked_for(odd: str, size: int) -> None:
    download = Download(address_of(f"{odd}/a café.csv"))
    first = download.read(size)
    assert first == (CSV if size < 0 else CSV[:size])
    assert first + download.read() == CSV
    assert download.read(1) == b""


def test_a_model_behind_an_address_is_not_updated_in_place(odd: str, tmp_path: Path) -> None:
    outcome = run("update", f"{odd}/m.joblib?signature=hush", tmp_path / "t.csv")
    assert outcome.code == 2
    assert "-o" in outcome.stderr
    assert "hush" not in outcome.stderr
