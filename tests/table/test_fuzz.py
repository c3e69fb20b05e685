"""Fuzzing of the two readers of strangers' bytes, tables and models: coverage-guided mutations of a kept corpus.

Whatever the bytes are, a reader ends with rows or with a UserError; anything else is a bug. How it works, and what can
be set: tests/fuzzing.py. A failing input is kept in a file that the message names; a small form of it belongs into
FOUND_IN_TABLES.
"""

from __future__ import annotations

import base64
import gzip
import io
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from enrelm_cli.errors import ModelFileError, UserError
from enrelm_cli.fold.folds import LocalEngine
from enrelm_cli.inputs.predicting import open_for_predict
from enrelm_cli.inputs.screening import build_encoding
from enrelm_cli.inputs.survey.facts import survey
from enrelm_cli.model import artifact
from enrelm_cli.model.model import Model
from enrelm_cli.settings import ReadOptions, Roles
from enrelm_cli.table.load import load
from enrelm_cli.table.table import open_table
from tests.cli_runner import succeed
from tests.fuzzing import SECONDS, Coverage, fuzz, kept


def refused(problem: UserError, reason: str = "", outcome: str = "refused") -> str:
    assert problem.problem
    assert reason in problem.problem, problem.problem
    return outcome


# ------------------------------------------------------------------------------------------------- tables


def table_corpus() -> list[bytes]:
    plain = b"a,b,c,y\n" + b"".join(
        b"%d,%.2f,%s,%.3f\n" % (i, i / 7, b"uvw"[i % 3 : i % 3 + 1], i**0.5) for i in range(12)
    )
    quoted = b'a,"b ""x""",c,y\r\n' + b'1,"2\r\n3",u,4\r\n' * 3 + b'5,"6,7",v,8\r\n' * 3
    missing = b"a,b,c,y\n,NA,u,1\n2,,?,2\n3,null,w,\n4,1,,4\n5,2,u,5\n"
    dates = b"a;b;y\n2024-01-31;true;1,5\n2024-02-28 12:00;false;2,5\n2024-03-01;true;3,5\n2024-03-02;false;1,0\n"
    arrow = pa.table({"a": [1, 2, 3, 4], "c": ["u", "v", None, "u"], "y": [0.5, 1.5, None, 3.0]})
    sink = io.BytesIO()
    pq.write_table(arrow, sink)
    compressed = gzip.compress(plain, mtime=0)
    return [plain, quoted, missing, dates, plain.replace(b",", b"\t"), compressed, sink.getvalue(), *kept("tables")]


def read_table(folder: Path, data: bytes) -> str:
    """Through the whole of fit's reading, and then of predict's with --append."""
    path = folder / "data.csv"
    path.write_bytes(data)
    engine, roles = LocalEngine(1), Roles("y")
    options = ReadOptions(block_bytes=64, batch_rows=5)
    try:
        table = load(open_table([str(path)], options, roles), roles, engine, in_memory=True)
        found = survey(table, roles, engine)
        encoding = build_encoding(found, roles, "fill")
        rows = [encoding.chunk(batch) for piece in table.pieces for batch in piece]
        assert all(not np.isinf(chunk.X).any() and np.isfinite(chunk.y).all() for chunk in rows)
        assert sum(chunk.rows for chunk in rows) == found.rows
    except UserError as problem:
        return refused(problem)
    try:
        opened = open_for_predict([str(path)], options, encoding, raw=True, with_target=True)
        again = [encoding.for_predict(batch)[0] for piece in opened for batch in piece]
    except UserError as problem:
        # Raw rows are the stricter reading, and a fit does not look at inputs of rows without a target. Nothing else
        # may differ.
        reason = "infinite" if found.without_target and "infinite" in problem.problem else "byte by byte"
        return refused(problem, reason, "read, not appended to")
    assert sum(len(X) for X in again) == found.rows + found.without_target
    return "read"


def _unpacked(text: bytes) -> bytes:
    return zlib.decompress(base64.b85decode(text))


