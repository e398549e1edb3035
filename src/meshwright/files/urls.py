"""Places by path or URL: local files directly, others through Arrow's file systems; limits of what is read.

A few kilobytes must not fill the memory. Each limit can be raised by a variable of the environment; its error
says which.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from meshwright.errors import FormatError, InputError, MeshwrightError
from meshwright.formatting import hide_secrets

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

SCHEMES = ("file", "s3", "s3a", "hdfs", "gs", "gcs", "abfs", "abfss")
GOOGLE_SECONDS = 15
"""How long a request to Google's object store may take, with all its retries."""
_URL = re.compile(rf"([A-Za-z][A-Za-z0-9+.\-]*):/|({'|'.join(SCHEMES)}):", re.IGNORECASE)
SAFE = "/:@!$&'()+,;=~"
"""Characters of names that stay as they are in a URL, next to letters and digits."""


def is_url(place: str | Path) -> bool:
    """Return whether a place is a URL rather than a path.

    >>> [is_url(place) for place in ("s3://bucket/key", "file:/tmp/a", "s3:a.csv", "/tmp/a", "a:b.csv")]
    [True, True, True, False, False]
    """
    return _URL.match(os.fspath(place)) is not None


def local_path(place: str | Path) -> str | None:
    """Return the local path that a path or a `file:` URL means, or None for other URLs.

    >>> local_path("file:///tmp/a%20b"), local_path("file:/tmp/a"), local_path("a/b"), local_path("s3://a/b")
    ('/tmp/a b', '/tmp/a', 'a/b', None)
    """
    text = os.fspath(place)
    if not is_url(text):
        return text
    if not text.lower().startswith("file:"):
        return None
    if text[5:6] != "/":
        return unquote(text[5:])
    return unquote(re.sub(r"^file:/+(localhost/)?", "/", text, flags=re.IGNORECASE))


def require_local(place: str | Path) -> Path:
    """Return the local path that a path or a `file:` URL means.

    Raises
    ------
    InputError
        If it is another URL.
    """
    local = local_path(place)
    if local is None:
        url = two_slashes(os.fspath(place))
        raise InputError(f"{url} is a URL; this argument cannot be one: give a path")
    return Path(local)


@contextmanager
def local_copy(place: str | Path) -> Iterator[Path]:
    """Yield the local path of a place; a URL of another kind than `file:` is copied while the block runs.

    Raises
    ------
    InputError
        If there is nothing, or the place cannot be reached.
    """
    import tempfile

    import pyarrow as pa
    from pyarrow import fs

    local = local_path(place)
    if local is not None:
        yield Path(local)
        return
    url = os.fspath(place).rstrip("/")
    system, path = file_system(url)
    with tempfile.TemporaryDirectory(prefix="meshwright-copy-") as folder:
        target = Path(folder) / path.rpartition("/")[2]
        try:
            found = system.get_file_info(path).type
            if found == fs.FileType.NotFound:
                raise InputError(f"nothing is at {url}: check the address")
            if found == fs.FileType.Directory:
                target.mkdir()  # a store may have files in a folder without having the folder
            fs.copy_files(path, str(target), source_filesystem=system)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{url} cannot be reached: {why_unreachable(error)}") from error
        yield target


def file_system(url: str) -> tuple[FileSystem, str]:
    """Return the file system of a URL, and the path in it.

    Raises
    ------
    InputError
        If the scheme is unknown, or the address is invalid or cannot be reached.
    """
    import pyarrow as pa
    from pyarrow import fs

    scheme = url.partition(":")[0].lower()
    if scheme not in SCHEMES:
        raise InputError(f"{url} is a URL of an unknown kind: give a path, or one of {', '.join(SCHEMES)}:")
    local = local_path(url)
    if local is not None:
        return fs.LocalFileSystem(), str(Path(local).absolute())
    if not url.partition(":")[2].startswith("/"):
        raise InputError(f"{url} is not complete: write {scheme}://…")
    # Hadoop's names of schemes are Arrow's names, with a letter for the implementation.
    known = _encode(re.sub(r"^s3a:", "s3:", two_slashes(url), flags=re.IGNORECASE))
    if scheme in ("gs", "gcs") and "retry_limit_seconds" not in known:
        # By default, Google's library tries for 15 minutes.
        known += f"{'&' if '?' in known else '?'}retry_limit_seconds={GOOGLE_SECONDS}"
    try:
        made: tuple[FileSystem, str] = fs.FileSystem.from_uri(known)
        if scheme in ("abfs", "abfss"):
            _probe_azure(re.sub(r"^(\w+://[^/?]+(/[^/?]+)?)[^?]*", r"\1", known))
    except (pa.ArrowException, OSError, ValueError) as error:
        hint = "; set JAVA_HOME, HADOOP_HOME and CLASSPATH so that libhdfs is found" * (scheme == "hdfs")
        raise InputError(f"{url} cannot be reached: {why_unreachable(error)}{hint}") from error
    return made


