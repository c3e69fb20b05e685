"""What the user asked for, checked once. The library sees these, never command-line options.

Each field says its default, range and help text; the command line makes its options of them (fields.py tells how).
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.fields import (
    DATA,
    MAX_THREADS,
    RUNNING,
    Settings,
    argument,
    check,
    choice,
    columns,
    flag,
    options,
    real,
    size,
    text,
    texts,
    whole,
)
from enrelm_cli.method_settings import ALL_ROWS, ElmSettings, InputSettings, KernelSettings, MethodSettings
from enrelm_cli.names import close_names, in_full, is_pattern, listed, matching

__all__ = [
    "ALL_ROWS",
    "DataSettings",
    "ElmSettings",
    "EngineSettings",
    "InputSettings",
    "KernelSettings",
    "MethodSettings",
    "ReadOptions",
    "Roles",
    "SplitSettings",
    "close_names",
    "listed",
]

_DELIMITER_WORDS = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}

TASKS = ("auto", "regression", "classification")

# ------------------------------------------------------------------------------------------------------------ tables


@dataclass(frozen=True)
class ReadOptions(Settings):
    """What the user said about the text of a table, and in what portions it is read."""

    delimiter: str | None = text(  # None: by extension, else by header line
        None, "Cell delimiter; tab for a tab. Default: from the file name and header.", DATA, "CHAR"
    )
    decimal: str | None = text(None, "Decimal mark of numbers. Default: a point, or what fits a column.", DATA, "MARK")
    encoding: str | None = text(None, "Text encoding of CSV and JSON files. Default: utf-8.", DATA, "NAME")
    nulls: tuple[str, ...] = texts(
        "Also treat cells with this text as missing (repeatable).", DATA, "TEXT", flags=("--null",)
    )
    only_nulls: tuple[str, ...] = texts(
        "Treat cells with this text as missing, but not NA, null, ?, - and the like (repeatable).",
        DATA,
        "TEXT",
        flags=("--only-null",),
    )
    date_formats: tuple[str, ...] = texts(
        "How a column's dates are written, e.g. when=%d/%m/%Y (repeatable). Default: the one that fits all of them.",
        DATA,
        "COL=FORMAT",
        flags=("--date-format",),
    )
    anonymous: bool = flag(False, "Read s3:// and gs:// without credentials: public buckets.", DATA)
    block_bytes: int = 16 << 20  # about this much text is parsed at once
    batch_rows: int = 16_384  # a batch has at most this many rows: so many a fold's partial meets at once

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            not (self.nulls and self.only_nulls),
            "--null adds a text, --only-null replaces all of them",
            "use one of the two",
        )
        delimiter = self.delimiter
        if delimiter is not None:
            delimiter = _DELIMITER_WORDS.get(delimiter.lower(), delimiter)
            object.__setattr__(self, "delimiter", delimiter)
            check(
                len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n',
                f"--delimiter {self.delimiter!r}: a delimiter is one character",
                "for a tab type --delimiter tab",
            )
        check(self.decimal in (None, ".", ","), f"--decimal {self.decimal!r}: the decimal mark is . or ,")
        check(
            delimiter is None or self.decimal != delimiter,
            f"{delimiter!r} cannot be both delimiter and decimal mark",
            "type --delimiter ';' --decimal ,",
        )
        if self.encoding is not None:
            _check_encoding(self.encoding)


# Python's own, for host names and literals.
_NOT_OF_TABLES = ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape")


def _check_encoding(name: str) -> None:
    hint = "for example utf-8, latin-1, cp1252 or utf-16"
    try:
        codec = codecs.lookup(name)
        # rot13 and base64 are codecs, too, but not of text.
        known = codec._is_text_encoding and codec.name not in _NOT_OF_TABLES
        readable = known and "a,b\n".encode(name).decode(name) == "a,b\n"
    except (LookupError, ValueError):
        raise UsageError(f"--encoding {name!r}: no such encoding", hint) from None
    check(readable, f"--encoding {name}: not a text encoding for tables", hint)


# Roles of which a column can have one.
_CONTRADICTIONS = (
    ("numeric", "categorical"),
    ("inputs", "drop"),
    ("target", "drop"),
    ("target", "inputs"),
    ("target", "categorical"),
    ("target", "weight"),
    ("inputs", "weight"),
    ("drop", "weight"),
    ("categorical", "weight"),
    ("target", "group"),
    ("target", "time"),
    ("time", "categorical"),
)
# What is said of the target, and names no column.
_OF_TARGET = ("task", "class_weight")
# Roles of any number of columns, in the order in which their patterns are filled in.
_LISTS = ("target", "drop", "group", "categorical", "numeric", "inputs")


@dataclass(frozen=True)
class Roles(Settings):
    """What the user said about the columns. Names may stand for several: "a,b", "tmp_*" (see `resolved`)."""

    target: str | None = texts(  # the first of them; several may be handed over
        "The column to predict (required, except in check); several share a kernel, e.g. a,b (repeatable).",
        DATA,
        "COL",
        flags=("--target", "-t"),
        completion="columns",
    )
    task: str = choice(
        "auto",
        TASKS,
        "regression (numbers) or classification. auto: classification if the target is text or boolean.",
        DATA,
    )
    class_weight: tuple[str, ...] = texts(
        "Weight of the rows of a class: balanced (all classes equal), or CLASS=WEIGHT (repeatable).",
        DATA,
        "WEIGHT",
        flags=("--class-weight",),
    )
    inputs: tuple[str, ...] = columns(
        "Use only these columns as inputs, e.g. a,b or x_* (repeatable)."
    )  # empty: all without another role
    numeric: tuple[str, ...] = columns("Require these columns to be numeric (repeatable).")
    categorical: tuple[str, ...] = columns("Treat these columns as categorical even if they are numeric (repeatable).")
    drop: tuple[str, ...] = columns("Ignore these columns, e.g. a,b or tmp_* (repeatable).")
    group: tuple[str, ...] = columns("Rows with equal cells here are held out together (repeatable); not an input.")
    time: str | None = text(
        None, "Validate or test on the latest rows by this column; still an input.", DATA, "COL", completion="columns"
    )
    weight: str | None = text(
        None,
        "Column of row weights: 2 counts as two equal rows, 0 leaves the row out; not an input.",
        DATA,
        "COL",
        completion="columns",
    )
    keep: tuple[str, ...] = ()  # identifiers, handed through
    also: tuple[str, ...] = ()  # the targets after the first

    def __post_init__(self) -> None:
        super().__post_init__()
        typed: Any = self.target
        if isinstance(typed, (tuple, list)):
            object.__setattr__(self, "target", next(iter(typed), None))
            object.__setattr__(self, "also", (*typed[1:], *self.also))

    @property
    def targets(self) -> tuple[str, ...]:
        """All columns to predict, in the user's order."""
        return () if self.target is None else (self.target, *self.also)

    def used(self, names: Sequence[str]) -> tuple[str, ...]:
        """The input columns among `names`, sorted: the order of the columns in a file means nothing."""
        # A group's own number says nothing of the next group.
        apart = {*self.targets, self.weight, *self.drop, *self.keep, *({*self.group} - {*self.inputs})}
        return tuple(sorted({name for name in (self.inputs or names) if name not in apart}))

    def read(self, names: Sequence[str]) -> list[str]:
        """All columns that have to be read, sorted."""
        weight = () if self.weight is None else (self.weight,)
        return sorted({*self.used(names), *self.keep, *self.targets, *weight, *self.split_by})

    @property
    def split_by(self) -> tuple[str, ...]:
        """Columns that say how rows are split."""
        return self.group if self.time is None else (*self.group, self.time)

    def resolved(self, names: Sequence[str]) -> Roles:
        """The same for a table with these names: lists and patterns are filled in.

        A pattern takes no column that another option names for something that contradicts it: `--inputs '*' --drop a`.
        """
        named = {role: self._named(role) for role in self._flags()}
        for role in _LISTS:
            named[role] = tuple(one for text in named[role] for one in in_full(text, names))
        for role in _LISTS:
            others = {other for pair in _CONTRADICTIONS if role in pair for other in pair} - {role}
            others |= {"group"} if role == "inputs" else set()
            apart = [name for other in others for name in named[other] if not is_pattern(name, names)]
            named[role] = tuple(dict.fromkeys(matching(named[role], names, apart)))
        filled: dict[str, Any] = {role: named[role] for role in _LISTS}
        return replace(self, **filled, also=())

    def check(self, names: Sequence[str], label: str) -> None:
        """Every column that was named exists, and no two roles contradict each other."""
        for _, _, problem in self.unknown(names, label):
            raise problem
        self.check_contradictions()

    def unknown(self, names: Sequence[str], label: str) -> Iterator[tuple[str, str, DataError]]:
        """(role, column, error) of every column that was named and is not there."""
        for role, option in self._flags().items():
            for name in self._named(role):
                if name not in names:
                    missing = (
                        f"no column matches {name!r}" if is_pattern(name, names) else f"there is no column {name!r}"
                    )
                    problem = f"{label}: {missing} ({option})"
                    yield role, name, DataError(problem, close_names(name, names))

    def check_contradictions(self) -> None:
        """No column has two roles of which it can have one."""
        flags = self._flags()
        named = {role: self._named(role) for role in flags}
        for first, second in _CONTRADICTIONS:
            clash = {*named[first]} & {*named[second]}
            if clash:
                raise UsageError(f"column {min(clash)!r} is named in both {flags[first]} and {flags[second]}")
        if self.group and self.time is not None:
            raise UsageError(
                "--group holds out whole groups, --time the latest rows: they cannot be combined",
                "use one of the two",
            )

    @staticmethod
    def _flags() -> dict[str, str]:
        of_columns = {name: option.flag for name, option in options(Roles).items() if name not in _OF_TARGET}
        return {**of_columns, "keep": "--id"}

    def _named(self, role: str) -> tuple[str, ...]:
        value = self.targets if role == "target" else getattr(self, role)
        if value is None or isinstance(value, str):
            return () if value is None else (value,)
        return tuple(value)


