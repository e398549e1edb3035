"""Lines of text files, plain or compressed: windows of complete lines of a stretch.

A stretch has the lines whose first byte lies in it. Lines end with LF, CR LF or CR; in a window, all end
with LF.
"""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from meshwright.errors import FormatError
from meshwright.files.urls import CountedFile, Decoded, open_input
from meshwright.pipeline.readers.sources import COMPRESSED, Stretch
from meshwright.store.tables import missing_error

LONGEST_LINE = 1 << 18
"""The longest line in bytes; two names of the maximum length fit."""
TOO_LONG = f"line longer than {LONGEST_LINE} bytes"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BYTES_AT_ONCE = 1 << 22
"""The size of a window: if Python must parse one line by line, it is not for long."""


class Window:
    """Consecutive lines: their bytes, each line with its LF, and the place of the first in the stretch."""

    def __init__(self, first: int, data: bytes, places: NDArray[np.int64] | None = None) -> None:
        self.first, self.data = first, data
        if places is not None:
            self.__dict__["places"] = places

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The place of each line in the stretch."""
        return np.arange(self.first, self.first + len(self), dtype=np.int64)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The position of the LF of each line."""
        return np.flatnonzero(np.frombuffer(self.data, np.uint8) == 10)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The position of the first byte of each line."""
        return np.concatenate(([0], self.ends[:-1] + 1))

    def __len__(self) -> int:
        return len(self.ends)

    def line(self, number: int) -> bytes:
        """Return a line, without its LF."""
        return self.data[self.starts[number] : self.ends[number]]

    def lines(self) -> list[bytes]:
        """Return all lines, without their LFs."""
        return self.data.split(b"\n")[:-1]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each line, without its LF."""
        return self.ends - self.starts


def windows(stretch: Stretch) -> Iterator[Window]:
    """Yield the lines of a stretch."""
    first = 0
    with open_text(stretch.path) as file:
        compressed = stretch.path.lower().endswith(COMPRESSED)
        raw = _read_all(file) if compressed else _read_range(file, stretch.begin, stretch.end)
        for data in _complete_lines(raw):
            text = data
            if first == 0 and stretch.begin == 0 and data.startswith(BYTE_ORDER_MARK):
                text = data[len(BYTE_ORDER_MARK) :]
            window = Window(first, text)
            yield window
            first += len(window)


def first_line(path: str) -> tuple[bytes, bool]:
    """Return the first line of a file, without its end and the byte order mark, and whether text follows."""
    with open_text(path) as file:
        head: bytes = file.read(LONGEST_LINE)
    line, _, rest = head.removeprefix(BYTE_ORDER_MARK).replace(b"\r", b"\n").partition(b"\n")
    return line, bool(rest.strip())


@contextmanager
def open_text(path: str) -> Iterator[Any]:
    """Open a file, decompress it, and turn errors into one line that names it."""
    try:
        with open_input(path) as file:
            if path.lower().endswith(COMPRESSED):
                decoded = Decoded(path, file.seek(0, os.SEEK_END))
                file.seek(0)
                with ExitStack() as opened:
                    packed = path.lower().endswith(".gz")
                    plain = opened.enter_context(gzip.open(file)) if packed else _Bz2File(file)
                    yield CountedFile(plain, decoded)
            else:
                yield file
    except FileNotFoundError as error:
        raise missing_error(path) from error
    except EOFError as error:
        raise FormatError(f"{path} is cut off: get the complete file, or leave it out") from error
    except (OSError, zlib.error) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise FormatError(f"{path} cannot be read ({why}): repair it, or leave it out") from error


class _Bz2File:
    """The text of a bzip2 file.

    Python's own reader ignores bytes after the first stream that do not begin another one, so it would take
    a file with a damaged stream for a shorter one.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.stream, self.packed = file, bz2.BZ2Decompressor(), b""

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes: as many, or all, unless the file ends before."""
        pieces, left = [], size
        while left:
            found = self._decompress(left)
            if not found:
                break
            pieces.append(found)
            left -= len(found) if size >= 0 else 0
        return b"".join(pieces)

    def _decompress(self, most: int) -> bytes:
        while True:
            if self.stream.eof:
                self.packed = self.stream.unused_data or self.file.read(BYTES_AT_ONCE)
                if not self.packed:
                    return b""
                self.stream = bz2.BZ2Decompressor()
            elif self.stream.needs_input and not self.packed:
                self.packed = self.file.read(BYTES_AT_ONCE)
                if not self.packed:
                    raise EOFError
            found, self.packed = self.stream.decompress(self.packed, most), b""
            if found:
                return found


