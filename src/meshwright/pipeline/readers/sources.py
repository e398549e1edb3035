"""The files to read: lists and divides them, and checks afterwards that they did not change.

A task reads one share: ranges of bytes of files, in order; all shares have about the same size.

Listing needs no Spark, so wrong names are errors at once. Only a Spark Connect service lists files by
itself: it may see others than this process.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

import pyarrow as pa

from meshwright.errors import FormatError, InputError, first_five
from meshwright.files.urls import (
    SAFE,
    file_system,
    is_url,
    local_path,
    split_options,
    two_slashes,
    why_unreachable,
)
from meshwright.pipeline.dataflow import make_batch
from meshwright.pipeline.session.jobs import spark_errors

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem
    from pyspark.sql import SparkSession

COMPRESSED = (".gz", ".bz2")
NEVER_EMPTY = (*COMPRESSED, ".parquet")
"""Extensions of formats that take some bytes even without any content."""
WILD = re.compile(r"[*?\[{]")
BYTES_IN_A_SHARE = 1 << 26
"""A share has at most this many bytes, unless a file cannot be split."""
LISTED = "path string, size long, modified string"


@dataclass(frozen=True, order=True)
class SourceFile:
    """A file at the time of listing."""

    path: str
    size: int
    modified: str


def list_files(
    spark: SparkSession | None,
    sources: Sequence[str | Path],
    *,
    exclude: str | Path | None = None,
    literal: bool = False,
    allow_none: bool = False,
) -> list[SourceFile]:
    """Return the files that paths, URLs, folders (with all subfolders) and globs match, sorted.

    Files in the folder `exclude` are left out: the output may lie inside a source. `literal` paths are no
    globs. With `allow_none`, folders without files are fine.

    Raises
    ------
    InputError
        If a source matches no file.
    FormatError
        If a compressed or Parquet file has no bytes.
    """
    if not sources:
        raise InputError("no source: name at least one file, folder or glob")
    hidden = [str(source) for source in sources if re.search(r"(^|/)[_.][^/.][^/]*/*$", str(source))]
    if hidden:
        raise InputError(
            f"names that begin with _ or a dot are skipped, such as {first_five(hidden)}: rename them"
        )
    named = [os.fspath(source) if is_url(source) else os.path.abspath(source) for source in sources]  # noqa: PTH100
    files = _list(spark, named, literal=literal)
    if exclude is not None:
        local = local_path(exclude)
        inside = f"{os.fspath(exclude).rstrip('/')}/" if local is None else f"{Path(local).absolute()}/"
        files = [file for file in files if not file.path.startswith(inside)]
    if not files and not allow_none:
        raise InputError(f"no file in {first_five(map(str, sources))}: give a folder or glob that has files")
    cut_off = [file.path for file in files if not file.size and file.path.lower().endswith(NEVER_EMPTY)]
    if cut_off:
        raise FormatError(f"empty files {first_five(cut_off)}: get the complete files, or leave them out")
    return files


def _list(spark: SparkSession | None, sources: Sequence[str], *, literal: bool = False) -> list[SourceFile]:
    """List files here, or on the service that will read them."""
    from meshwright.pipeline.session.jobs import through_connect

    if spark is None or not through_connect(spark):
        return sorted(set(_find_all(sources, literal)))
    with spark_errors():
        listing = partial(_list_on_service, tuple(sources), literal)
        rows = spark.range(0, 1, 1, 1).mapInArrow(listing, LISTED).collect()
    return sorted({SourceFile(row.path, row.size, row.modified) for row in rows})


def _list_on_service(
    sources: Sequence[str], literal: bool, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        found = sorted(set(_find_all(sources, literal)))
        columns = {name: [getattr(file, name) for file in found] for name in ("path", "size", "modified")}
        yield make_batch(LISTED, **columns)


def _find_all(sources: Sequence[str], literal: bool) -> Iterator[SourceFile]:
    for source in sources:
        local = local_path(source)
        yield from _find_local(local, literal) if local is not None else _find_remote(source)


def _find_local(path: str, literal: bool) -> Iterator[SourceFile]:
    """Yield the files that a path or glob matches."""
    matched = [path] if literal or os.path.lexists(path) else _expand(path)
    if not matched:
        missing = "matches no file" if WILD.search(path) else "does not exist"
        raise InputError(f"{path} {missing}: check the path")
    if not literal:
        refuse_tables_above(matched)
    for match in matched:
        if not Path(match).is_dir():
            yield _stat(match)
            continue
        for folder, below, names in os.walk(match, followlinks=True):
            for name in (*below, *names):
                refuse_table(table_of(f"{folder.rstrip('/')}/{name}"))
            below[:] = [name for name in below if not _is_hidden(name)]
            for name in names:
                if not _is_hidden(name):
                    yield _stat(f"{folder.rstrip('/')}/{name}")


def _stat(path: str) -> SourceFile:
    try:
        found = Path(path).stat()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is not a file, and is read more than once: write its content to one")
    return SourceFile(path, found.st_size, str(found.st_mtime_ns))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _expand(pattern: str) -> list[str]:
    """Return the paths that a glob matches; braces list alternatives, and ** stands for any folders."""
    found = []
    for each in _alternatives(pattern):
        wild = WILD.search(each)
        fixed = each[: each.rfind("/", 0, wild.start()) + 1] if wild else each
        paths = glob.glob(each.replace("[^", "[!"), recursive=True)  # noqa: PTH207
        found += [path for path in paths if not any(map(_is_hidden, path[len(fixed) :].split("/")))]
    return sorted(set(found))


def _alternatives(pattern: str) -> Iterator[str]:
    """Yield a glob once for each alternative of its braces.

    >>> list(_alternatives("a{b,c}d{e,f}"))
    ['abde', 'abdf', 'acde', 'acdf']
    """
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        yield pattern
        return
    for word in found[1].split(","):
        yield from _alternatives(pattern[: found.start()] + word + pattern[found.end() :])


def _find_remote(url: str) -> Iterator[SourceFile]:
    """Yield the files that a URL matches: a file, a folder, or a glob."""
    from pyarrow import fs

    bare, options = split_options(two_slashes(url))
    wild = WILD.search(bare.partition("://")[2])
    above = bare if wild is None else bare[: bare.rfind("/", 0, bare.find("://") + 3 + wild.start())]
    above = above.rstrip("/")
    system, path = file_system(above + options)
    try:
        info = system.get_file_info(path)
        scheme = f"{above.partition(':')[0]}://"
        refuse_remote_table_above(system, path, scheme)
        if info.type == fs.FileType.File:
            yield _remote_file(info, url)
            return
        inside, tables = _files_below(system, path) if info.type == fs.FileType.Directory else ([], {})
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{url} cannot be reached: {why_unreachable(error)}") from error
    if info.type == fs.FileType.NotFound:
        raise InputError(f"{url} does not exist: check the address")
    wanted = [_pattern(unquote(each)) for each in _alternatives(bare)]
    for name, found in inside:
        if wild is None or any(each.fullmatch(f"{unquote(above)}/{name}") for each in wanted):
            for table in tables.keys() & set(map(str, PurePosixPath(found.path).parents)):
                refuse_table((table, tables[table]), scheme)
            # Names may have any letters, also those that mean something in a URL.
            yield _remote_file(found, f"{above}/{quote(name, safe=SAFE)}{options}")


def _pattern(wild: str) -> re.Pattern[str]:
    """Return the pattern of a glob; its wildcards match within one level, except for **.

    >>> [bool(_pattern("s3://b/*.csv").fullmatch(f"s3://b/{name}")) for name in ("a.csv", "c/a.csv")]
    [True, False]
    >>> [bool(_pattern("s3://b/**/*.csv").fullmatch(f"s3://b/{name}")) for name in ("a.csv", "c/d/a.csv")]
    [True, True]
    """
    made = ""
    for part in re.findall(r"\[[^\]]*\]|(?<=/)\*\*/|.", wild):
        known = {"*": "[^/]*", "?": "[^/]", "**/": "(?:[^/]+/)*"}.get(part)
        made += known or (part.replace("[!", "[^") if part.startswith("[") else re.escape(part))
    return re.compile(made)


def _files_below(system: FileSystem, path: str) -> tuple[list[tuple[str, pa.fs.FileInfo]], dict[str, str]]:
    """Return the files in a folder and its subfolders, each with its path in the folder; and lake tables."""
    from pyarrow import fs

    found = system.get_file_info(fs.FileSelector(path, recursive=True))
    length = len(path.rstrip("/")) + 1
    named = [(info.path[length:], info) for info in found if info.type == fs.FileType.File]
    tables = dict(filter(None, (table_of(info.path) for info in found)))
    return [(name, info) for name, info in named if not any(map(_is_hidden, name.split("/")))], tables


def _remote_file(info: pa.fs.FileInfo, url: str) -> SourceFile:
    return SourceFile(url, int(info.size or 0), str(info.mtime_ns))


def megabytes(files: Sequence[SourceFile]) -> int:
    """Return the size of files together, in millions of bytes, at least one."""
    return max(round(sum(file.size for file in files) / 1e6), 1)


def compressed_sizes(files: Sequence[SourceFile]) -> dict[str, int]:
    """Return the sizes of the compressed files of this machine, which one task each reads as a whole."""
    found = ((local_path(file.path), file) for file in files if file.path.lower().endswith(COMPRESSED))
    return {os.path.realpath(path): file.size for path, file in found if path is not None}


def check_unchanged(spark: SparkSession | None, files: Sequence[SourceFile]) -> None:
    """Check that files did not change while they were read, which would mix two states of the data.

    Raises
    ------
    FormatError
        If a file changed or vanished.
    """
    try:
        now = set(_list(spark, [file.path for file in files], literal=True))
    except InputError as error:
        raise FormatError(f"files were deleted while they were read ({error}): run this again") from error
    changed = [file.path for file in files if file not in now]
    if changed:
        raise FormatError(f"{first_five(changed)} changed while being read: run this again, or read a copy")


def share_bytes(spark: SparkSession | None) -> int:
    """Return the bytes in a share: ours, or Spark's setting for its own readers if that is smaller."""
    if spark is None:
        return BYTES_IN_A_SHARE
    text = str(spark.conf.get("spark.sql.files.maxPartitionBytes", "134217728")).lower().rstrip("b")
    scale = {"k": 2**10, "m": 2**20, "g": 2**30}.get(text[-1:], 1)
    return max(min(int(text.rstrip("kmg")) * scale, BYTES_IN_A_SHARE), 1)


