"""A stream as pyarrow writes to it, left open for its owner; and text on its way into a compressed file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, BinaryIO

import pyarrow as pa

# What pyarrow calls the ways to compress a stream.
_CODECS = {"gzip": "gzip", "bzip2": "bz2", "zstd": "zstd"}


class Sink:
    """pyarrow closes what it wrote to, also when it gives up; the stream behind is its owner's to close.

    The first error of the stream is raised again at the end: pyarrow may put it in words of its own.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._failed = False
        self.closed = False

    def write(self, data: Any) -> int:
        if self.closed or self._failed:
            return len(data)  # of a writer that is being given up
        try:
            return self._stream.write(bytes(data))
        except BaseException:
            self._failed = True
            raise

    def flush(self) -> None:
        """The owner does."""

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


@contextmanager
def packed(stream: BinaryIO, packing: str | None) -> Iterator[BinaryIO]:
    """The stream, or one that compresses on the way into it: the same bytes for the same text, without a date."""
    if packing is None:
        yield stream
        return
    with closing(Sink(stream)) as sink:
        packer = pa.CompressedOutputStream(pa.PythonFile(sink, mode="w"), _CODECS[packing])
        try:
            yield packer
        except BaseException:
            sink.close()  # what is left in the packer goes nowhere
            raise
        finally:
            packer.close()