@dataclass(frozen=True)
class DataSettings(Settings):
    """Which files, read how, and what their columns are."""

    sources: tuple[str, ...] = argument(
        "data",
        "CSV, TSV, JSON lines (also .gz, .bz2, .zst), Parquet or Arrow; paths, quoted globs, s3://, gs://, "
        "https://, or - for stdin.",
        "DATA...",
        repeatable=True,
    )
    roles: Roles = field(default_factory=Roles)
    read: ReadOptions = field(default_factory=ReadOptions)
    missing: str = choice(
        "fill",
        ("fill", "drop", "error"),
        "Missing input cells: fill them, drop their rows, or stop with an error.",
        DATA,
        metavar="HOW",
    )
    validation: tuple[str, ...] = texts(
        "Validate on the rows of this file instead of part of DATA (repeatable).", DATA, "FILE", only=("fit", "curve")
    )
    test: tuple[str, ...] = texts(
        "Test once, on the rows of this file instead of part of DATA (repeatable).", DATA, "FILE", only=("compare",)
    )
    frame: Any = None  # a table in memory (table/memory.py) instead of files

    def __post_init__(self) -> None:
        super().__post_init__()
        for flag_, files in (("--validation", self.validation), ("--test", self.test)):
            check(
                not files or self.roles.time is None,
                f"{flag_} says which rows are held out, and so does --time",
                "use one of the two",
            )

    @property
    def tables(self) -> tuple[Any, ...]:
        """Files, or the table in memory."""
        return self.sources if self.frame is None else (self.frame,)

    @property
    def held(self) -> tuple[str, ...]:
        """Files whose rows the user holds out."""
        return self.validation or self.test


