"""What Spark complains of at length, told in one line: which file, and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from meshwright import errors
from meshwright.errors import ClusterError, FormatError, InputError, MeshwrightError

OURS = re.compile(r"^meshwright\.errors\.(\w+): (.*)$", re.MULTILINE)
"""How an error that we raised on a worker ends its traceback."""
UNREADABLE = re.compile(r"\[FAILED_READ_FILE\.?(\w*)\][^\n]*? file (\S+?)\.?(?:\s|$)")
NOT_FOUND = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (.*?)\.(?: SQLSTATE.*)?$", re.MULTILINE)
BROKEN_OFF = re.compile(
    "EOFException|Unexpected end of (?:input )?stream|unexpected end of stream", re.IGNORECASE
)
COLON = re.compile(r"Relative path in absolute URI: (\S+)")
DIFFERENT = re.compile(r'\[CANNOT_MERGE_SCHEMAS\].*?"(STRUCT<.*?>)".*?"(STRUCT<.*?>)"', re.DOTALL)
ILLEGAL_TIME = "Illegal Parquet type: INT64 (TIMESTAMP(NANOS"
TOO_LARGE = re.compile(r"Sent message larger than max \((\d+) vs\. (\d+)\)")
"""Spark Connect carries so many bytes at once, and no more."""
SAID = re.compile(r'^\s*details = "(.*)"$', re.MULTILINE)
"""How an error of gRPC says what it is."""
GONE = re.compile("FileNotFoundException|FILE_NOT_EXIST|does not exist", re.IGNORECASE)


@contextmanager
def telling() -> Iterator[None]:
    """Turn whatever Spark raises inside into an error of ours, of one line."""
    try:
        yield
    except MeshwrightError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise told(error) from error


def told(error: Exception) -> MeshwrightError:
    """Return the error of ours that says what one of Spark's means."""
    text = str(error)
    ours = OURS.search(text)
    if ours is not None:
        kind = getattr(errors, ours[1], ClusterError)
        made: MeshwrightError = kind(ours[2])
        return made
    missing = NOT_FOUND.search(text)
    if missing is not None:
        return InputError(f"no file {plain(missing[1])}: nothing is there to read")
    unreadable = UNREADABLE.search(text)
    if unreadable is not None:
        return _unreadable(plain(unreadable[2]), text)
    colon = COLON.search(text)
    if colon is not None:
        return InputError(f"Spark cannot read a file named {colon[1]}, with a colon: rename it")
    differing = DIFFERENT.search(text)
    if differing is not None:
        return InputError(
            f"the Parquet files do not fit together ({differing[1]} and {differing[2]}): "
            "ingest those of one kind, or convert the others"
        )
    if ILLEGAL_TIME in text:
        return InputError("Spark reads no Parquet times in nanoseconds: write them in microseconds")
    large = TOO_LARGE.search(text)
    if large is not None:
        sent, most = (f"{int(size) >> 20:,} MB" for size in large.groups())
        return ClusterError(
            f"{sent} go to every task and Spark Connect carries {most} at once: give the cluster's own "
            "address with --master, leave --master out, or plan in parts with --parts"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    caused = SAID.findall(text) or [line for line in lines if line.startswith("Caused by:")]
    chosen = (
        caused[-1:] or [line for line in lines if not line.startswith("An error occurred")] or ["no word"]
    )
    return ClusterError(f"Spark failed: {chosen[0].removeprefix(': ')[:300]}; --debug shows all it said")


def _unreadable(file: str, text: str) -> MeshwrightError:
    if BROKEN_OFF.search(text):
        return FormatError(f"{file} ends in the middle: it was cut off; get it whole, or leave it out")
    if GONE.search(text):
        return FormatError(f"{file} was there at first and is gone: put it back, and run this again")
    causes = re.findall(r"^Caused by: (?:[\w.$]+: )?(.*)$", text, re.MULTILINE)
    why = f" ({causes[-1][:200]})" if causes else ""
    return FormatError(f"{file} cannot be read{why}: mend it, or leave it out")


def plain(path: str) -> str:
    """Spell a path of Spark's as people do.

    >>> plain("file:///data/a%20b.csv"), plain("file:/data/c.csv"), plain("hdfs://host/d.csv")
    ('/data/a b.csv', '/data/c.csv', 'hdfs://host/d.csv')
    """
    return unquote(unescaped(path))


def unescaped(path: str) -> str:
    """Spell a path in which Spark has not escaped anything.

    >>> unescaped("file:/data/a%20b.csv")
    '/data/a%20b.csv'
    """
    return re.sub(r"^file:/+", "/", path)