def two_slashes(url: str) -> str:
    """Return a URL as users write it: `pathlib` makes one slash of two.

    >>> two_slashes("s3:/bucket/key"), two_slashes("/path")
    ('s3://bucket/key', '/path')
    """
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.\-]*):/(?!/)", r"\1://", url)


def split_options(url: str) -> tuple[str, str]:
    """Return a URL without its options, and these with their question mark.

    >>> split_options("s3://b/a?region=x"), split_options("s3://b/a?.csv")
    (('s3://b/a', '?region=x'), ('s3://b/a?.csv', ''))
    """
    found = re.search(r"\?\w+=", url)
    return (url, "") if found is None else (url[: found.start()], url[found.start() :])


def _encode(url: str) -> str:
    """Encode the letters that a URL cannot have, and those that would end its path.

    >>> _encode("s3://b/ü [1]#%20.csv?region=x")
    's3://b/%C3%BC%20%5B1%5D%23%20.csv?region=x'
    """
    bare, options = split_options(url)
    where, slash, path = re.split(r"(?<=[^/:])(/|$)", bare, maxsplit=1)
    return where + slash + quote(path, safe=SAFE + "*%") + options


@cache
def _probe_azure(container: str) -> None:
    """Ask a container of Azure for a file, once.

    Without credentials, Azure's library throws an exception. Arrow catches it if it asks for a file, but not
    if it asks for a container: then the process ends.
    """
    from pyarrow import fs

    system, path = fs.FileSystem.from_uri(container)
    with _silent_shell():
        system.get_file_info(f"{path.partition('/')[0]}/meshwright")


@contextmanager
def naming(url: str, copy: Path) -> Iterator[None]:
    """Let errors name the URL, not the copy of it on this machine."""
    try:
        yield
    except MeshwrightError as error:
        raise type(error)(str(error).replace(str(copy), url)) from error


@contextmanager
def _silent_shell() -> Iterator[None]:
    """Silence the shell, in which Azure's library looks for the program `az`, if that is not installed."""
    if shutil.which("az") is not None:
        yield
        return
    before = os.dup(2)
    try:
        with Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


NO_CREDENTIALS = {
    "AuthenticationException": "Azure accepts no credentials: set AZURE_TENANT_ID, AZURE_CLIENT_ID and "
    "AZURE_CLIENT_SECRET, or run where there is a managed identity",
    "OAuth2 access token": "there are no credentials for Google, or its service cannot be reached: set "
    "GOOGLE_APPLICATION_CREDENTIALS to a key file, or run where there is a service account",
}
"""By a part of the message of a library: what to do."""


def why_unreachable(error: Exception) -> str:
    """Return the reason of a file system in one line that is not long."""
    text = hide_secrets(str(error))  # before it is cut
    known = (advice for part, advice in NO_CREDENTIALS.items() if part in text)
    return next(known, (text.splitlines() or [type(error).__name__])[0][:200])


def inside(place: str | Path, *names: str) -> str:
    """Return the place of something in a folder, by path or URL; options of a URL stay at its end.

    >>> inside("/data", "nodes"), inside("s3://b/data?region=x", "nodes", "a.parquet")
    ('/data/nodes', 's3://b/data/nodes/a.parquet?region=x')
    """
    bare, mark, options = os.fspath(place).partition("?") if is_url(place) else (os.fspath(place), "", "")
    return "/".join((bare.rstrip("/"), *names)) + mark + options


