"""Files that are not on this machine: objects in S3 and Google Cloud Storage, and public https:// files.

Credentials come from where every tool for these stores looks for them (environment variables, profiles, the machine's
own role), never from an option or an address: those end up in shell histories, logs and model files.
"""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from enrelm_cli.errors import DataError, UsageError, UserError
from enrelm_cli.sizes import human_bytes, parse_size

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_STORES = ("s3", "gs")
_PART = 8 << 20
# Seconds: for a connection, for an answer, and for a whole download.
_CONNECT, _ANSWER, _DOWNLOAD = 10, 60, 3600
_DEFAULT_LIMIT = 10 << 30
_MAGIC = "*?["


@dataclass(frozen=True)
class Address:
    """Where a remote file is. Its query may hold a signature, so no message shows it."""

    scheme: str
    host: str  # the bucket of an object
    path: str  # without the leading slash
    query: str = field(default="", repr=False)
    anonymous: bool = False

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


def address_of(text: str, anonymous: bool = False) -> Address:
    parts = _split(text)
    if parts.scheme not in (*_STORES, "https", "http"):
        raise UsageError(
            f"{parts.scheme}:// is not an address that can be read", "use a path, s3://, gs:// or https://"
        )
    if parts.username or parts.password or "@" in parts.netloc:
        raise UsageError(f"{_without_secrets(parts)}: an address must not hold credentials", _CREDENTIALS[parts.scheme])
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise UsageError(f"{_without_secrets(parts)}: an unencrypted address", "use https://, or download it first")
    if not parts.netloc or not parts.path.strip("/"):
        raise UsageError(f"{_without_secrets(parts)}: names no file", f"for example {parts.scheme}://bucket/table.csv")
    if parts.scheme in _STORES:
        # In a key ? and # are letters like others.
        key = text.split("://", 1)[1].split("/", 1)[1]
        return Address(parts.scheme, parts.netloc, key, "", anonymous)
    return Address(parts.scheme, parts.netloc, parts.path.lstrip("/"), parts.query)


_CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to the path of a key file",
    "https": "only public files can be read by https://",
    "http": "only public files can be read by http://",
}


def _split(url: str) -> SplitResult:
    from urllib.parse import urlsplit

    return urlsplit(url)


def without_signature(text: str) -> str:
    """An https address without its query, which may be a signature; any other text as it is."""
    if not text.startswith(("https://", "http://")):
        return text
    parts = _split(text)
    return _without_secrets(parts) + ("?..." if parts.query else "")


