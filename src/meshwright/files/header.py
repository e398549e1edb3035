"""The JSON file that describes a folder: its kind, its schema, and its fields."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import FormatError, InputError
from meshwright.files.exchange import restore
from meshwright.files.urls import file_system, inside, local_copy, local_path, naming

if TYPE_CHECKING:
    from meshwright.files.schema import Record


def parse_json(
    text: str,
    *,
    gather: Callable[[list[tuple[str, Any]]], Any] | None = None,
    integer: Callable[[str], Any] | None = None,
) -> Any:
    """Parse a JSON text; `gather` makes an object from its keys and values, `integer` a number from digits.

    Raises a ValueError that says where the text is wrong, also for nesting beyond the recursion limit of
    Python's parser.
    """
    try:
        found = json.loads(text, object_pairs_hook=gather, parse_int=integer)
        if gather is None and "\\ud" in text.lower():  # half a pair is no character
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeEncodeError as error:
        raise ValueError("it holds half a surrogate pair") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"character {error.pos + 1} is wrong, or something is missing before it") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


@dataclass(frozen=True)
class Kind:
    """A kind of folder: its name, the file that describes it, and the newest known schema."""

    name: str
    file: str
    schema: int
    made_by: str = ""
    """The command that makes one, if a user may have to."""
    digests: bool = False
    """Whether the description lists a digest of every table."""
    ours: tuple[str, ...] = ()
    """Patterns of the other files that are ours; `*` stands for any part of a path. None: all are."""
    at_urls: bool = False
    """Whether it may be at a URL."""

    @property
    def next_step(self) -> str:
        """What to do without one, for the end of an error message."""
        return f"; make one with meshwright {self.made_by}" if self.made_by else ""

    def owns(self, name: str) -> bool:
        """Return whether a file of such a folder, by its path in it, is ours: we may replace or delete it."""
        if not self.ours or name == self.file or name.rpartition("/")[2].startswith(".writing-"):
            return True
        return any(fnmatchcase(name, pattern) for pattern in self.ours)


def _tables(*names: str) -> tuple[str, ...]:
    """Return the patterns of tables: folders of Parquet files, with what their writers may leave."""
    return tuple(f"{name}/{files}" for name in names for files in ("*.parquet", ".*.parquet.*"))


def _files(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}.parquet" for name in names)


DATASET = Kind(
    "dataset", "manifest.json", 2, "ingest FILES --out DATASET",
    ours=_tables("nodes", "topics", "subscriptions", "quarantine"), at_urls=True,
)  # fmt: skip
PLAN = Kind(
    "plan", "plan.json", 1, "plan DATASET --out PLAN", digests=True,
    ours=(
        *_files("edges", "prices", "degree_prices", "groups", "holders", "trees", "roles"), "report.html"
    ), at_urls=True,
)  # fmt: skip
FRONT = Kind(
    "front", "front.json", 1, "plan DATASET --algorithm best --objective front --out DIR",
    ours=("front.png", *(f"degree-*/{name}" for name in (PLAN.file, *PLAN.ours))),
)  # fmt: skip
TRAFFIC = Kind(
    "traffic", "traffic.json", 2, "traffic LOGS --out TRAFFIC",
    ours=(*_tables("rates", "channels", "quarantine"), *_files("rates", "channels", "quarantine")),
)  # fmt: skip
_RUN = (
    *_files("rounds", "nodes"),
    *(f"{kind.name}/{name}" for kind in (DATASET, PLAN) for name in (kind.file, *kind.ours)),
)
CHURN = Kind(
    "churn run", "churn.json", 1, "churn PLAN DATASET --out DIR",
    ours=("churn.png", *_RUN, *(f"*/{name}" for name in _RUN)),
)  # fmt: skip
FEDERATION = Kind("federation", "federation.json", 2, "export PLAN --to mosquitto --out FEDERATION")
"""Its own list of files is in its manifest; they are changed in place, by `files.folder_change`."""
WORKLOAD = Kind(
    "workload", "workload.json", 1, "content workload --out WORKLOAD",
    ours=_files("users", "brokers", "rates", "subscriptions", "access", "core"),
)  # fmt: skip
CONTENT_PLAN = Kind(
    "content plan", "plan.json", 1, "content assign WORKLOAD --out PLAN",
    ours=(*_files("assignment", "trees", "broker_tree", "cost_of_*"), "report.html"),
)  # fmt: skip
MIGRATION = Kind(
    "migration", "migration.json", 1, "content migrate WORKLOAD --out DIR",
    ours=(*_files("steps", "samples", "assignment"), "migration.png"),
)  # fmt: skip
KINDS = (DATASET, PLAN, FRONT, TRAFFIC, CHURN, FEDERATION, WORKLOAD, CONTENT_PLAN, MIGRATION)


def header_text(kind: Kind, content: dict[str, Any]) -> str:
    """Return the text of the file that describes a folder."""
    described = {"format": f"meshwright {kind.name}", "schema": kind.schema, **content}
    return json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_header(place: str | Path, kind: Kind, content: dict[str, Any]) -> None:
    """Write the description of a folder at a path or URL, whose tables must be complete."""
    local = local_path(place)
    if local is None:
        system, path = file_system(os.fspath(place))
        with system.open_output_stream(f"{path}/{kind.file}") as file:
            file.write(header_text(kind, content).encode())
        return
    if kind.digests:
        content = {**content, "files": table_digests(Path(local))}
    Path(local, kind.file).write_text(header_text(kind, content), encoding="utf-8")


def read_record(folder: Path, kind: Kind, of: type[Record]) -> Record:
    """Read the description of a folder as a record; raise an error if it is not of this kind, or damaged."""
    return check_header(folder / kind.file, read_header(folder, kind), of)


def check_header(file: str | Path, content: Mapping[str, Any], of: type[Record]) -> Record:
    """Return what a description states as a record; raise an error if a field is missing or wrong."""
    from meshwright.files.schema import parse_record

    try:
        return parse_record(content, of)
    except ValueError as error:
        raise damaged(file, str(error)) from error


def read_header(folder: Path, kind: Kind, text: bytes | None = None) -> dict[str, Any]:
    """Read the description of a folder; raise an error if it is not of this kind, or of a newer schema.

    `text` is what the description will hold once a change that is under way is complete.
    """
    restore(Path(os.path.realpath(folder)))
    if not folder.exists():
        raise InputError(f"no {kind.name} {folder}: nothing is there{kind.next_step}")
    if not (folder / kind.file).is_file():
        others = [other.name for other in KINDS if other != kind and holds(folder, other)]
        reason = f"it is a {others[0]}" if others else f"it has no {kind.file}"
        raise FormatError(f"{folder} is not a {kind.name}: {reason}{kind.next_step}")
    file = folder / kind.file
    try:
        content = parse_json((file.read_bytes() if text is None else text).decode())
    except (ValueError, OSError) as error:
        raise damaged(file, str(error)) from error
    if not isinstance(content, dict) or content.get("format") != f"meshwright {kind.name}":
        raise FormatError(f"{folder} is not a {kind.name}: {kind.file} does not say so")
    schema = content.get("schema")
    if type(schema) is not int or schema < 1:  # bool is a subclass of int
        raise damaged(file, f"schema {repr(schema)[:60]}")
    if schema > kind.schema:
        raise FormatError(
            f"{folder} has schema {schema}, but this version reads at most {kind.schema}: upgrade meshwright"
        )
    return content


def read_description(place: str | Path, kind: Kind) -> dict[str, Any]:
    """Return the description of the folder at a path or URL that may be replaced; empty if there is none.

    Raises
    ------
    OutputError
        If a URL cannot be reached, or holds something else.
    """
    local = local_path(place)
    if local is not None:
        return read_header(Path(local), kind) if holds(Path(local), kind) else {}
    from meshwright.files.remote import read_remote_description

    return read_remote_description(os.fspath(place), kind)


@contextmanager
def local_description(place: str | Path, kind: Kind) -> Iterator[Path]:
    """Yield a folder on this machine with the description of a folder; of one at a URL, with nothing else.

    Raises
    ------
    InputError
        If it is not there, or cannot be reached.
    """
    local = local_path(place)
    if local is not None:
        yield Path(local)
        return
    url = os.fspath(place).rstrip("/")
    with local_copy(inside(url, kind.file)) as file, naming(url, file.parent):
        yield file.parent


def table_digests(folder: Path) -> dict[str, str]:
    """Return a digest of each Parquet file in a folder, by name."""
    digests = {}
    for file in sorted(folder.glob("*.parquet")):
        with file.open("rb") as opened:
            digests[file.name] = hashlib.file_digest(opened, "sha256").hexdigest()
    return digests


MISSING = "is missing"
"""What `changed_tables` says of a table that is not there."""


def changed_tables(folder: Path, kind: Kind, content: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with tables of a folder that its description lists, if it lists any, by name."""
    listed = content.get("files", {})
    if not isinstance(listed, dict):
        raise damaged(folder / kind.file, "'files' is not an object")
    found = table_digests(folder)
    faults = {}
    for name, known in listed.items():
        if name not in found:
            faults[name] = MISSING
        elif found[name] != known:
            faults[name] = f"has changed since {kind.file} was written"
    return faults


def check_digests(folder: Path, kind: Kind, content: Mapping[str, Any]) -> None:
    """Check that the tables of a folder are those that its description lists.

    Raises
    ------
    FormatError
        If a file is missing or has changed.
    """
    for name, fault in changed_tables(folder, kind, content).items():
        raise damaged(*((folder, f"{name} {fault}") if fault == MISSING else (folder / name, f"it {fault}")))


def damaged(where: str | Path, why: str) -> FormatError:
    """Return the error for a file or folder that no longer is as it was written."""
    return FormatError(f"{where} is damaged: {why}; write it again")


def holds(folder: Path, kind: Kind) -> bool:
    """Return whether a folder is of this kind, with any schema."""
    try:
        content = parse_json((folder / kind.file).read_text(encoding="utf-8"))
    except (ValueError, OSError):
        return False
    return isinstance(content, dict) and content.get("format") == f"meshwright {kind.name}"
