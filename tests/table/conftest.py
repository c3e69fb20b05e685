"""Object stores for the tests of this folder: servers of their kind, on this machine."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from enrelm_cli import remote
from tests.table.servers import Get, Put


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


def _answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("gcp_storage_emulator", reason="no emulator of it: make test-s3")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ("start", "--host", "127.0.0.1", "--port", str(port), "--in-memory", "--default-bucket", "shop")
    # A process of its own: it waits for its clients to hang up before it stops.
    server = subprocess.Popen([sys.executable, "-m", "gcp_storage_emulator", *words], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not _answers(port):
        assert server.poll() is None
        assert time.monotonic() < end
        time.sleep(0.1)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
    remote._store.cache_clear()
    yield
    server.kill()
    server.wait()
    remote._store.cache_clear()