@dataclass(frozen=True)
class SplitSettings(Settings):
    """Which rows choose the number of neurons."""

    kind: str = choice(
        "hash",
        ("hash", "shuffle"),
        "Split rows by a hash of their inputs, or by shuffle, the paper's permutation.",
        DATA,
        metavar="HOW",
        flags=("--split",),
    )
    validation_size: float = real(
        0.25, "Fraction of rows held out to choose the number of neurons.", DATA, above=0.0, below=1.0
    )
    folds: int | None = whole(  # None: by the number of rows
        None,
        "Number of validation folds: auto (5 below 1,000 rows, else 1), or a number; 1 is one validation split.",
        DATA,
        at_least=1,
        at_most=1000,
        words={"auto": None},
        metavar="K",
        only=("fit", "curve"),
        hint="write --folds auto, 5, or 1 for one validation split",
    )
    seed: int = whole(1234, "Seed of the split.", DATA, at_most=2**32 - 1)


# ----------------------------------------------------------------------------------------------------------- running


@dataclass(frozen=True)
class EngineSettings(Settings):
    """Where the fold runs."""

    engine: str = choice(
        "local", ("local", "dask"), "local: threads in this process; dask: a cluster (extra dask).", RUNNING
    )
    threads: int = whole(0, "Number of threads; 0 uses every core.", RUNNING, at_most=MAX_THREADS)
    memory: int | None = size(  # bytes; None: what is free
        None,
        "Memory limit, e.g. 2G; larger tables are read from disk in each pass. Default: half of the free memory.",
        RUNNING,
    )
    scheduler: str | None = text(None, "Address of a Dask scheduler, e.g. tcp://host:8786.", RUNNING, "ADDRESS")

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            self.scheduler is None or self.engine == "dask",
            "--scheduler needs --engine dask",
            "add --engine dask, or leave --scheduler out",
        )
