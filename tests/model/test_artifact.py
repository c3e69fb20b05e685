"""Model files: what goes in comes out, the same bytes every time, and nothing that a file says is ever run."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import math
import os
import pickle
import random
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from joblib.numpy_pickle import NumpyArrayWrapper

from enrelm_cli.errors import Exit, ModelFileError, UsageError
from enrelm_cli.model import artifact
from enrelm_cli.model.document import checksums
from enrelm_cli.model.problems import Problem
from enrelm_cli.model.reader import Reader

# ---------------------------------------------------------------------------------------------------------------------
# Watching: an audit hook cannot be removed, so one is installed and listens only while a file is being loaded.

_WATCHED = {
    "open", "exec", "compile", "import", "mmap.__new__", "pickle.find_class", "subprocess.Popen", "os.system",
    "os.exec", "os.fork", "os.posix_spawn", "os.remove", "os.rename", "os.mkdir", "os.listdir", "os.chmod",
    "os.truncate", "os.link", "os.symlink", "socket.connect", "shutil.rmtree", "ctypes.dlopen", "code.__new__",
    "marshal.loads",
}  # fmt: skip
_listener: tuple[int, list[tuple[str, str]]] | None = None


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _listener is not None and _listener[0] == threading.get_ident() and event in _WATCHED:
        _listener[1].append((event, str(arguments[0]) if arguments else ""))


sys.addaudithook(_hear)


@contextmanager
def listening() -> Iterator[list[tuple[str, str]]]:
    global _listener
    heard: list[tuple[str, str]] = []
    _listener = (threading.get_ident(), heard)
    try:
        yield heard
    finally:
        _listener = None


def refusal(path: Path, **options: Any) -> ModelFileError:
    """Load a file that must be refused: one line and a hint, exit code 4, and no event but the opening of that file."""
    with listening() as heard, pytest.raises(ModelFileError) as caught:
        artifact.load(str(path), **options)
    assert [event for event in heard if event != ("open", str(path))] == []
    error = caught.value
    assert error.exit_code == Exit.MODEL == 4
    assert path.name in error.problem
    assert error.hint
    assert (error.problem + error.hint).isprintable()
    return error


def test_the_watch_hears_what_a_hostile_file_would_do(tmp_path: Path) -> None:
    with listening() as heard:
        os.system("true")
        (tmp_path / "file").write_text("x")
    assert {"os.system", "open"} <= {event for event, _ in heard}


# ---------------------------------------------------------------------------------------------------------------------
# Documents


def a_document() -> dict[str, Any]:
    return {
        "variant": "incremental",
        "inputs": ["age", "Größe", "", "a/b", "shape"],
        "settings": {"seed": 1234, "noise": 1e-300, "none": None, "yes": True, "big": 2**63, "low": -(2**100)},
        "W": np.arange(12.0).reshape(3, 4) / 7,
        "order": np.array([2, 0, 1], dtype=np.int64),
        "hash": np.array([2**64 - 1], dtype=np.uint64),
        "kept": np.array([[True, False]]),
        "scalar": np.array(-0.0),
        "empty": np.zeros((0, 5)),
        "layers": [{"W": np.array([math.nan, math.inf])}, {"a/b": np.ones((2, 1))}],
    }


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.joblib"
    artifact.save(a_document(), str(path))
    return path


def same(a: Any, b: Any) -> bool:
    """Equal in value, type and, for floats, every bit."""
    if isinstance(a, (list, tuple)) and type(b) is list:
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    return bool(a == b)


_ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.int64, np.uint64, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats()
    | st.text(st.characters(), max_size=300)
    | _ARRAYS
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=5)
    ),
    max_leaves=20,
)
_DOCUMENTS = st.dictionaries(st.text(st.characters(), max_size=8), _VALUES, max_size=6)
_QUICK = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@_QUICK
@given(document=_DOCUMENTS)
def test_whatever_is_saved_is_loaded_to_the_last_bit(tmp_path: Path, document: dict[str, Any]) -> None:
    path = str(tmp_path / "m.joblib")
    artifact.save(document, path)
    loaded = artifact.load(path)
    assert same(document, loaded)
    first = Path(path).read_bytes()
    artifact.save(loaded, path)
    assert Path(path).read_bytes() == first


def test_tuples_and_numpy_scalars_come_back_as_plain_values(tmp_path: Path) -> None:
    path = str(tmp_path / "m.joblib")
    values = {"t": (1, (2.0,)), "f": np.float64(0.1), "i": np.int32(3), "b": np.bool_(True), "s": np.str_("x")}
    artifact.save(values, path)
    assert same(artifact.load(path), {"t": [1, [2.0]], "f": 0.1, "i": 3, "b": True, "s": "x"})


def test_lists_longer_than_a_pickle_batch_and_long_texts_survive(tmp_path: Path) -> None:
    path = str(tmp_path / "m.joblib")
    document = {
        "names": [f"n{i % 700}" for i in range(2501)],
        "text": "é" * 70_000,
        "m": {str(i): i for i in range(1001)},
    }
    artifact.save(document, path)
    assert artifact.load(path) == document


def test_loaded_arrays_are_native_and_can_be_written_to(model: Path) -> None:
    W = artifact.load(str(model))["W"]
    assert W.dtype.isnative
    assert W.flags.writeable
    assert W.flags.c_contiguous
    W += 1.0


def test_plain_joblib_reads_our_files_and_finds_plain_data(model: Path) -> None:
    whole = joblib.load(model)
    assert list(whole) == ["format", "format_version", "checksums", "document"]
    assert (whole["format"], whole["format_version"]) == ("enrelm-model", 1)
    assert same(a_document(), whole["document"])
    assert set(whole["checksums"]["arrays"]) >= {"/W", "/layers/1/a~1b", "/scalar"}


@pytest.mark.parametrize(
    "value",
    [
        np.array([None], dtype=object),
        np.zeros(2, dtype=np.float32),
        np.zeros(2, dtype=[("a", float)]),
        np.array(["text"]),
        np.ma.masked_array([1.0]),
        {1: 2},
        {1, 2},
        b"bytes",
        1j,
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_plain_data_is_a_programming_error_and_leaves_no_file(tmp_path: Path, value: Any) -> None:
    with pytest.raises(TypeError, match="/part"):
        artifact.save({"part": value}, str(tmp_path / "m.joblib"))
    assert list(tmp_path.iterdir()) == []


def test_documents_too_deep_or_numbers_too_long_are_not_saved(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    for value in (deep, 2**3000):
        with pytest.raises(ValueError, match="model document"):
            artifact.save({"part": value}, str(tmp_path / "m.joblib"))


# ---------------------------------------------------------------------------------------------------------------------
# The same bytes


def test_equal_documents_made_in_different_ways_give_equal_bytes(tmp_path: Path) -> None:
    W = np.arange(6.0).reshape(2, 3)
    shared = "a name of some length"
    one = {"a": shared, "b": [shared, "shape", "dtype", "C", "numpy"], "W": W, "V": W, "x": 0.5, "n": 3}
    other = OrderedDict(
        n=np.int64(3),
        x=np.float64(0.5),
        V=np.asfortranarray(W).astype(">f8"),
        W=np.asfortranarray(W).view(np.dtype("<f8", metadata={"unit": "m"})),
        b=tuple("".join(list(text)) for text in one["b"]),
        a=np.str_(shared),
    )
    for name, document in (("one", one), ("other", other)):
        artifact.save(document, str(tmp_path / name))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_separate_processes_write_equal_bytes(tmp_path: Path, model: Path) -> None:
    script = "import sys; from enrelm_cli.model import artifact; artifact.save(artifact.load(sys.argv[1]), sys.argv[2])"
    for seed in ("1", "2"):
        copy = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(artifact.__file__).parents[2])}
        subprocess.run([sys.executable, "-c", script, str(model), str(copy)], check=True, env=environment)
        assert copy.read_bytes() == model.read_bytes()


# ---------------------------------------------------------------------------------------------------------------------
# Writing whole files or none


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_save_that_fails_leaves_the_old_model_and_nothing_else(
    model: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    before = model.read_bytes()
    seen: list[list[str]] = []

    def no_more(descriptor: int) -> None:
        seen.append(sorted(p.name for p in model.parent.iterdir()))
        raise failure

    monkeypatch.setattr(os, "fsync", no_more)
    with pytest.raises((UsageError, KeyboardInterrupt)) as caught:
        artifact.save({"x": 1}, str(model))
    if isinstance(caught.value, UsageError):
        assert "No space left" in caught.value.problem
        assert "space" in (caught.value.hint or "")
    assert model.read_bytes() == before
    assert [p.name for p in model.parent.iterdir()] == ["model.joblib"]
    # What a kill at that moment would leave behind can be told apart.
    assert seen[0][0].startswith(".model.joblib.enrelm-")
    assert seen[0][0].endswith(".tmp")


def test_a_large_model_is_not_in_memory_several_times(tmp_path: Path) -> None:
    document = {"x": np.zeros(6_000_000)}
    tracemalloc.start()
    try:
        artifact.save(document, str(tmp_path / "model.joblib"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Once as it is read back, and a buffer of joblib's.
    assert peak < 1.5 * document["x"].nbytes


def test_what_cannot_be_read_back_never_takes_the_final_name(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model.read_bytes()
    monkeypatch.setattr(joblib, "dump", lambda value, file, **options: file.write(before[:-1]))
    with pytest.raises(ModelFileError, match="was not written"):
        artifact.save({"x": 1}, str(model))
    assert model.read_bytes() == before
    assert len(list(model.parent.iterdir())) == 1


def test_a_save_into_no_folder_or_onto_a_folder_is_one_line(tmp_path: Path) -> None:
    for target in (tmp_path / "absent" / "m.joblib", tmp_path):
        with pytest.raises(UsageError) as caught:
            artifact.save({"x": 1}, str(target))
        assert caught.value.hint
        assert "\n" not in caught.value.problem
    assert list(tmp_path.iterdir()) == []


def test_a_device_takes_the_bytes_and_stays_a_device() -> None:
    artifact.save({"x": 1}, os.devnull)
    assert not Path(os.devnull).is_file()


def test_a_new_model_gets_the_usual_permissions_and_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "m.joblib")
    artifact.save({"x": 1}, str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "m.joblib").stat().st_mode == (tmp_path / "plain").stat().st_mode


# ---------------------------------------------------------------------------------------------------------------------
# Files that are something else


def _zip_bytes() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", "b")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"a,b,y\n1,2,3\n", "text file"),
        ("größe,y\n1,2\n".encode(), "text file"),
        (_zip_bytes(), "zip archive"),
        (gzip.compress(b"x"), "compressed with gzip"),
        (b"PAR1\x15\x04", "Parquet"),
        (b"\x93NUMPY\x01\x00", "numpy array file"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not an enrelm model"),
        (b"\x00" * 4096, "not an enrelm model"),
        (pickle.dumps({"a": 1}, protocol=2), "pickle of another program"),
        (pickle.dumps({"a": 1}, protocol=5), "pickle of another program"),
        (pickle.dumps({"a": 1}, protocol=0), "not an enrelm model"),
        (pickle.dumps({"format": "other-model", "x": [1]}, protocol=4), "was not written by enrelm"),
        (pickle.dumps([1, 2, 3], protocol=4), "was not written by enrelm"),
        (pickle.dumps(OrderedDict(a=1), protocol=4), "collections.OrderedDict"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else f"{len(value)}-bytes",
)
def test_a_foreign_file_is_named_for_what_it_is(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "m.joblib"
    path.write_bytes(content)
    assert says in refusal(path).problem


def test_no_file_a_folder_a_pipe_and_a_device_are_told_apart(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "does not exist" in refusal(tmp_path / "absent.joblib").problem
    assert "is a directory" in refusal(tmp_path).problem
    assert "pipe or a device" in refusal(tmp_path / "pipe").problem
    assert "pipe or a device" in refusal(Path("/dev/zero")).problem
    assert "cannot be read" in refusal(tmp_path / "pipe" / "m").problem


def test_a_name_too_long_for_the_disk_is_cut_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"nnn\.\.\.nnn.* cannot be read") as caught:
        artifact.load(str(tmp_path / ("n" * 3000)))
    assert len(caught.value.problem) < 300


def test_a_name_that_would_write_on_the_terminal_is_shown_harmless(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError) as caught:
        artifact.load(str(tmp_path / "a\nb\x1b[31m"))
    assert caught.value.problem.isprintable()


def test_a_model_of_scikit_learn_is_refused_by_name(tmp_path: Path) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    joblib.dump(linear_model.LinearRegression(), tmp_path / "m.joblib", protocol=4)
    assert "sklearn.linear_model" in refusal(tmp_path / "m.joblib").problem


# ---------------------------------------------------------------------------------------------------------------------
# Versions


def write_whole(path: Path, **changes: Any) -> Path:
    """A file laid out as ours, with true checksums, but for the changes (None leaves the key out)."""
    document = changes.pop("document", {"x": 1})
    whole = {"format": "enrelm-model", "format_version": 1, "checksums": None, "document": document}
    try:
        whole["checksums"] = checksums(document)
    except (Problem, TypeError):  # not plain data: no checksum of ours exists
        whole["checksums"] = {"document": "0" * 64, "arrays": {}}
    whole |= changes
    joblib.dump(whole, path, protocol=4)
    return path


def test_a_newer_format_says_upgrade_even_where_it_holds_strange_things(tmp_path: Path) -> None:
    for document in ({"x": 1}, {"x": np.zeros(3, dtype=np.float32)}, {"x": OrderedDict(a=1)}):
        error = refusal(write_whole(tmp_path / "m.joblib", format_version=2, document=document))
        assert "written by a newer enrelm (model format 2; this one reads up to 1)" in error.problem
        assert "upgrade" in (error.hint or "")


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None, [1], np.array(1)])
def test_a_version_that_was_never_written_is_damage(tmp_path: Path, version: Any) -> None:
    refusal(write_whole(tmp_path / "m.joblib", format_version=version))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": np.array([])},
        {"format": ["enrelm-model"]},
        {"checksums": None},
        {"checksums": {"document": np.array([]), "arrays": {}}},
        {"checksums": {"document": "0" * 64, "arrays": {}}},
        {"document": [1]},
        {"document": {"x": (1, 2)}},
        {"extra": 1},
    ],
)
def test_a_layout_that_is_not_ours_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    refusal(write_whole(tmp_path / "m.joblib", **changes))


# ---------------------------------------------------------------------------------------------------------------------
# Hostile files


class Reduced:
    """Pickles as a call."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, state: Any = None) -> None:
        self.function, self.arguments, self.state = function, arguments, state

    def __reduce__(self) -> tuple[Any, ...]:
        return (self.function, self.arguments) + (() if self.state is None else (self.state,))


