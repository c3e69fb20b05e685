"""Tables in an object store and behind an address: a real S3 server and a real web server, on this machine."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from enrelm_cli import remote
from enrelm_cli.errors import UsageError
from tests.cli_runner import run, succeed

ROWS = "".join(f"{i},{i * i % 17},{i * i}\n" for i in range(60))
CSV = ("x,z,y\n" + ROWS).encode()
FIT = ("-t", "y", "--variant", "approximate")


# ------------------------------------------------------------------------------------------------ addresses


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ftp://host/t.csv", "ftp://"),
        ("s3://key:hush@bucket/t.csv", "must not hold credentials"),
        ("https://me:hush@host/t.csv", "must not hold credentials"),
        ("http://example.org/t.csv", "unencrypted"),
        ("s3://bucket", "names no file"),
        ("https://host/", "names no file"),
    ],
)
def test_an_address_that_is_none_is_a_usage_error_without_its_secrets(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        remote.address_of(text)
    assert said in caught.value.problem
    assert "hush" not in f"{caught.value.problem} {caught.value.hint}"


def test_the_signature_of_an_address_stays_out_of_messages() -> None:
    address = remote.address_of("https://host/t.csv?X-Amz-Signature=hush")
    assert address.query
    assert "hush" not in address.label + repr(address)


# ------------------------------------------------------------------------------------------------ https


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder; what is called broken.csv ends before its length."""

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_GET(self) -> None:
        if not self.path.startswith("/broken.csv"):
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", str(2 * len(CSV)))
        self.end_headers()
        self.wfile.write(CSV)
        self.close_connection = True
        return None


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("web")
    (folder / "t.csv").write_bytes(CSV)
    (folder / "t.csv.gz").write_bytes(gzip.compress(CSV))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_file_behind_an_address_is_fitted_and_predicted_as_a_local_one(web: str, tmp_path: Path) -> None:
    local = tmp_path / "t.csv"
    local.write_bytes(CSV)
    for name, source in (("here", local), ("there", f"{web}/t.csv?signature=hush"), ("zipped", f"{web}/t.csv.gz")):
        succeed("fit", source, *FIT, "-o", tmp_path / f"{name}.joblib")
    here = succeed("predict", tmp_path / "here.joblib", local).stdout
    for name in ("there", "zipped"):
        assert succeed("predict", tmp_path / f"{name}.joblib", f"{web}/t.csv").stdout == here
        assert b"hush" not in (tmp_path / f"{name}.joblib").read_bytes()


@pytest.mark.parametrize(("name", "said"), [("absent.csv", "404"), ("broken.csv", "broke off")])
def test_an_address_that_fails_is_one_message(web: str, name: str, said: str, tmp_path: Path) -> None:
    outcome = run("fit", f"{web}/{name}?signature=hush", *FIT, "-o", tmp_path / "m.joblib")
    assert outcome.code == 3
    assert said in outcome.stderr
    assert "hush" not in outcome.stderr
    assert not (tmp_path / "m.joblib").exists()


def test_a_download_is_bounded(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENRELM_DOWNLOAD_LIMIT", "100")
    outcome = run("fit", f"{web}/t.csv", *FIT)
    assert outcome.code == 3
    assert "ENRELM_DOWNLOAD_LIMIT" in outcome.stderr


def test_nothing_is_written_to_a_web_server(web: str, tmp_path: Path) -> None:
    assert run("fit", f"{web}/t.csv", *FIT, "-o", f"{web}/m.joblib").code == 2


# ------------------------------------------------------------------------------------------------ S3

Put = Callable[[str, bytes], None]
Get = Callable[[str], bytes]


@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[Put, Get, int]]:
    server_of = pytest.importorskip("moto.server", reason="moto[server] is not installed: make test-s3")
    boto3 = pytest.importorskip("boto3")
    server = server_of.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"aws_access_key_id": "someone", "aws_secret_access_key": "hush", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys)
    client.create_bucket(Bucket="shop")

    def put(key: str, content: bytes) -> None:
        acl = "public-read" if key.startswith("public/") else "private"
        client.put_object(Bucket="shop", Key=key, Body=content, ACL=acl)

    def get(key: str) -> bytes:
        return client.get_object(Bucket="shop", Key=key)["Body"].read()  # type: ignore[no-any-return]

    yield put, get, port
    server.stop()


@pytest.fixture
def store(s3: tuple[Put, Get, int], monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Put, Get]]:
    put, get, port = s3
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    remote._store.cache_clear()
    yield put, get
    remote._store.cache_clear()