def _without_secrets(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


# ------------------------------------------------------------------------------------------------ object stores


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
        region = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(region=region, **options)


def _s3_endpoint() -> dict[str, Any]:
    """AWS_ENDPOINT_URL, which pyarrow does not read."""
    url = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if not url:
        return {}
    parts = _split(url if "://" in url else f"https://{url}")
    return {"endpoint_override": parts.netloc + parts.path.rstrip("/"), "scheme": parts.scheme}


def _gcs_endpoint() -> dict[str, Any]:
    url = os.environ.get("STORAGE_EMULATOR_HOST")
    if not url:
        return {}
    parts = _split(url if "://" in url else f"http://{url}")
    return {"endpoint_override": parts.netloc, "scheme": parts.scheme}


@contextmanager
def _told(address: Address, doing: str, kind: type[UserError] = DataError) -> Iterator[None]:
    """A store's failure as one message."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{address.label}: no such object", "check the bucket and the key") from error
    except OSError as error:
        raise kind(f"{address.label}: cannot be {doing} ({_reason(error)})", _hint(address, str(error))) from error


def _reason(error: OSError) -> str:
    """The heart of a client's long sentence, which may quote what was sent."""
    text = str(error)
    for mark in ("AWS Error ", "Error "):
        if mark in text:
            return mark + text.split(mark, 1)[1].split(" during ", 1)[0].split(":", 1)[0]
    return (error.strerror or text).split("\n", 1)[0][:120]


def _hint(address: Address, text: str) -> str:
    if "ACCESS_DENIED" in text or "403" in text or "redentials" in text:
        return f"{_CREDENTIALS[address.scheme]}; for a public bucket add --anonymous"
    return "check the address, the network and AWS_ENDPOINT_URL" if address.scheme == "s3" else "check the network"


def seen(address: Address) -> Seen:
    """Size and time of change of an object."""
    from pyarrow.fs import FileType

    with _told(address, "read"):
        info = _store(address.scheme, address.anonymous, address.host).get_file_info(address.key)
        if info.type == FileType.NotFound:
            raise FileNotFoundError
    if info.type == FileType.Directory:
        raise DataError(f"{address.label}: this is a folder", f"name its files: '{address.label.rstrip('/')}/*.csv'")
    return Seen(int(info.size), int(info.mtime_ns or 0))


def matching(address: Address) -> list[Address]:
    """The objects that a pattern names, sorted; the address itself where it is none."""
    if not any(letter in address.path for letter in _MAGIC) or not address.is_object:
        return [address]
    from pyarrow.fs import FileSelector, FileType

    fixed = address.path.split("/")[:-1]
    depth = next((i for i, part in enumerate(fixed) if any(letter in part for letter in _MAGIC)), len(fixed))
    folder = "/".join([address.host, *fixed[:depth]])
    with _told(address, "listed"):
        store = _store(address.scheme, address.anonymous, address.host)
        infos = store.get_file_info(FileSelector(folder, recursive=depth < len(fixed), allow_not_found=True))
    keys = [info.path.split("/", 1)[1] for info in infos if info.type == FileType.File]
    found = sorted(key for key in keys if _matches(key, address.path))
    return [Address(address.scheme, address.host, key, "", address.anonymous) for key in found]


def _matches(key: str, pattern: str) -> bool:
    """A star stays within its folder, as in a shell."""
    names, patterns = key.split("/"), pattern.split("/")
    return len(names) == len(patterns) and all(map(fnmatch.fnmatchcase, names, patterns))


def open_object(address: Address) -> BinaryIO:
    """Any byte range of an object can be read; what goes wrong on the way is a data error."""
    with _told(address, "read"):
        raw = _store(address.scheme, address.anonymous, address.host).open_input_file(address.key)
    return _Object(raw, address)  # type: ignore[return-value]


class _Object:
    """An object's bytes."""

    def __init__(self, raw: Any, address: Address) -> None:
        self._raw = raw
        self._address = address

    def read(self, size: int = -1, /) -> bytes:
        with _told(self._address, "read to its end"):
            return self._raw.read(None if size < 0 else size)  # type: ignore[no-any-return]

    def __enter__(self) -> _Object:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


def fetch(address: Address, limit: int | None = None) -> BinaryIO:
    """All of a remote file, as a local one without a name. The caller closes it."""
    import tempfile

    source: Any = open_object(address) if address.is_object else Download(address)
    file = tempfile.TemporaryFile(prefix="enrelm-")  # noqa: SIM115
    try:
        while part := source.read(_PART):
            file.write(part)
            if limit is not None and file.tell() > limit:
                raise DataError(f"{address.label}: larger than {human_bytes(limit)}", "download it first")
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def upload(path: str, address: Address) -> None:
    """A whole local file as an object: a store shows it when its last byte is there, or not at all."""
    with _told(address, "written", UsageError), open(path, "rb") as file:
        store = _store(address.scheme, address.anonymous, address.host)
        # As it is: pyarrow would compress what is called .gz once more.
        with store.open_output_stream(address.key, compression=None) as stream:
            while part := file.read(_PART):
                stream.write(part)


# ------------------------------------------------------------------------------------------------ https


class Download:
    """A public file as it arrives, within limits of size and time."""

    def __init__(self, address: Address) -> None:
        from urllib.error import HTTPError, URLError
        from urllib.request import Request, urlopen

        self._label = address.label
        self._limit = _download_limit()
        self._until = time.monotonic() + _DOWNLOAD
        self._got = 0
        url = address.label + (f"?{address.query}" if address.query else "")
        try:
            self._answer = urlopen(Request(url, headers={"User-Agent": "enrelm"}), timeout=_ANSWER)
        except (URLError, OSError, ValueError) as error:
            if isinstance(error, HTTPError):
                error.close()  # it is the answer, too
            raise DataError(f"{self._label}: cannot be read ({_why(error)})", "check the address") from error
        length = self._answer.headers.get("Content-Length") or ""
        self.size = int(length) if length.isdigit() else None
        with self._closing_on_failure():
            self._check(self.size or 0)

    def read(self, size: int = -1, /) -> bytes:
        with self._closing_on_failure():
            return self._read(size)

    @contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._answer.close()
            raise

    def _read(self, size: int) -> bytes:
        from http.client import HTTPException

        try:
            part: bytes = self._answer.read(size if size >= 0 else None)
        except (OSError, HTTPException) as error:
            raise DataError(f"{self._label}: the download broke off ({_why(error)})", "try again") from error
        self._got += len(part)
        self._check(self._got)
        if not part and self.size is not None and self._got < self.size:
            raise DataError(f"{self._label}: the download broke off after {human_bytes(self._got)}", "try again")
        return part

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise DataError(
                f"{self._label}: larger than {human_bytes(self._limit)}",
                "download it first, or allow more with ENRELM_DOWNLOAD_LIMIT=50G",
            )
        if time.monotonic() > self._until:
            raise DataError(f"{self._label}: not complete after {_DOWNLOAD // 60} minutes", "download it first")


def _download_limit() -> int:
    given = os.environ.get("ENRELM_DOWNLOAD_LIMIT")
    try:
        return parse_size(given) if given else _DEFAULT_LIMIT
    except ValueError as problem:
        raise UsageError(f"ENRELM_DOWNLOAD_LIMIT={given} {problem}", "for example ENRELM_DOWNLOAD_LIMIT=50G") from None


def _why(error: BaseException) -> str:
    code = getattr(error, "code", None)
    reason = str(getattr(error, "reason", "") or error or type(error).__name__)
    return f"{code} {reason}" if code else reason.split("\n", 1)[0][:120]