class Stretch(NamedTuple):
    """A range of bytes of a file, and the number of the file among all files."""

    path: str
    begin: int
    end: int
    file: int
    whole: bool
    """Whether this is the complete file."""
    stated: Mapping[str, str | None] = {}
    """By role: what the folders of the file state, where it has no such column or no value in it."""


def shares(
    files: Sequence[SourceFile], most: int, *, unsplittable: tuple[str, ...] = ()
) -> list[list[Stretch]]:
    """Divide files into shares: split large files, unless their names end so, and combine small ones.

    >>> [len(share) for share in shares([SourceFile(name, 5, "") for name in "abc"], 10)]
    [2, 1]
    """
    cut: list[list[Stretch]] = []
    room = 0
    for number, file in enumerate(files):
        at_once = bool(unsplittable) and file.path.lower().endswith(unsplittable)
        pieces = 1 if at_once else max(-(-file.size // most), 1)
        for piece in range(pieces):
            begin, end = file.size * piece // pieces, file.size * (piece + 1) // pieces
            if not cut or end - begin > room:
                cut.append([])
                room = most
            cut[-1].append(Stretch(file.path, begin, end, number, pieces == 1))
            room -= end - begin
    return cut


TABLES = {"_delta_log": "delta", ".hoodie": "hudi", "metadata": "iceberg"}
"""The folder that a table of each format has in its own."""


def table_of(path: str) -> tuple[str, str] | None:
    """Return the folder of a table and its format, if this path is one that only such tables have.

    >>> table_of("/lake/rain/_delta_log/0.json"), table_of("/lake/rain/metadata/v1.metadata.json")
    (('/lake/rain', 'delta'), ('/lake/rain', 'iceberg'))
    >>> table_of("/lake/rain/data/part-0.parquet")
    """
    parts = path.split("/")
    for number, part in enumerate(parts):
        kind = TABLES.get(part)
        if kind == "iceberg" and not (number == len(parts) - 2 and parts[-1].endswith(".metadata.json")):
            continue
        if kind is not None:
            return "/".join(parts[:number]), kind
    return None


def refuse_table(found: tuple[str, str] | None, scheme: str = "") -> None:
    """Raise an InputError if a table was found; the scheme is that of its URL."""
    if found is not None:
        table, kind = scheme + found[0], found[1]
        raise InputError(
            f"{table} is a table of {kind.capitalize()}, whose folder also has files of other versions: read "
            f"the current one by mw.pipeline.ingest(spark, spark.read.format({kind!r}).load({table!r}), out)"
        )


def refuse_tables_above(paths: Sequence[str]) -> None:
    """Refuse files and folders of this machine that lie in a table."""
    for folder in {folder for path in paths for folder in Path(path).parents}:
        marks = [folder / "_delta_log", folder / ".hoodie", *folder.glob("metadata/*.metadata.json")]
        for mark in marks:
            if mark.exists():
                refuse_table(table_of(str(mark)))


def refuse_remote_table_above(system: FileSystem, path: str, scheme: str) -> None:
    """Refuse a file or folder of a store that lies in a table."""
    from pyarrow import fs

    folders = [path[: found.start()] for found in re.finditer("/", path)]
    marks = [f"{folder}/{mark}" for folder in folders for mark in ("_delta_log", ".hoodie")]
    found = [info.path for info in system.get_file_info(marks) if info.type == fs.FileType.Directory]
    for folder in folders:
        if path[len(folder) :].startswith("/data"):  # of Iceberg; others need no further request
            metadata = fs.FileSelector(f"{folder}/metadata", allow_not_found=True)
            found += [info.path for info in system.get_file_info(metadata)]
    for mark in found:
        refuse_table(table_of(mark), scheme)