def test_objects_globs_and_parquet_are_fitted_as_files_are(store: tuple[Put, Get], tmp_path: Path) -> None:
    put, get = store
    lines = CSV.decode().splitlines(keepends=True)
    put("day/1.csv", "".join(lines[:30]).encode())
    put("day/2.csv.gz", gzip.compress("".join([lines[0], *lines[30:]]).encode()))
    put("day/deeper/3.csv", b"not,this\n")
    local = tmp_path / "t.csv"
    local.write_bytes(CSV)
    pq.write_table(pa_csv.read_csv(local), tmp_path / "t.parquet")
    put("t.parquet", (tmp_path / "t.parquet").read_bytes())
    succeed("fit", local, *FIT, "-o", tmp_path / "here.joblib")
    here = succeed("predict", tmp_path / "here.joblib", local).stdout
    for name, source in (("glob", "s3://shop/day/*.csv*"), ("parquet", "s3://shop/t.parquet")):
        succeed("fit", source, *FIT, "-o", tmp_path / f"{name}.joblib")
        succeed("predict", tmp_path / f"{name}.joblib", source, "-o", "s3://shop/out/p.csv")
        assert get("out/p.csv").decode() == here
        assert b"hush" not in (tmp_path / f"{name}.joblib").read_bytes()


def test_an_object_read_in_each_pass_gives_the_same_model(store: tuple[Put, Get], tmp_path: Path) -> None:
    store[0]("t.csv", CSV)
    local = tmp_path / "t.csv"
    local.write_bytes(CSV)
    succeed("fit", local, *FIT, "-o", tmp_path / "here.joblib", "--memory", "1k")
    succeed("fit", "s3://shop/t.csv", *FIT, "-o", tmp_path / "there.joblib", "--memory", "1k")
    predicted = [succeed("predict", tmp_path / f"{name}.joblib", local).stdout for name in ("here", "there")]
    assert predicted[0] == predicted[1]


@pytest.mark.parametrize(
    ("source", "said"), [("s3://shop/absent.csv", "no such object"), ("s3://shop/none*.csv", "no file matches")]
)
def test_an_object_that_is_not_there_is_one_message(store: tuple[Put, Get], source: str, said: str) -> None:
    outcome = run("fit", source, *FIT)
    assert outcome.code == 3
    assert said in outcome.stderr


def test_without_credentials_only_public_objects_are_read(store: tuple[Put, Get]) -> None:
    for key in ("public/t.csv", "t.csv"):
        store[0](key, CSV)
    succeed("fit", "s3://shop/public/t.csv", *FIT, "--anonymous")
    outcome = run("fit", "s3://shop/t.csv", *FIT, "--anonymous")
    assert outcome.code == 3
    assert "ACCESS_DENIED" in outcome.stderr
    assert "AWS_ACCESS_KEY_ID" in outcome.stderr


def test_an_output_that_is_also_an_input_is_refused_in_a_store_too(store: tuple[Put, Get], tmp_path: Path) -> None:
    assert run("fit", "s3://shop/t.csv", *FIT, "-o", "s3://shop/t.csv").code == 2


def test_a_connection_that_breaks_in_mid_read_is_one_message(
    store: tuple[Put, Get], s3: tuple[Put, Get, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store[0]("long.csv", b"x,z,y\n" + b"1,2,3\n4,5,6\n7,8,10\n" * 100_000)
    with _cut_after(200_000, s3[2]) as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        remote._store.cache_clear()
        outcome = run("fit", "s3://shop/long.csv", *FIT, "-o", tmp_path / "m.joblib")
    assert outcome.code == 3, outcome.stderr
    assert "s3://shop/long.csv: cannot be read to its end" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not (tmp_path / "m.joblib").exists()


class _cut_after:
    """A way to a server that hangs up after so many bytes of an answer."""

    def __init__(self, most: int, port: int) -> None:
        self._most, self._port = most, port
        self._listener = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> int:
        threading.Thread(target=self._serve, daemon=True).start()
        return int(self._listener.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port))
            threading.Thread(target=self._pass, args=(near, far, 1 << 60), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, self._most), daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket, most: int) -> None:
        try:
            while most > 0 and (part := source.recv(min(65536, most))):
                target.sendall(part)
                most -= len(part)
        except OSError:
            return  # the other side has hung up
        finally:
            for one in (source, target):
                one.close()