def names_in(place: str) -> list[str]:
    """Return the names in a folder, sorted, except hidden ones; none if the folder is missing.

    Raises
    ------
    InputError
        If the place cannot be reached.
    """
    import pyarrow as pa
    from pyarrow import fs

    local = local_path(place)
    if local is not None:
        names = os.listdir(local) if Path(local).is_dir() else []  # noqa: PTH208
    else:
        system, path = file_system(place)
        try:
            found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{place} cannot be reached: {why_unreachable(error)}") from error
        names = [info.base_name for info in found]
    return sorted(name for name in names if not name.startswith("."))


def files_in(place: str, ending: str) -> list[str]:
    """Return the files in a folder whose names have an ending, sorted; not those that `.` or `_` hides."""
    names = names_in(place)
    return [inside(place, name) for name in names if name.endswith(ending) and not name.startswith("_")]


def open_input(place: str) -> Any:
    """Open a file by path or URL for reading bytes, at any position."""
    local = local_path(place)
    if local is not None:
        return Path(local).open("rb")
    system, path = file_system(place)
    return system.open_input_file(path)


SMALL = 16 * 2**20
"""Bytes that any compressed file may expand to."""
SMALL_ROWS = 2**25
"""Bytes that the rows of any Parquet file may expand to that passes in batches: four million rows."""
SMALL_TABLE = 2**28
"""Bytes that any table may expand to that is read at once."""
STEP = 2**22
"""Bytes that are read and counted at once."""
MAX_EXPANSION = ("MESHWRIGHT_MAX_EXPANSION", 100)
"""How many times its size a larger file may expand to; text with names takes 5 to 20."""
MAX_INVENTORY = ("MESHWRIGHT_MAX_INVENTORY", 16 * 2**20)
"""The most bytes of an inventory: a million brokers in CSV, and minutes of parsing in YAML."""


def limit(known: tuple[str, int]) -> int:
    """Return a limit: that of the environment, or the usual one.

    Raises
    ------
    InputError
        If the variable is not a whole number.
    """
    name, usual = known
    given = os.environ.get(name, "")
    if given and not given.isdecimal():
        raise InputError(f"{name} is {given!r}: give a whole number")
    return int(given) if given else usual


def check_inventory_size(file: Path) -> None:
    """Refuse an inventory that is too large."""
    size, most = file.stat().st_size, limit(MAX_INVENTORY)
    if size > most:
        raise InputError(
            f"{file} has {size:,} bytes, more than {most:,}: is it an inventory? "
            f"Raise the limit with {MAX_INVENTORY[0]}"
        )


class Decoded:
    """Counts what a file of some size expands to, and refuses more than its limit.

    The limit is `MAX_EXPANSION` times the size, and at least `least`.
    """

    def __init__(self, file: str | Path, size: int, least: int = SMALL) -> None:
        self.file, self.count = file, 0
        self.most = max(least, limit(MAX_EXPANSION) * size)

    def add(self, count: int) -> None:
        """Count some bytes.

        Raises
        ------
        InputError
            If they are too many, together with those before.
        """
        self.count += count
        if self.count > self.most:
            raise InputError(
                f"{self.file} expands to more than {self.most:,} bytes, {limit(MAX_EXPANSION)} times its "
                f"size or more: it may be an attack; if you trust it, raise the limit with {MAX_EXPANSION[0]}"
            )


class CountedFile:
    """An opened file whose content is counted as it is read."""

    def __init__(self, opened: Any, decoded: Decoded) -> None:
        self.opened, self.decoded = opened, decoded

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes: as many, or all, unless the file ends before."""
        pieces: list[bytes] = []
        while size and (piece := self.opened.read(STEP if size < 0 else min(size, STEP))):
            self.decoded.add(len(piece))
            pieces.append(piece)
            size -= len(piece) if size > 0 else 0
        return b"".join(pieces)


def expand_gzip(file: Path) -> bytes:
    """Return the content of a gzip file; raise an error if it expands too far."""
    try:
        with gzip.open(file, "rb") as packed:
            return CountedFile(packed, Decoded(file, file.stat().st_size)).read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{file} cannot be read as gzip: {error}") from error
