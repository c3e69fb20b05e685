"""Files that are not on this machine: their addresses, and objects in S3 and Google Cloud Storage.

Credentials come from where every tool for these stores looks for them (environment variables, profiles, the machine's
own role), never from an option or an address: those end up in shell histories, logs and model files.
"""

from __future__ import annotations

import fnmatch
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from enrelm_cli.errors import DataError, UsageError, UserError
from enrelm_cli.quoting import quoted
from enrelm_cli.redaction import without_credentials
from enrelm_cli.sizes import human_bytes

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_STORES = ("s3", "gs")
_PART = 8 << 20
_LARGEST_COPY = 5 << 30  # that S3 makes in one step
_CONNECT, _ANSWER = 10, 60  # seconds
_MAGIC = "*?["
_TO_ITS_END = "read to its end"
_DENIED = re.compile(r"ACCESS_DENIED|PERMISSION_DENIED|\b403\b")


@dataclass(frozen=True)
class Address:
    """Where a remote file is. Its query may hold a signature, so no message shows it."""

    scheme: str
    host: str  # the bucket of an object
    path: str  # without the leading slash
    query: str = field(default="", repr=False)
    anonymous: bool | None = None  # read without credentials; None: the command has no option to say so

    @property
    def label(self) -> str:
        return f"{self.scheme}://{self.host}/{self.path}"

    @property
    def is_object(self) -> bool:
        return self.scheme in _STORES

    @property
    def key(self) -> str:
        """As the file system names it."""
        return f"{self.host}/{self.path}"


@dataclass(frozen=True)
class Seen:
    """What tells one state of an object from another."""

    size: int
    changed: int  # nanoseconds


def is_remote(path: str) -> bool:
    return "://" in path


def address_of(text: str, anonymous: bool | None = None) -> Address:
    parts = _split(text)
    if parts.scheme not in (*_STORES, "https", "http"):
        instead = _INSTEAD.get(parts.scheme, "use a path, s3://, gs:// or https://")
        raise UsageError(f"{parts.scheme}:// is not an address that can be read", instead)
    if "@" in parts.netloc or without_credentials(text) != text:
        raise UsageError(f"{_without_secrets(parts)}: an address must not hold credentials", _CREDENTIALS[parts.scheme])
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise UsageError(f"{_without_secrets(parts)}: an unencrypted address", "use https://, or download it first")
    if not parts.netloc or not parts.path.strip("/"):
        raise UsageError(f"{_without_secrets(parts)}: names no file", f"for example {parts.scheme}://bucket/table.csv")
    if parts.scheme in _STORES:
        # In a key ? and # are letters like others.
        key = text.split("://", 1)[1].split("/", 1)[1]
        return _checked(Address(parts.scheme, parts.netloc, key, "", anonymous))
    if any(letter.isspace() for letter in text.partition("?")[2]):
        raise UsageError(f"{_without_secrets(parts)}: an address has no blanks in its query", "write a blank as %20")
    return Address(parts.scheme, parts.netloc, parts.path.lstrip("/"), parts.query)


def _checked(address: Address) -> Address:
    """What no client of a store takes."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", address.host):
        raise UsageError(f"{address.label}: {address.host} cannot be the name of a bucket", "check the address")
    if "//" in f"/{address.path}":
        raise UsageError(f"{address.label}: a key with nothing between two slashes", "use a key without //")
    return address


_INSTEAD = {
    "s3a": "write s3:// instead of s3a://",
    "s3n": "write s3:// instead of s3n://",
    "gcs": "write gs:// instead of gcs://",
    "file": "give the path alone, without file://",
}
_CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to the path of a key file",
    "https": "only public files can be read by https://",
    "http": "only public files can be read by http://",
}


def _split(url: str, called: str | None = None) -> SplitResult:
    """Its parts. `called`: the address in messages, where its own text, which may hold a secret, is not shown."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        _ = parts.port  # which is looked at only now
    except ValueError:
        called = called or f"{url.split('://', 1)[0]}://..."
        raise UsageError(
            f"{called}: the host or the port in this address is malformed", "for example http://localhost:9000/t.csv"
        ) from None
    return parts