class WithState:
    """Pickles as an object whose state is anything at all, after a call."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def __reduce__(self) -> tuple[Any, ...]:
        return (dict, (), {"x": self.state})


def _canary_code(canary: Path) -> str:
    return f"open({str(canary)!r}, 'w').close()"


def _loaded_from_elsewhere(canary: Path) -> Reduced:
    elsewhere = canary.with_suffix(".npy")
    np.save(elsewhere, np.array([Reduced(eval, _canary_code(canary))], dtype=object), allow_pickle=True)
    return Reduced(functools.partial(np.load, allow_pickle=True), str(elsewhere))


_CALLS: dict[str, Callable[[Path], Any]] = {
    "os.system": lambda canary: Reduced(os.system, f"touch '{canary}'"),
    "eval": lambda canary: Reduced(eval, _canary_code(canary)),
    "exec": lambda canary: Reduced(exec, _canary_code(canary)),
    "open": lambda canary: Reduced(open, str(canary), "w"),
    "__import__": lambda canary: Reduced(__import__, "antigravity"),
    "getattr": lambda canary: Reduced(getattr, "x", "upper"),
    "subprocess": lambda canary: Reduced(subprocess.call, ["touch", str(canary)]),
    "numpy.load": lambda canary: Reduced(np.load, str(canary)),
    "numpy.load of a pickle": _loaded_from_elsewhere,
    "numpy.memmap": lambda canary: Reduced(np.memmap, str(canary), "f8", "w+", 0, (4,)),
    "numpy.fromfile": lambda canary: Reduced(np.fromfile, "/etc/passwd"),
    "numpy.savetxt": lambda canary: Reduced(np.savetxt, str(canary), [1.0]),
    "functools.partial": lambda canary: Reduced(functools.partial, os.system, f"touch '{canary}'"),
    "numpy.dtype of objects": lambda canary: np.dtype("O"),
    "numpy.dtype of a record": lambda canary: np.dtype([("a", "O")]),
    "numpy.dtype with a title": lambda canary: np.dtype("f8", metadata={"x": 1}),
    "numpy.float64": lambda canary: np.float64(1.0),
    "pathlib": lambda canary: canary,
    "a class": lambda canary: OrderedDict,
    "a set": lambda canary: {1, 2},
    "bytes": lambda canary: b"x",
    "joblib.load": lambda canary: Reduced(joblib.load, str(canary)),
}


@pytest.mark.parametrize("where", ["as the whole file", "in the document", "as an object's state", "in the checksums"])
@pytest.mark.parametrize("call", _CALLS)
def test_nothing_that_a_file_asks_for_is_run(tmp_path: Path, call: str, where: str) -> None:
    canary, path = tmp_path / "canary", tmp_path / "m.joblib"
    thing = _CALLS[call](canary)
    if where == "as the whole file":
        joblib.dump(thing, path, protocol=4)
    elif where == "in the document":
        write_whole(path, document={"x": [thing]})
    elif where == "as an object's state":
        joblib.dump([WithState(thing)], path, protocol=4)
    else:
        write_whole(path, checksums={"document": thing})
    assert not canary.exists()
    refusal(path)
    assert not canary.exists()


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("call", ["os.system", "eval", "numpy.memmap"])
def test_no_pickle_protocol_runs_anything(tmp_path: Path, call: str, protocol: int) -> None:
    canary, path = tmp_path / "canary", tmp_path / "m.joblib"
    path.write_bytes(pickle.dumps(_CALLS[call](canary), protocol=protocol))
    refusal(path)
    assert not canary.exists()


def test_the_canary_sings_where_plain_joblib_loads(tmp_path: Path) -> None:
    """The hostile files are live: without this, the tests above could not fail."""
    canary, path = tmp_path / "canary", tmp_path / "m.joblib"
    for call in ("os.system", "eval", "exec", "open", "subprocess", "numpy.load of a pickle", "numpy.memmap"):
        write_whole(path, document={"x": [_CALLS[call](canary)]})
        returned = joblib.load(path)["document"]["x"][0]
        if call == "open":
            returned.close()
        assert canary.exists(), call
        canary.unlink()


@pytest.mark.parametrize("method", ["zlib", "gzip", "bz2", "lzma", "xz", "lz4"])
def test_a_compressed_hostile_file_is_refused_before_it_is_inflated(tmp_path: Path, method: str) -> None:
    canary, path = tmp_path / "canary", tmp_path / "m.joblib"
    hostile = pickle.dumps(_CALLS["os.system"](canary), protocol=4)
    compressed = {
        "zlib": zlib.compress,
        "gzip": gzip.compress,
        "bz2": bz2.compress,
        "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
        "xz": lzma.compress,
        "lz4": lambda data: (
            b"\x04\x22\x4d\x18\x64\x40\xa7" + struct.pack("<I", len(data) | 2**31) + data
        ),  # one raw block
    }[method](hostile)
    path.write_bytes(compressed)
    assert "compressed" in refusal(path).problem
    assert not canary.exists()


@pytest.mark.parametrize("level", range(10))
def test_every_level_of_zlib_is_recognised(tmp_path: Path, level: int) -> None:
    joblib.dump({"x": list(range(100))}, tmp_path / "m.joblib", compress=("zlib", level), protocol=4)
    assert refusal(tmp_path / "m.joblib").problem


@contextmanager
def at_most(megabytes: float, seconds: float) -> Iterator[None]:
    tracemalloc.start()
    began = time.process_time()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1e6
        assert time.process_time() - began < seconds
    finally:
        tracemalloc.stop()


def test_a_gzip_bomb_is_not_inflated(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "m.joblib", "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
    with at_most(megabytes=2, seconds=5):
        refusal(tmp_path / "m.joblib")


# -- joblib's own array wrapper, forged


def wrapped(tail: bytes = b"", **changes: Any) -> bytes:
    """A file whose document is one forged array: the wrapper's state with changes, then padding, then the tail."""
    wrapper = NumpyArrayWrapper(np.ndarray, (2,), "C", np.dtype("f8"), allow_mmap=True)
    for name, value in changes.items():
        if value is KeyError:
            del wrapper.__dict__[name]
        else:
            wrapper.__dict__[name] = value
    state = pickle.dumps(wrapper, protocol=4)[11:-1]  # without its frame and its end
    head = _op_text("format") + _op_text("enrelm-model") + _op_text("format_version") + b"K\x01" + _op_text("document")
    # Memo numbers of the wrapper count from 0, so it is pickled first and nothing before it is memoised.
    return b"\x80\x04\x95" + bytes(8) + b"}(" + head + state + tail


