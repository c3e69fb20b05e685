"""Objects of a store as files of a disk: patterns, whole outputs, what is not there; a real S3 server."""

from __future__ import annotations

import glob
import io
import os
import signal
from pathlib import Path

import pytest

from enrelm_cli import files, remote
from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.remote import address_of
from tests.cli_runner import run, succeed
from tests.table.servers import CSV, FIT, Get, Put


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_bytes(CSV)
    return tmp_path / "t.csv"


def keys_in(folder: str) -> list[str]:
    from pyarrow.fs import FileSelector

    address = address_of(f"s3://shop/{folder}")
    return [info.path for info in remote._store_of(address).get_file_info(FileSelector(address.key))]


# ------------------------------------------------------------------------------------------------ whole or not at all


class Ending(io.BytesIO):
    """A file that ends in another way after some reads."""

    def __init__(self, parts: int, end: BaseException | signal.Signals) -> None:
        super().__init__(bytes(40))
        self._left, self._end = parts, end

    def read(self, size: int | None = -1, /) -> bytes:
        self._left -= 1
        if self._left >= 0:
            return bytes(6 << 20)
        if isinstance(self._end, BaseException):
            raise self._end
        os.kill(os.getpid(), self._end)
        return b""


@pytest.mark.parametrize("parts", [0, 1, 3])
@pytest.mark.parametrize("end", [KeyboardInterrupt(), MemoryError(), OSError(5, "no disk")], ids=lambda end: repr(end))
def test_an_upload_that_breaks_off_leaves_the_object_that_was_there(
    store: tuple[Put, Get], monkeypatch: pytest.MonkeyPatch, parts: int, end: BaseException, table: Path
) -> None:
    put, get = store
    put("whole/t.csv", b"good")
    monkeypatch.setattr(remote, "open", lambda *_: Ending(parts, end), raising=False)
    with pytest.raises(UsageError if isinstance(end, OSError) else type(end)):
        remote.upload(str(table), address_of("s3://shop/whole/t.csv"))
    assert get("whole/t.csv") == b"good"
    assert keys_in("whole") == ["shop/whole/t.csv"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_mid_upload_leaves_the_model_that_was_there(
    store: tuple[Put, Get], monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int, table: Path
) -> None:
    put, get = store
    put("prod/m.joblib", b"good")
    monkeypatch.setattr(remote, "open", lambda *_: Ending(2, number), raising=False)
    assert run("fit", table, *FIT, "-o", "s3://shop/prod/m.joblib").code == code
    assert get("prod/m.joblib") == b"good"
    assert keys_in("prod") == ["shop/prod/m.joblib"]


@pytest.mark.parametrize("key", ["plain.csv", "a b/é+%41&?.csv", "empty/t.csv"])
def test_an_object_has_the_bytes_of_the_file_under_any_key(store: tuple[Put, Get], key: str, tmp_path: Path) -> None:
    content = b"" if key.startswith("empty") else CSV
    (tmp_path / "t.csv").write_bytes(content)
    remote.upload(str(tmp_path / "t.csv"), address_of(f"s3://shop/{key}"))
    assert store[1](key) == content


def test_what_a_store_does_not_take_stays_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(remote, "_LARGEST_COPY", 3)
    with pytest.raises(UsageError) as caught, files.atomic_writer("s3://shop/m.joblib") as stream:
        stream.write(b"hours of work")
    (kept,) = tmp_path.iterdir()
    assert kept.read_bytes() == b"hours of work"
    assert str(kept) in (caught.value.hint or "")


def test_what_was_never_whole_does_not_stay_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(DataError), files.atomic_writer("s3://shop/p.csv"):
        raise DataError("t.csv, line 7: not a number")
    assert not list(tmp_path.iterdir())


def test_a_model_in_a_store_is_updated_in_place_as_one_on_disk(store: tuple[Put, Get], table: Path) -> None:
    here, there = table.with_name("kept.joblib"), "s3://shop/kept.joblib"
    (table.with_name("new.csv")).write_text("x,z,y\n70,3,4900\n71,9,5041\n")
    for place in (here, there):
        succeed("fit", table, *FIT, "--updatable", "-o", place)
        succeed("update", place, table.with_name("new.csv"))
    assert store[1]("kept.joblib") == here.read_bytes()


# ------------------------------------------------------------------------------------------------ patterns

TREE = ("1.csv", "a/2.csv", "a/b/3.csv", "a/x.txt", ".hidden.csv", ".h/4.csv", "a/br[1].csv", "a/br1.csv")


@pytest.mark.parametrize(
    "pattern",
    [
        *("*.csv", "**/*.csv", "**", "*/*.csv", "**/b/*.csv", "**/**/2.csv", "a/**/3.csv", "a/**", ".*.csv"),
        *(".h/*", "a/br[1].csv", "a/br[[]1].csv", "a/[b]r1.csv", "?/**/?.csv", "**/none.csv"),
    ],
)
def test_a_pattern_names_the_objects_that_it_would_name_on_a_disk(
    store: tuple[Put, Get], pattern: str, tmp_path: Path
) -> None:
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(CSV)
        store[0](f"tree/{name}", CSV)
    here = [os.path.relpath(path, tmp_path) for path in files.expanded(f"{glob.escape(str(tmp_path))}/{pattern}")]
    there = [one.path.removeprefix("tree/") for one in remote.matching(address_of(f"s3://shop/tree/{pattern}"))]
    assert there == sorted(here)


@pytest.mark.parametrize("pattern", ["dir/*.csv", "**/*.csv", "**", "d?r/a.csv", "dir/[ab].csv", "dir/a.csv"])
def test_an_output_that_a_pattern_of_the_inputs_names_is_refused(pattern: str) -> None:
    outcome = run("predict", "absent.joblib", f"s3://shop/{pattern}", "-o", "s3://shop/dir/a.csv")
    assert outcome.code == 2
    assert f"also an input, s3://shop/{pattern}" in outcome.stderr


@pytest.mark.parametrize(
    "pattern", ["s3://shop/*.csv", "s3://other/dir/*.csv", "gs://shop/dir/*.csv", "https://shop/dir/*"]
)
def test_an_output_elsewhere_is_none_of_the_inputs(pattern: str) -> None:
    assert not remote.covers(address_of(pattern), address_of("s3://shop/dir/a.csv"))


# ------------------------------------------------------------------------------------------------ what is not there


def test_a_bucket_that_is_missing_is_named_before_the_work(store: tuple[Put, Get]) -> None:
    for command in (("fit", "absent.csv", *FIT), ("predict", "absent.joblib", "absent.csv")):
        outcome = run(*command, "-o", "s3://nobucket/m.joblib" if command[0] == "fit" else "s3://nobucket/p.csv")
        assert outcome.code == 2
        assert "there is no bucket nobucket" in outcome.stderr
    outcome = run("fit", "absent.csv", *FIT, "-o", "s3://shop/models/")
    assert (outcome.code, "it is a folder" in outcome.stderr) == (2, True)


@pytest.mark.parametrize(
    ("command", "code"), [(("fit", "s3://nobucket/t.csv"), 3), (("fit", "s3://nobucket/*.csv"), 3), (("info",), 4)]
)
def test_a_bucket_that_is_missing_is_told_from_a_missing_object(
    store: tuple[Put, Get], command: tuple[str, ...], code: int
) -> None:
    outcome = run(*command, *(FIT if command[0] == "fit" else ("s3://nobucket/m.joblib",)))
    assert (outcome.code, "there is no bucket nobucket" in outcome.stderr) == (code, True), outcome.stderr


class Refusing:
    """A store whose every answer is this one."""

    def __init__(self, answer: str) -> None:
        self._answer = answer

    def get_file_info(self, path: str) -> None:
        raise OSError(f"When getting information for bucket '{path}': {self._answer}")


def test_a_bucket_that_may_not_be_listed_may_still_be_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_store_of", lambda _: Refusing("AWS Error ACCESS_DENIED during HeadBucket operation"))
    files.check_writable("s3://shop/m.joblib")
    monkeypatch.setattr(remote, "_store_of", lambda _: Refusing("AWS Error NETWORK_CONNECTION during HeadBucket"))
    with pytest.raises(UsageError, match="NETWORK_CONNECTION"):
        files.check_writable("s3://shop/m.joblib")


# ------------------------------------------------------------------------------------------------ without credentials


def test_a_model_is_read_without_credentials_as_the_table_is(store: tuple[Put, Get], table: Path) -> None:
    put, get = store
    succeed("fit", table, *FIT, "--updatable", "-o", "s3://shop/m.joblib")
    put("public/m.joblib", get("m.joblib"))
    put("public/t.csv", CSV)
    out = ("-o", table.with_name("u.joblib"))
    for command, more in (("predict", ()), ("explain", ()), ("update", out)):
        succeed(command, "s3://shop/public/m.joblib", "s3://shop/public/t.csv", "--anonymous", *more)
        refused = run(command, "s3://shop/m.joblib", "s3://shop/public/t.csv", "--anonymous", *more)
        assert refused.code == 4
        assert "leave out --anonymous" in refused.stderr
    like = run("fit", "s3://shop/public/t.csv", "--like", "s3://shop/m.joblib", "--anonymous")
    assert like.code == 4


@pytest.mark.parametrize(
    ("anonymous", "said"), [(None, "https:// address"), (False, "add --anonymous"), (True, "leave out --anonymous")]
)
def test_the_hint_names_an_option_only_where_there_is_one(anonymous: bool | None, said: str) -> None:
    hint = remote._hint(address_of("s3://shop/m.joblib", anonymous), "AWS Error ACCESS_DENIED", "read")
    assert said in hint
    assert ("--anonymous" in hint) == (anonymous is not None)


# ------------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
@pytest.mark.parametrize("value", ["http://[::1", "ftp://host", "http://host:port", "http://"])
def test_a_server_that_is_no_address_is_named_by_its_variable(
    name: str, value: str, store: tuple[Put, Get], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    outcome = run("fit", "s3://shop/t.csv", *FIT)
    assert outcome.code == 2
    assert name in outcome.stderr