def _without_secrets(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


# ------------------------------------------------------------------------------------------------ object stores


def _store_of(address: Address) -> Any:
    return _store(address.scheme, bool(address.anonymous), address.host)


@cache
def _store(scheme: str, anonymous: bool, bucket: str) -> Any:
    # Not at the top: it loads the clients of every cloud.
    import pyarrow.fs as fs

    if scheme == "gs":
        from datetime import timedelta

        endpoint = _gcs_endpoint()
        # An emulator asks for no credentials, and there may be none to find.
        anonymous = anonymous or bool(endpoint)
        return fs.GcsFileSystem(anonymous=anonymous, retry_time_limit=timedelta(seconds=_ANSWER), **endpoint)
    options: dict[str, Any] = {
        "anonymous": anonymous,
        "connect_timeout": _CONNECT,
        "request_timeout": _ANSWER,
        "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=3),
        **_s3_endpoint(),
    }
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is None and "endpoint_override" not in options:
        region = _region(bucket)
    return fs.S3FileSystem(region=region, **options)


def _region(bucket: str) -> str:
    from pyarrow.fs import resolve_s3_region

    try:
        return str(resolve_s3_region(bucket))
    except OSError as error:
        raise FileNotFoundError(bucket) if "not found" in str(error) else error from None


def _s3_endpoint() -> dict[str, Any]:
    parts = _server("https", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    return {"endpoint_override": parts.netloc + parts.path.rstrip("/"), "scheme": parts.scheme} if parts else {}


def _gcs_endpoint() -> dict[str, Any]:
    parts = _server("http", "STORAGE_EMULATOR_HOST")
    return {"endpoint_override": parts.netloc, "scheme": parts.scheme} if parts else {}


def _server(scheme: str, *names: str) -> SplitResult | None:
    """What the first of these environment variables that is set names; pyarrow does not read them."""
    name = next((one for one in names if os.environ.get(one)), None)
    if name is None:
        return None
    url = os.environ[name]
    parts = _split(url if "://" in url else f"{scheme}://{url}", name)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{name} is not the address of a server", f"for example {name}=http://localhost:9000")
    return parts


@contextmanager
def _told(address: Address, doing: str, kind: type[UserError] = DataError) -> Iterator[None]:
    """A store's failure as one message."""
    try:
        yield
    except FileNotFoundError as error:
        raise _absent(address, kind) from error
    except (OSError, ValueError) as error:  # Arrow's own, too
        problem = f"{address.label}: cannot be {doing} ({_reason(error)})"
        raise kind(problem, _hint(address, str(error), doing)) from error


def _absent(address: Address, kind: type[UserError]) -> UserError:
    with suppress(OSError):  # of the second question: the answer to the first is known
        if _bucket_is_missing(address):
            return kind(f"{address.label}: there is no bucket {address.host}", "check its name, or create it first")
    return kind(f"{address.label}: no such object", "check the bucket and the key")


def _bucket_is_missing(address: Address) -> bool:
    """As far as one may ask: who may not list a bucket may still read and write its objects."""
    from pyarrow.fs import FileType

    try:
        return bool(_store_of(address).get_file_info(address.host).type == FileType.NotFound)
    except FileNotFoundError:
        return True
    except OSError as error:
        if _DENIED.search(str(error)):
            return False
        raise


def _reason(error: Exception) -> str:
    """The heart of a client's long sentence, which may quote what was sent."""
    text = str(error)
    for mark in ("AWS Error ", "Error "):
        if mark in text:
            return mark + text.split(mark, 1)[1].split(" during ", 1)[0].split(":", 1)[0]
    return (getattr(error, "strerror", None) or text).split("\n", 1)[0][:120]


def _hint(address: Address, text: str, doing: str) -> str:
    if not _DENIED.search(text) and "redentials" not in text:
        if doing == _TO_ITS_END:
            return "the connection or the store failed: try again"
        return "check the address, the network and AWS_ENDPOINT_URL" if address.scheme == "s3" else "check the network"
    credentials = _CREDENTIALS[address.scheme]
    if doing == "written":
        return f"{credentials}; writing takes the permissions to put, get and delete objects"
    if address.anonymous is None:
        return f"{credentials}; a public object can be read at its https:// address"
    if address.anonymous:
        return f"leave out --anonymous; {credentials}"
    return f"{credentials}; for a public bucket add --anonymous"


def seen(address: Address) -> Seen:
    """Size and time of change of an object."""
    from pyarrow.fs import FileType

    with _told(address, "read"):
        info = _store_of(address).get_file_info(address.key)
        if info.type == FileType.NotFound:
            raise FileNotFoundError
    if info.type == FileType.Directory:
        files = quoted(f"{address.label.rstrip('/')}/*.csv")
        raise DataError(f"{address.label}: this is a folder", f"name its files: {files}")
    return Seen(int(info.size), int(info.mtime_ns or 0))


def matching(address: Address) -> list[Address]:
    """The objects that a pattern names, sorted; the address itself where it is none, or a key that is there."""
    if not _is_magic(address.path) or not address.is_object:
        return [address]
    from pyarrow.fs import FileSelector, FileType

    *folders, last = address.path.split("/")
    depth = next((place for place, part in enumerate(folders) if _is_magic(part)), len(folders))
    folder, deep = "/".join([address.host, *folders[:depth]]), depth < len(folders) or last == "**"
    with _told(address, "listed"):
        infos = _store_of(address).get_file_info(FileSelector(folder, recursive=deep, allow_not_found=True))
        if not infos and _bucket_is_missing(address):
            raise FileNotFoundError
    keys = [info.path.split("/", 1)[1] for info in infos if info.type == FileType.File]
    if address.path in keys:
        return [address]
    found = sorted(key for key in keys if _matches(key.split("/"), address.path.split("/")))
    return [replace(address, path=key) for key in found]


def _is_magic(text: str) -> bool:
    return any(letter in text for letter in _MAGIC)


def covers(pattern: Address, one: Address) -> bool:
    """Whether this object is among those that a pattern names."""
    same = pattern.is_object and (pattern.scheme, pattern.host) == (one.scheme, one.host)
    return same and _matches(one.path.split("/"), pattern.path.split("/"))


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """As glob does on a disk: a star stays within its folder, ** is any folders or none, neither is a hidden name."""
    if not names or not patterns:
        return not names and all(pattern == "**" for pattern in patterns)
    hidden = names[0].startswith(".") and not patterns[0].startswith(".")
    if patterns[0] == "**":
        return _matches(names, patterns[1:]) or (not hidden and _matches(names[1:], patterns))
    return not hidden and fnmatch.fnmatchcase(names[0], patterns[0]) and _matches(names[1:], patterns[1:])


def open_object(address: Address) -> BinaryIO:
    """Any byte range of an object can be read; what goes wrong on the way is a data error."""
    with _told(address, "read"):
        raw = _store_of(address).open_input_file(address.key)
    return _Object(raw, address)  # type: ignore[return-value]


class _Object:
    """An object's bytes."""

    def __init__(self, raw: Any, address: Address) -> None:
        self._raw = raw
        self._address = address

    def read(self, size: int = -1, /) -> bytes:
        with _told(self._address, _TO_ITS_END):
            return self._raw.read(None if size < 0 else size)  # type: ignore[no-any-return]

    def read_buffer(self, size: int = -1, /) -> Any:
        """What Arrow calls instead, if it is there."""
        with _told(self._address, _TO_ITS_END):
            return self._raw.read_buffer(None if size < 0 else size)

    def __enter__(self) -> _Object:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


def check_bucket(address: Address) -> None:
    """Before hours of work: whether there is a place for what they make."""
    if address.path.endswith("/"):
        raise UsageError(f"cannot write {address.label}: it is a folder", f"name an object: {address.label}NAME")
    with _told(address, "written", UsageError):
        if _bucket_is_missing(address):
            raise FileNotFoundError


def upload(path: str, address: Address) -> None:
    """A whole local file as an object, or none; what was there before stays until then.

    An upload that an exception or a signal breaks off is completed by pyarrow, which knows no other end, with the bytes
    that are there. So it goes to a hidden key beside its place, and the store copies it from there in one step.
    """
    if address.scheme == "s3" and os.path.getsize(path) > _LARGEST_COPY:
        problem = f"{address.label}: cannot be written (S3 copies at most {human_bytes(_LARGEST_COPY)} in one step)"
        raise UsageError(problem, "use `aws s3 cp`")
    hidden = "/".join([*address.key.split("/")[:-1], f".enrelm-{secrets.token_hex(8)}.tmp"])
    with _told(address, "written", UsageError):
        store = _store_of(address)
        try:
            # As it is: pyarrow would compress what is called .gz once more.
            with open(path, "rb") as file, store.open_output_stream(hidden, compression=None) as stream:
                while part := file.read(_PART):
                    stream.write(part)
            store.copy_file(hidden, address.key)
        finally:
            with suppress(OSError):  # it was never there, or may not be deleted: the object itself is whole
                store.delete_file(hidden)
