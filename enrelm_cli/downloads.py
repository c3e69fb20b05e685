"""Remote files on their way here: public https:// files within limits of size and time, and whole files of a store."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from enrelm_cli.errors import DataError, UsageError
from enrelm_cli.remote import Address, address_of, open_object
from enrelm_cli.sizes import human_bytes, parse_size

if TYPE_CHECKING:
    from http.client import HTTPMessage
    from urllib.request import OpenerDirector, Request

_PART = 8 << 20
_STEP = 1 << 20  # bytes between two looks at the limits
# Seconds: for an answer, and for a whole download.
_ANSWER, _DOWNLOAD = 60, 3600
_DEFAULT_LIMIT = 10 << 30
# What an address may hold as it is; a percent sign begins what is encoded already.
_PLAIN = "%/?:@!$&'()*+,;=~[]"


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


class Download:
    """A public file as it arrives, within limits of size and time."""

    def __init__(self, address: Address) -> None:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        self._label = address.label
        self._limit = _download_limit()
        self._until = time.monotonic() + _DOWNLOAD
        self._got = 0
        asked = Request(_url(address), headers={"User-Agent": "enrelm"})
        try:
            self._answer: Any = _opener(self._label).open(asked, timeout=_ANSWER)
        except (OSError, ValueError, HTTPException) as error:
            if isinstance(error, HTTPError):
                error.close()  # it is the answer, too
            raise DataError(f"{self._label}: cannot be read ({_why(error)})", _remedy(error)) from error
        self.size: int | None = self._answer.length
        with self._closing_on_failure():
            self._check(self.size or 0)

    def read(self, size: int = -1, /) -> bytes:
        """So many bytes, fewer only at the end; all that are left if it is negative."""
        parts = []
        with self._closing_on_failure():
            while size and (part := self._part(min(size, _STEP) if size > 0 else _STEP)):
                parts.append(part)
                size -= len(part)
        return b"".join(parts)

    @contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._answer.close()
            raise

    def _part(self, most: int) -> bytes:
        """What has arrived, without waiting for more: a server may send a byte a minute, or no end of them."""
        from http.client import HTTPException

        if self.size is not None and self._got == self.size:
            self._answer.close()
            return b""
        left = most if self.size is None else self.size - self._got
        try:
            part: bytes = self._answer.read1(min(most, left))
        except (OSError, HTTPException) as error:
            raise DataError(f"{self._label}: the download broke off ({_why(error)})", "try again") from error
        self._got += len(part)
        self._check(self._got)
        if not part and self.size is not None:
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


def _url(address: Address) -> str:
    """As it is sent: spaces and letters that are not ASCII are encoded."""
    from urllib.parse import quote

    path, query = (quote(text, safe=_PLAIN) for text in (address.path, address.query))
    return f"{address.scheme}://{address.host}/{path}" + (f"?{query}" if query else "")


def _opener(label: str) -> OpenerDirector:
    from urllib.parse import urljoin
    from urllib.request import HTTPRedirectHandler, build_opener

    class Checked(HTTPRedirectHandler):
        """A server cannot send us where the user could not."""

        def http_error_302(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage) -> Any:
            try:
                there = address_of(urljoin(req.full_url, headers.get("location", "")))
                if there.scheme not in ("https", req.type):
                    raise UsageError(f"{there.label}: not an https:// address")
            except UsageError as error:
                fp.close()
                raise DataError(f"{label}: it redirects elsewhere ({error.problem})", "download it first") from None
            return super().http_error_302(req, fp, code, msg, headers)

        http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    return build_opener(Checked)


def _download_limit() -> int:
    given = os.environ.get("ENRELM_DOWNLOAD_LIMIT")
    try:
        return parse_size(given) if given else _DEFAULT_LIMIT
    except ValueError as problem:
        raise UsageError(f"ENRELM_DOWNLOAD_LIMIT={given} {problem}", "for example ENRELM_DOWNLOAD_LIMIT=50G") from None


def _why(error: BaseException) -> str:
    from http.client import HTTPException, IncompleteRead

    if isinstance(error, HTTPException) and not isinstance(error, (OSError, IncompleteRead)):
        return "the answer is not HTTP"
    code = getattr(error, "code", None)
    reason = str(getattr(error, "reason", "") or error or type(error).__name__)
    return (f"{code} " if code else "") + reason.split("\n", 1)[0][:120]


def _remedy(error: BaseException) -> str:
    code = int(getattr(error, "code", 0))
    if code in (401, 403):
        return "the address may have expired, or the file is not public: get a new address, or download it first"
    if code == 429 or code >= 500:
        return "this is the server's problem: try again later"
    return "check the address" if code else "check the address and the network"