def is_utf8(content: bytes) -> bool:
    """Return whether some bytes are UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read_all(file: IO[bytes]) -> Iterator[bytes]:
    while data := file.read(BYTES_AT_ONCE):
        yield data


def _read_range(file: IO[bytes], begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of the lines that begin from `begin` to `end`."""
    at = begin
    rest = b""
    if begin:
        # The byte before decides whether a line begins here.
        found, rest = _skip_line(file, begin - 1)
        if found is None or found >= end:
            return
        at = found
    while True:
        data = rest or file.read(BYTES_AT_ONCE)
        rest = b""
        if not data:
            return
        if at + len(data) < end:
            yield data
            at += len(data)
            continue
        cut = _line_end(data, max(end - at - 1, 0))
        yield data[:cut] if cut else data
        if cut:
            return
        at += len(data)


def _skip_line(file: IO[bytes], at: int) -> tuple[int | None, bytes]:
    """Skip to the next beginning of a line; return its position, and the bytes that were read of it."""
    file.seek(at)
    while data := file.read(BYTES_AT_ONCE):
        end = _line_end(data, 0)
        if end:
            if data[end - 1 : end] == b"\r":
                data += file.read(1) if end == len(data) else b""
                end += data[end : end + 1] == b"\n"
            return at + end, data[end:]
        at += len(data)
    return None, b""


def _line_end(data: bytes, begin: int) -> int:
    """Return the position behind the first end of a line from `begin` on, or 0."""
    found = [place for place in (data.find(b"\n", begin), data.find(b"\r", begin)) if place >= 0]
    return min(found) + 1 if found else 0


def _complete_lines(raw: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces of complete lines that end with LF; of lines that are too long, drop the rest."""
    tail = b""
    for piece in raw:
        data = tail + piece
        held = b""
        if data.endswith(b"\r"):
            data, held = data[:-1], b"\r"  # the LF of a CR LF may come next
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        cut = data.rfind(b"\n") + 1
        if cut:
            yield data[:cut]
        tail = data[cut:][: LONGEST_LINE + 1] + held
    if tail:
        yield tail.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removesuffix(b"\n") + b"\n"


def records_of_lines(lines: Iterator[Window]) -> Iterator[Window]:
    """Join lines that belong to one record, as a quote is open at their ends; yield windows of records.

    Inside a record, line breaks become vertical tabs. The place of a record is that of its first line. If a
    record would be too long, its quote is taken for one without an end: the first line is a record of its
    own, and the next one begins after it. Otherwise one quote could hide all lines that follow.
    """
    data, places = b"", np.zeros(0, dtype=np.int64)
    for window in lines:
        data, places = data + window.data, np.concatenate((places, window.places))
        data, places = yield from _join_lines(data, places, last=False)
    yield from _join_lines(data, places, last=True)


def _join_lines(
    data: bytes, places: NDArray[np.int64], *, last: bool
) -> Generator[Window, None, tuple[bytes, NDArray[np.int64]]]:
    """Yield the records that are complete, and return the lines of the one that is not."""
    while data:
        letters = np.frombuffer(data, np.uint8).copy()
        ends = np.flatnonzero(letters == 10)
        starts = np.concatenate(([0], ends[:-1] + 1))
        open_quote = np.cumsum(_quotes(letters, starts, ends))[ends] % 2 == 1
        closes = np.flatnonzero(~open_quote)
        begins = np.concatenate(([0], closes + 1))  # of each record; the last one is not complete
        sizes = np.append(ends[closes], len(data)) - np.append(starts, len(data))[begins]
        too_long = (sizes > LONGEST_LINE) & (np.append(closes, len(ends)) > begins)
        too_long[-1] |= last and begins[-1] < len(ends)
        stop = int(begins[np.argmax(too_long)] if too_long.any() else begins[-1])
        if stop:
            letters[ends[:stop][open_quote[:stop]]] = 11
            first_lines = np.concatenate(([True], ~open_quote[: stop - 1]))
            yield Window(int(places[0]), letters[: ends[stop - 1] + 1].tobytes(), places[:stop][first_lines])
        if too_long.any():
            yield Window(int(places[stop]), data[starts[stop] : ends[stop] + 1], places[stop : stop + 1])
            stop += 1
        data, places = data[ends[stop - 1] + 1 :] if stop else data, places[stop:]
        if not too_long.any():
            break
    return data, places


def _quotes(
    letters: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which letters are quotes, except for those in comment lines between two records."""
    quotes: NDArray[np.bool_] = letters == 34
    after = letters[np.minimum(starts + 1, len(letters) - 1)]
    comments = np.flatnonzero((letters[starts] == 35) & (after == 32))
    if len(comments):
        so_far, ignored = np.cumsum(quotes), 0
        for start, end in zip(starts[comments].tolist(), ends[comments].tolist(), strict=True):
            before = int(so_far[start]) - ignored
            if before % 2 == 0:
                ignored += int(so_far[end]) - int(so_far[start])
                quotes[start:end] = False
    return quotes