# Small forms of what the fuzzer found. Each of these ended in a traceback.
FOUND_IN_TABLES: dict[str, bytes] = {
    "a Parquet file whose integers have more than 64 bits": _unpacked(
        b"c-oayL2DC16n-<i-EPtx(&7xeu!kJdB|=(Tp`}VBdAp`DxYlkiBJ>hMhz7JVF^Pp9{Usg*!M~taJ@^}>2SM=Q!Gn18&FrQLG?zY>"
        b"c`t9i`Mz)7ZjQ0FD@;)n2a&J^YycEY1{nrCvswcKk}%UOK->^cnUHy53CnZr*^Xngw31L-(p_JtC0pdQ+Kd}NfJBKZqNGH#MFkwI"
        b"WkMnwLe53@d5KLNHr5oGf}$|in8E4jjwnZjQ49{i3NtUNE2|~=SJj&C2med|-OuwYrV~qcZB|`WB`+=ME|@mfxKSk2ZnOuEHR?R;"
        b"zGw@J8k^i<Z4fz?JDU)BYD`)6>kOprdTzxBkIwCZm3Ij$xU}VOCVw&i#J8_ELAR{NCAfMIc}kU=mg|GEt2A;mjgHnhmv5Q>p8J2;"
        b";smcyNXsP>ZlxsI8OfO@`OfI^KO6pEe!aOZwW?L*S5w-)Ex(!IdQJ{ot;bL9CIfXo@>?qI^pGOPBpxD8G3enTVh=;Tg+YM$NEIPs"
        b"Q#a-rldWK?sw13Hg(F3+A#Zf^=^T%jWjDr#(jmP@+7I!lPbUwktRL1jQk$sHkE$~0rzG{%dW=D={1HzF@6R`rh?^Sp02i;CmJN++"
        b"s(XhT(!2B+V|r1<d*BoX?cu9&_w`n1FxYAjho{rRq&plvKYdxay}!M)z3W!!drThqMBni-{oVfqVZ)tg"
    ),
    "a Parquet file that has fewer rows than it says": _unpacked(
        b"c-oayv2GJV5S`t-T-J^YC(5qwq$^xFCnGr_iIgZHBYVy`#=?Zy4ML)^PL?4O#Ms!z5+&b4#V<fj!8f23R1_2xh?3d8yVz3PWVG6u"
        b"n|b@*+}z$db`PX2Yx1Nmg@i4Dg3TbqfM?cgU_oql;w8v!>6QtZmyUFNSELnJuq0AYT9Mt{q%B+Iv<t?qpFpBS)h4G!vqcS@=xs_O"
        b"TT(4Vj(LeqT{bZknS!RUHkiff=)Nqs38NWYfHh`cRoB)_@UI$+irUSF(@Gj$RTVF-$SyT(ZE&kd4SVe)aGi1Vvj4g#9ZKwQm-RsA"
        b"w2yY6?duU`_0t@b@O-ZlfKTU+z{z_Am0Zo$Z>D~+;6)&AH$AVcM<u!b26=LoJB}BCZdYsMQjLf-g!-U9vfvXB{;=ig-Jnp8M<m=y"
        b"NU|x(+>rcWw1Tfz@R#3iZYx_gD(ai9L?G068$935VYmDA+5LE+?q_~i+r0sjbuhNah%*cac#1f{x+!58B0kYU9kFE+3y*OroayKc"
        b"Q>yw{Qya*8lYG9w<8|2YU{mXmUNgzp@$7<5o>160Z5X6!qOmxt!|);@X(X+8Fzo35h$q5_i(+h@mH|D&<yTF@ra`szd)EzQaNXk)"
        b"@&UMoVQ=(y(to!b4TrnE(dcqknD$5GSC?-JhsS&Sdk0>H?qj^*3*F;$`qlpfvjLh9"
    ),
    "a Parquet file whose texts are not UTF-8": _unpacked(
        b"c-oay!EVz)5S?ASu9N1FR_w}_eDEQ)f|QmPsZ~Ki$vC7T!jw7}gw#tEMS)7tkkEum9QhVb`~sXg@C~R3P8>KOfjBa|w(CgErK8o("
        b"c;@YU<MH|!d%MCEO>qzjTfhc@Z!#z_;DyyD7?7BmdI92=aB74s3rkp@V`mk|W@#j$x+J^4PFu0UX}1|SegKIQRYXpS7Ap$)M{P3_"
        b"*$^@p+2>U@bJ)42DENxPSYrmKqdTG&5k@gM04vPAY^<zS;a?*WwVT%)&MH}S*^s=tB)ibCvBr%GHS9)v;8@eai{Y!juqd&~9o7d?"
        b"Qhu-rk*7vfR8JQmZP#<_0eEz753I6FP{E}we=+%!1t)=hv+21tH7dc?Hz<><-?rQURJ%%}lxYmK#(VjJ1s{3vn=MZ78ill6BH>m_"
        b"Qp`v$G|6{HEBImrfBDVkwzO5PBEOo_4s7|&1lMy)*y}xgc0U=Y^NHV4c5j4aF(&pHagN~#4-rS$(j^Q-#3w3fA$D~l_n4Hzxr&Z3"
        b"qiRhRwT8UY$>%v9ufk!B9i>BhoiyLVqf<J0Kw<l^t&zHkc79Za;b}_JPFs&Lj8%WcGr)&=F|oL-L630pRnxGeQC;=kEe#o6^|*k1"
        b"0FFQIPu`pl-);@Y<E{Q=ayIv8!^!mJ*=zsq{`SuHu3M-3m@N2A_xPB8_5Vr%njQ"
    ),
}


@pytest.mark.parametrize("name", FOUND_IN_TABLES)
def test_a_table_that_the_fuzzer_found_is_read_or_refused(tmp_path: Path, name: str) -> None:
    assert read_table(tmp_path, FOUND_IN_TABLES[name]) in ("read", "refused", "read, not appended to")


def test_mutated_tables_are_read_or_refused(tmp_path: Path) -> None:
    outcomes = fuzz(table_corpus(), lambda data: read_table(tmp_path, data), 0.0, least=150)
    assert len(outcomes) >= 2