def _op_text(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode()


_TWO = b"\x01\xff" + struct.pack("<2d", 1.0, 2.0)


def test_the_forged_wrapper_reads_as_an_array_before_it_is_changed(tmp_path: Path) -> None:
    """Only the layout around it is wrong: what the next test changes in it is what makes the difference there."""
    path = tmp_path / "m.joblib"
    path.write_bytes(wrapped(_TWO + b"u."))
    assert "not laid out as an enrelm model" in refusal(path).problem


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": np.dtype("O")},
        {"dtype": np.dtype([("a", "f8")])},
        {"dtype": np.dtype("S8")},
        {"dtype": np.dtype("M8[s]")},
        {"dtype": np.dtype(">f8")},
        {"dtype": "f8"},
        {"dtype": None},
        {"subclass": np.memmap},
        {"subclass": np.matrix},
        {"subclass": os.system},
        {"subclass": Reduced},
        {"subclass": None},
        {"order": "F"},
        {"order": np.array([])},
        {"allow_mmap": 1},
        {"allow_mmap": "r+"},
        {"filename": "/etc/passwd"},
        {"read": os.system},
        {"shape": (2**62,)},
        {"shape": (2**40,)},
        {"shape": (2**27,)},
        {"shape": (2**32, 2**32)},
        {"shape": (-1,)},
        {"shape": (0, 2**62)},
        {"shape": (2**47,) * 16 + (0,)},
        {"shape": (1,) * 100},
        {"shape": (True, 2)},
        {"shape": (2.0,)},
        {"shape": [2]},
        {"shape": 2},
        {"shape": np.array([2])},
        {"shape": ((2,),)},
        {"shape": KeyError},
        {"numpy_array_alignment_bytes": None},
        {"numpy_array_alignment_bytes": 2**31},
        {"numpy_array_alignment_bytes": KeyError},
        {"dtype": NumpyArrayWrapper(np.ndarray, (1,), "C", np.dtype("f8"))},
        {"subclass": NumpyArrayWrapper},
    ],
    ids=lambda changes: ",".join(f"{name}={str(value)[:40]}" for name, value in changes.items()),
)
def test_a_forged_array_wrapper_is_refused_without_allocating(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "m.joblib"
    path.write_bytes(wrapped(_TWO + b"u.", **changes))
    with at_most(megabytes=2, seconds=5):
        assert "not laid out as an enrelm model" not in refusal(path).problem


def test_the_old_wrappers_of_joblib_that_name_other_files_are_refused(tmp_path: Path) -> None:
    from joblib.numpy_pickle_compat import NDArrayWrapper, ZNDArrayWrapper

    np.save(tmp_path / "other.npy", np.ones(2))
    for old in (NDArrayWrapper("other.npy", np.ndarray, True), ZNDArrayWrapper("other.npy", (), {})):
        (tmp_path / "m.joblib").write_bytes(pickle.dumps({"x": old}, protocol=4))
        assert "joblib.numpy_pickle" in refusal(tmp_path / "m.joblib").problem


def test_an_object_array_with_a_call_in_its_nested_pickle_is_refused(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    objects = np.array([Reduced(eval, _canary_code(canary))], dtype=object)
    refusal(write_whole(tmp_path / "m.joblib", document={"x": objects}))
    assert not canary.exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (wrapped(b"\x01\xff\x01\x02u.", dtype=np.dtype("?")), "truth value"),
        (wrapped(b"\x01\x00" + bytes(16) + b"u."), "space before an array"),
        (wrapped(b"\x20" + b"\xff" * 32 + bytes(16) + b"u."), "space before an array"),
        (wrapped(b"\x01\xffu.", shape=(0, 2**62)), "shape is impossible"),
        (b"\x80\x04\x95" + bytes(8) + b"\x8a\xff" + b"\x7f" * 255 + b".", "integer is too long"),
        (b"\x80\x04\x95" + bytes(8) + b"}(\x8c\x01aN\x8c\x01aNu.", "a key is repeated"),
        (b"\x80\x04\x95" + bytes(8) + b"}(K\x01Nu.", "or is not text"),
        (b"\x80\x04\x95" + bytes(8) + b"X\xff\xff\xff\xffabc.", "ends too early"),
        (b"\x80\x04\x95" + b"\xff" * 8 + b"N.", "ends too early"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else f"{len(value)}-bytes",
)
def test_values_that_enrelm_cannot_have_written_say_so(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "m.joblib"
    path.write_bytes(content)
    assert says in refusal(path).problem


# -- recursion and growth


def stream(body: bytes) -> bytes:
    return b"\x80\x04\x95" + bytes(8) + body


@pytest.mark.parametrize(
    "body",
    [
        b"]" * 200_000 + b"a" * 199_999 + b".",
        b")" + b"\x85" * 200_000 + b".",
        b"}" + b"\x8c\x01a}" * 200_000 + b"s" * 200_000 + b".",
        b"(" * 200_000 + b"t" * 200_000 + b".",
        b"(" * 200_000 + b".",
        b"]\x94h\x00a.",
        b"]\x94" + b"h\x00h\x00\x86" * 10 + b".",
    ],
    ids=["lists", "tuples", "dictionaries", "marks", "open marks", "a list in itself", "one list twice"],
)
def test_deep_and_circular_structures_are_refused_not_followed(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "m.joblib"
    path.write_bytes(stream(body))
    refusal(path)
    # The same, where a document would be.
    head = b"}(" + _op_text("format") + _op_text("enrelm-model") + _op_text("format_version") + b"K\x01"
    head += _op_text("checksums") + b"N" + _op_text("document") + b"}" + _op_text("x")
    path.write_bytes(stream(head + body[:-1] + b"su."))
    refusal(path)


def test_a_document_deeper_than_any_model_says_so(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(70):
        deep = {"x": deep}
    assert "nests deeper than 64 levels" in refusal(write_whole(tmp_path / "m.joblib", document=deep)).problem


def test_a_billion_laughs_do_not_grow(tmp_path: Path) -> None:
    laugh: list[Any] = ["ha"]
    for _ in range(60):
        laugh = [laugh] * 10
    path = tmp_path / "m.joblib"
    path.write_bytes(pickle.dumps({"format": "enrelm-model", "document": laugh}, protocol=4))
    with at_most(megabytes=2, seconds=5):
        assert "twice" in refusal(path).problem


def test_a_long_text_repeated_by_short_references_counts_every_time(tmp_path: Path) -> None:
    path = tmp_path / "m.joblib"
    text = b"X" + struct.pack("<I", 1 << 20) + b"x" * (1 << 20) + b"\x94"
    path.write_bytes(stream(b"](" + text + b"h\x00" * 1_000_000 + b"e."))
    with at_most(megabytes=80, seconds=20):
        assert "repeats its texts more often" in refusal(path).problem


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ([np.zeros(0) for _ in range(5_000)], "arrays without a checksum"),  # their paths would be 2.5 GB of text
        (list(range(150_000)), "do not match their checksum"),  # and these 79 GB, one after the other
    ],
    ids=["arrays", "numbers"],
)
def test_a_long_key_over_many_values_takes_no_more_work_than_the_file_holds(
    tmp_path: Path, held: list[Any], said: str
) -> None:
    path = tmp_path / "m.joblib"
    sums = {"document": "0" * 64, "arrays": {}}
    whole = {"format": "enrelm-model", "format_version": 1, "checksums": sums, "document": {"x" * (1 << 19): held}}
    joblib.dump(whole, path, protocol=4)
    with at_most(megabytes=30, seconds=10):
        assert said in refusal(path).problem


def test_many_small_objects_count_as_the_memory_they_take(tmp_path: Path) -> None:
    path = tmp_path / "m.joblib"
    path.write_bytes(stream(b"](" + b"}" * 2_000_000 + b"e."))
    with at_most(megabytes=60, seconds=20):
        error = refusal(path, limit=1 << 24)
    assert "ENRELM_MODEL_LIMIT=" in (error.hint or "")


def test_a_sparse_file_that_claims_a_terabyte_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "m.joblib"
    path.write_bytes(wrapped(b"\x01\xff", shape=(2**36,)))
    try:
        os.truncate(path, 2**39 + 4096)
    except OSError as error:
        pytest.skip(f"this file system has no sparse files of 512 GiB: {error}")
    with at_most(megabytes=2, seconds=5):
        assert "limit" in refusal(path).problem


def test_the_limit_comes_from_the_environment(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, fits in (("1K", False), ("100 ", False), ("1MiB", True), ("1g", True), ("", True), ("2000000", True)):
        monkeypatch.setenv("ENRELM_MODEL_LIMIT", text)
        if fits:
            artifact.load(str(model))
        else:
            assert "limit" in refusal(model).problem
    for text in ("lots", "-1", "1.5iB", "GiB", "9" * 30):
        monkeypatch.setenv("ENRELM_MODEL_LIMIT", text)
        with pytest.raises(UsageError, match="ENRELM_MODEL_LIMIT"):
            artifact.load(str(model))


# ---------------------------------------------------------------------------------------------------------------------
# Damage


def loads_equal_or_is_refused(path: Path, content: bytes) -> bool:
    path.write_bytes(content)
    try:
        loaded = artifact.load(str(path))
    except ModelFileError:
        return False
    assert same(a_document(), loaded)
    return True


def test_a_file_cut_off_anywhere_is_refused(model: Path) -> None:
    whole = model.read_bytes()
    for length in range(len(whole)):
        assert not loads_equal_or_is_refused(model, whole[:length])
    assert not loads_equal_or_is_refused(model, whole + b"\x00")


def test_flipped_bits_are_refused_or_change_nothing(model: Path) -> None:
    whole = model.read_bytes()
    draw = random.Random(20240901)
    refused = 0
    rounds = 1500
    for _ in range(rounds):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        refused += not loads_equal_or_is_refused(model, bytes(damaged))
    # Frame lengths are the only bytes that may change without changing what is read.
    assert refused > 0.9 * rounds


def test_a_flip_in_an_array_names_the_array(model: Path) -> None:
    whole = model.read_bytes()
    needle = a_document()["W"].tobytes()
    at = whole.index(needle)
    model.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    error = refusal(model)
    assert "/W does not match its checksum" in error.problem
    assert "copy" in (error.hint or "")


def test_blocks_overwritten_or_moved_are_refused(model: Path) -> None:
    whole = model.read_bytes()
    draw = random.Random(7)
    for _ in range(300):
        a, b = sorted(draw.sample(range(len(whole)), 2))
        for content in (
            whole[:a] + bytes(b - a) + whole[b:],
            whole[:a] + whole[b:],
            whole[:b] + whole[a:],
            whole[:a] + draw.randbytes(b - a) + whole[b:],
        ):
            loads_equal_or_is_refused(model, content)


def test_a_file_that_shrinks_while_it_is_read_is_refused(model: Path) -> None:
    content = model.read_bytes()
    with pytest.raises(Problem, match="shorter"):
        artifact._read_document(io.BytesIO(content[:-40]), len(content), None)


_OPERANDS = {0x95: 8, 0x68: 1, 0x6A: 4, 0x4B: 1, 0x4D: 2, 0x4A: 4, 0x47: 8, 0x8A: 1, 0x8C: 1, 0x58: 4}
_NAMES = [("joblib.numpy_pickle", "NumpyArrayWrapper"), ("numpy", "ndarray"), ("numpy", "dtype"), ("os", "system")]
_STEPS = st.one_of(
    st.sampled_from(sorted(Reader._steps)).map(lambda code: bytes([code]) + bytes(_OPERANDS.get(code, 0))),
    st.sampled_from(_NAMES).map(lambda pair: _op_text(pair[0]) + _op_text(pair[1]) + b"\x93\x94"),
    st.sampled_from(["shape", "order", "C", "f8", "<", "format", "document", "enrelm-model"]).map(_op_text),
    st.binary(max_size=4),
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(_STEPS, max_size=40))
def test_any_program_of_opcodes_is_refused_cleanly(tmp_path: Path, steps: list[bytes]) -> None:
    path = tmp_path / "m.joblib"
    path.write_bytes(stream(b"".join(steps) + b"."))
    refusal(path, limit=1 << 24)
