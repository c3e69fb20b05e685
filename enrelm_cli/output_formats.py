"""The formats that predictions are written in: by the name of their file, or as the user says."""

from __future__ import annotations

from dataclasses import dataclass

from enrelm_cli.errors import UsageError
from enrelm_cli.quoting import quoted

FORMATS = ("csv", "json", "jsonl", "parquet", "arrow")
_BY_ENDING = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_PACKINGS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"}
_BINARY = ("parquet", "arrow")
# Names of files of predictions end so.
ENDINGS = (*_BY_ENDING, *_PACKINGS)


@dataclass(frozen=True)
class OutputFormat:
    name: str = "csv"  # one of FORMATS
    packing: str | None = None  # gzip, bzip2 or zstd
    tabs: bool = False  # between the cells of CSV, whatever the table has

    @property
    def is_binary(self) -> bool:
        return self.name in _BINARY

    @property
    def is_typed(self) -> bool:
        """Columns that come along keep their types; in CSV their bytes."""
        return self.name != "csv"


CSV = OutputFormat()


def format_of(path: str, asked: str | None = None) -> OutputFormat:
    """The format of a file: of its name, or the one that was asked for where its name says nothing else."""
    plain, packing = _unpacked(path.lower())
    ending = next((one for one in _BY_ENDING if plain.endswith(one)), None)
    named = None if ending is None else _BY_ENDING[ending]
    if asked is not None and named is not None and asked != named:
        raise UsageError(f"-o {path} would hold {asked}, not {named}", f"leave out --format, or try -o out.{asked}")
    name = asked or named or "csv"
    if packing is not None and name in _BINARY:
        why = "are compressed within" if name == "parquet" else "are read in place, which compressed ones are not"
        also = "" if name == "parquet" else ", or Parquet, which is compressed within"
        raise UsageError(f"-o {path}: {name} files {why}", f"try -o {quoted(path[: len(plain)])}{also}")
    return OutputFormat(name, packing, ending == ".tsv")


def _unpacked(path: str) -> tuple[str, str | None]:
    """The name without the ending of a compressed file, and how it is compressed."""
    for ending, packing in _PACKINGS.items():
        if path.endswith(ending):
            return path.removesuffix(ending), packing
    return path, None