@pytest.mark.slow
def test_many_mutated_tables_are_read_or_refused(tmp_path: Path) -> None:
    outcomes = fuzz(table_corpus(), lambda data: read_table(tmp_path, data), SECONDS, keep="tables")
    print(f"tables: {sum(outcomes.values())} inputs: {outcomes}")
    assert min(outcomes["read"], outcomes["refused"]) > 30


# ------------------------------------------------------------------------------------------------- models


@pytest.fixture(scope="module")
def model_corpus(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("models")
    data = folder / "data.csv"
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{'uv'[i % 2]},{np.sin(a):.4f}" for i, a in enumerate(rng.standard_normal(24))]
    data.write_text("\n".join(["a,c,y", *lines]) + "\n")
    corpus = []
    for variant in ("approximate", "kernel"):
        succeed("fit", data, "-t", "y", "--variant", variant, "--no-tune", "-o", folder / "m.joblib")
        corpus.append((folder / "m.joblib").read_bytes())
    return corpus


def answer(path: Path) -> tuple[float, ...]:
    model = Model.from_document(artifact.load(str(path), limit=1 << 26))
    return tuple(model.predict(np.array([np.zeros(2), np.ones(2)])[:, : len(model.encoding.columns)]).tolist())


def model_reader(folder: Path, corpus: list[bytes]) -> Callable[[bytes], str]:
    """What is read predicts exactly what one of the whole models predicts: a flipped bit is never a little error."""
    path, known = folder / "model.joblib", set()
    for data in corpus:
        path.write_bytes(data)
        known.add(answer(path))

    def read(data: bytes) -> str:
        path.write_bytes(data)
        try:
            found = answer(path)
        except ModelFileError as problem:
            return refused(problem)
        assert found in known
        return "read"

    return read


def read_document(folder: Path, data: bytes) -> str:
    """Past the checksums, which refuse nearly everything: the bytes decide what a document holds."""
    original = artifact.load(str(folder / "whole.joblib"))
    random_ = random.Random(data)
    document = _scrambled(original, random_, 0.02)
    try:
        model = Model.from_document(document)
    except ModelFileError:
        return "refused"
    try:
        assert np.isfinite(model.predict(np.zeros((2, len(model.encoding.columns))))).all()
    except UserError:
        return "refused at predict"
    return "read"


def _scrambled(value: object, random_: random.Random, share: float) -> object:
    """Some of a document's values exchanged for others."""
    if random_.random() < share:
        return random_.choice(
            (None, True, -1, 0, 7, 2**70, 1e308, -1e308, 5e-324, float("nan"), float("inf"), "", "x", [], {}, [[]],
             np.zeros(0), np.ones(3), np.ones((2, 2)), np.full((24, 3), 1e200), np.arange(4), np.array(True))
        )  # fmt: skip
    if isinstance(value, dict):
        items = [(key, _scrambled(item, random_, share)) for key, item in value.items()]
        return dict(item for item in items if random_.random() >= share / 4)
    if isinstance(value, list):
        return [_scrambled(item, random_, share) for item in value]
    if isinstance(value, np.ndarray) and value.size and random_.random() < share:
        changed = value.copy()
        changed.flat[random_.randrange(value.size)] = random_.choice((0, -1, 10**6))
        return changed
    return value


def test_mutated_models_are_read_or_refused(tmp_path: Path, model_corpus: list[bytes]) -> None:
    outcomes = fuzz(model_corpus, model_reader(tmp_path, model_corpus), 0.0, least=400)
    assert outcomes["refused"] > 10


def test_scrambled_documents_are_read_or_refused(tmp_path: Path, model_corpus: list[bytes]) -> None:
    (tmp_path / "whole.joblib").write_bytes(model_corpus[-1])
    outcomes = fuzz(model_corpus, lambda data: read_document(tmp_path, data), 0.0, least=100)
    assert len(outcomes) >= 2


@pytest.mark.slow
def test_many_mutated_models_are_read_or_refused(tmp_path: Path, model_corpus: list[bytes]) -> None:
    outcomes = fuzz(model_corpus, model_reader(tmp_path, model_corpus), SECONDS)
    print(f"models: {sum(outcomes.values())} inputs: {outcomes}")
    assert outcomes["refused"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1], ids=["hidden layer", "kernel"])
def test_many_scrambled_documents_are_read_or_refused(tmp_path: Path, model_corpus: list[bytes], which: int) -> None:
    (tmp_path / "whole.joblib").write_bytes(model_corpus[which])
    outcomes = fuzz(model_corpus, lambda data: read_document(tmp_path, data), SECONDS / 2, least=1000)
    print(f"documents: {sum(outcomes.values())} inputs: {outcomes}")
    assert min(outcomes["read"], outcomes["refused"]) > 10


def test_only_an_input_that_reaches_new_lines_is_worth_keeping(tmp_path: Path) -> None:
    coverage, path = Coverage(), tmp_path / "model.joblib"

    def load(data: bytes) -> None:
        path.write_bytes(data)
        with pytest.raises(ModelFileError):
            artifact.load(str(path))

    more = [coverage.reaches_more(lambda data=data: load(data))[1] for data in (b"", b"", b"PK", b"PK")]
    assert more == [True, False, True, False]
