"""Tables in an object store and behind an address: a real S3 server and a real web server, on this machine."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from enrelm_cli import remote
from enrelm_cli.errors import UsageError
from tests.cli_runner import run, succeed
from tests.table.servers import CSV, FIT, Get, Put, Way

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
        ("http://[::1/t.csv?sign=hush", "malformed"),
        ("http://127.0.0.1:hush/t.csv", "malformed"),
        ("s3://buck:hush/t.csv", "malformed"),
        ("s3://[b]/t.csv", "s3://"),
        ("s3://b*/t.csv", "name of a bucket"),
        ("s3://bucket/a//t.csv", "two slashes"),
        ("gs://bucket//t.csv", "two slashes"),
    ],
)
def test_an_address_that_is_none_is_a_usage_error_without_its_secrets(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        remote.address_of(text)
    assert said in caught.value.problem
    assert "hush" not in f"{caught.value.problem} {caught.value.hint}"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("s3a://bucket/t.csv", "write s3://"),
        ("gcs://bucket/t.csv", "write gs://"),
        ("file:///data/t.csv", "give the path alone"),
        ("ftp://host/t.csv", "use a path"),
    ],
)
def test_an_address_of_another_kind_comes_with_what_to_write_instead(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        remote.address_of(text)
    assert hint in (caught.value.hint or "")


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


def test_a_bound_that_is_no_size_is_named(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENRELM_DOWNLOAD_LIMIT", "plenty")
    outcome = run("fit", f"{web}/t.csv", *FIT)
    assert outcome.code == 2
    assert "ENRELM_DOWNLOAD_LIMIT=plenty is not a size such as" in outcome.stderr


def test_nothing_is_written_to_a_web_server(web: str, tmp_path: Path) -> None:
    assert run("fit", f"{web}/t.csv", *FIT, "-o", f"{web}/m.joblib").code == 2


# ------------------------------------------------------------------------------------------------ S3


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
        numbers = [np.loadtxt(io.StringIO(text), skiprows=1) for text in (get("out/p.csv").decode(), here)]
        np.testing.assert_allclose(*numbers, rtol=1e-12)
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
    with Way(s3[2], 200_000) as way:
        monkeypatch.setenv("AWS_ENDPOINT_URL", way.url)
        remote._store.cache_clear()
        outcome = run("fit", "s3://shop/long.csv", *FIT, "-o", tmp_path / "m.joblib")
    assert outcome.code == 3, outcome.stderr
    assert "s3://shop/long.csv: cannot be read to its end" in outcome.stderr
    assert outcome.stderr.count("error:") == 1
    assert "hush" not in outcome.stderr
    assert not (tmp_path / "m.joblib").exists()


def test_a_connection_that_breaks_while_predicting_leaves_the_old_file(
    store: tuple[Put, Get], s3: tuple[Put, Get, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = pa.table({name: np.random.default_rng(0).random(60_000) for name in "xzy"})
    pq.write_table(wide, tmp_path / "wide.parquet", row_group_size=20_000)
    for key in ("wide.parquet", "wide.csv"):
        content = (tmp_path / "wide.parquet").read_bytes()
        if key.endswith("csv"):
            sink = pa.BufferOutputStream()
            pa_csv.write_csv(wide, sink)
            content = sink.getvalue().to_pybytes()
        store[0](key, content)
    (tmp_path / "t.csv").write_bytes(CSV)
    succeed("fit", tmp_path / "t.csv", *FIT, "-o", tmp_path / "m.joblib")
    out = tmp_path / "p.parquet"
    for key in ("wide.parquet", "wide.csv"):
        out.write_bytes(b"old")
        with Way(s3[2], 400_000) as way:
            monkeypatch.setenv("AWS_ENDPOINT_URL", way.url)
            remote._store.cache_clear()
            outcome = run("predict", tmp_path / "m.joblib", f"s3://shop/{key}", "-o", out)
        assert outcome.code == 3, outcome.stderr
        assert (outcome.stderr.count("error:"), out.read_bytes()) == (1, b"old")
        assert f"s3://shop/{key}: cannot be read to its end" in outcome.stderr
        assert "the connection or the store failed: try again" in outcome.stderr
        assert "hush" not in outcome.stderr


def test_of_a_parquet_object_only_the_columns_that_are_used_are_fetched(
    store: tuple[Put, Get], s3: tuple[Put, Get, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    columns = {"x": np.arange(300.0), "y": np.arange(300.0) % 7, "fat": [rng.bytes(20_000).hex() for _ in range(300)]}
    pq.write_table(pa.table(columns), tmp_path / "fat.parquet", row_group_size=50)
    content = (tmp_path / "fat.parquet").read_bytes()
    store[0]("fat.parquet", content)
    with Way(s3[2]) as way:
        monkeypatch.setenv("AWS_ENDPOINT_URL", way.url)
        remote._store.cache_clear()
        succeed("fit", "s3://shop/fat.parquet", *FIT, "--drop", "fat")
        assert way.passed < len(content) / 10


def test_every_format_is_read_from_and_written_to_a_store(store: tuple[Put, Get], tmp_path: Path) -> None:
    put, get = store
    local = tmp_path / "t.csv"
    local.write_bytes(CSV)
    table = pa_csv.read_csv(local)
    feather.write_feather(table, tmp_path / "t.arrow")
    put("f/t.arrow", (tmp_path / "t.arrow").read_bytes())
    put("f/t.jsonl", "".join(f"{json.dumps(row)}\n" for row in table.to_pylist()).encode())
    put("f/t.csv.zst", pa.compress(CSV, "zstd", asbytes=True))
    put("f/t.csv.bz2", bz2.compress(CSV))
    succeed("fit", local, *FIT, "-o", "s3://shop/m.joblib")
    succeed("fit", local, *FIT, "-o", tmp_path / "m.joblib")
    assert get("m.joblib") == (tmp_path / "m.joblib").read_bytes()
    assert succeed("info", "s3://shop/m.joblib", "--format", "json").json["bytes"] == len(get("m.joblib"))
    expected = succeed("predict", tmp_path / "m.joblib", local).stdout
    for name in ("t.arrow", "t.jsonl", "t.csv.zst", "t.csv.bz2"):
        assert succeed("predict", "s3://shop/m.joblib", f"s3://shop/f/{name}").stdout == expected
    succeed("predict", "s3://shop/m.joblib", "s3://shop/f/t.arrow", "--append", "-o", "s3://shop/p.parquet")
    written = pq.read_table(pa.BufferReader(get("p.parquet")))
    assert written.drop_columns("prediction").equals(table)
    succeed("predict", "s3://shop/m.joblib", "s3://shop/f/t.arrow", "-o", "s3://shop/p.csv.gz")
    assert gzip.decompress(get("p.csv.gz")).decode() == expected
    for path, said in (("s3://shop/absent.joblib", "no such object"), ("s3://shop/f/t.arrow", "not an enrelm model")):
        outcome = run("info", path)
        assert (outcome.code, said in outcome.stderr) == (4, True)


@pytest.mark.dask
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_workers_of_a_cluster_read_a_store_for_themselves(
    store: tuple[Put, Get], s3: tuple[Put, Get, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    put, get = store
    lines = CSV.decode().splitlines(keepends=True)
    put("many/1.csv", CSV)
    put("many/2.csv", "".join([lines[0], *lines[1:40]]).encode())
    (tmp_path / "m.joblib").write_bytes(b"")
    for engine in ("local", "dask"):
        how = ("--engine", engine, "--threads", "2")
        succeed("fit", "s3://shop/many/*.csv", *FIT, *how, "-o", tmp_path / f"{engine}.joblib")
        succeed("predict", tmp_path / f"{engine}.joblib", "s3://shop/many/*.csv", *how, "-o", f"s3://shop/{engine}.csv")
    here, there = (np.loadtxt(io.BytesIO(get(f"{name}.csv")), skiprows=1) for name in ("local", "dask"))
    np.testing.assert_allclose(there, here, rtol=1e-8)
    assert len(here) == 99


def test_no_secret_reaches_a_message_a_page_a_log_or_a_model(
    store: tuple[Put, Get], web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store[0]("t.csv", CSV)
    told = []
    for source in ("s3://shop/t.csv", f"{web}/t.csv?X-Amz-Signature=hush"):
        page, model = tmp_path / "p.html", tmp_path / "m.joblib"
        loud = ("-v", "--debug", "--log-format", "json")
        told.append(succeed("curve", source, *FIT, *loud, "--report", page))
        told.append(succeed("check", source, "-t", "y", *loud))
        told.append(succeed("fit", source, *FIT, *loud, "-o", model))
        told.append(succeed("predict", model, source, *loud, "-o", tmp_path / "p.csv"))
        told.append(succeed("info", model, "--command"))
        assert b"hush" not in page.read_bytes() + model.read_bytes()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr(remote, "_CONNECT", 1)
    remote._store.cache_clear()
    failed = run("fit", "s3://shop/t.csv", *FIT, "--debug")
    assert failed.code == 3
    told.append(failed)
    told.append(run("fit", f"{web}/absent.csv?X-Amz-Signature=hush", *FIT, "--debug"))
    assert not [one for one in told if "hush" in one.stdout + one.stderr]


# ------------------------------------------------------------------------------------------------ Google Cloud Storage


def test_google_objects_are_read_and_written_as_those_of_s3(google: None, tmp_path: Path) -> None:
    local = tmp_path / "t.csv"
    local.write_bytes(CSV)
    for key in ("day/1.csv", "day/2.csv"):
        remote.upload(str(local), remote.address_of(f"gs://shop/{key}"))
    succeed("fit", local, *FIT, "-o", "gs://shop/m.joblib")
    expected = succeed("predict", "gs://shop/m.joblib", local).stdout
    assert succeed("predict", "gs://shop/m.joblib", "gs://shop/day/1.csv").stdout == expected
    succeed("predict", "gs://shop/m.joblib", "gs://shop/day/*.csv", "--append", "-o", "gs://shop/p.parquet")
    assert succeed("check", "gs://shop/p.parquet", "-t", "y", "--format", "json").json["rows"] == 120
    for source in ("gs://shop/absent.csv", "gs://shop/none*.csv"):
        assert run("fit", source, *FIT).code == 3
