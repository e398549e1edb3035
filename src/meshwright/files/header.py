"""The JSON file that describes a folder: its kind, its schema, and its fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshwright.errors import FormatError, InputError


def parse_json(text: str, *, gather: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Parse a JSON text; `gather` makes an object from its keys and values.

    Raises a ValueError also for nesting beyond the recursion limit of Python's parser.
    """
    try:
        return json.loads(text, object_pairs_hook=gather)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


@dataclass(frozen=True)
class Kind:
    """A kind of folder: its name, the file that describes it, and the newest known schema."""

    name: str
    file: str
    schema: int


DATASET = Kind("dataset", "manifest.json", 2)
PLAN = Kind("plan", "plan.json", 1)
FRONT = Kind("front", "front.json", 1)
TRAFFIC = Kind("traffic", "traffic.json", 1)
CHURN = Kind("churn run", "churn.json", 1)
FEDERATION = Kind("federation", "federation.json", 1)
WORKLOAD = Kind("workload", "workload.json", 1)
CONTENT_PLAN = Kind("content plan", "plan.json", 1)
MIGRATION = Kind("migration", "migration.json", 1)
KINDS = (DATASET, PLAN, FRONT, TRAFFIC, CHURN, FEDERATION, WORKLOAD, CONTENT_PLAN, MIGRATION)


def write_header(folder: Path, kind: Kind, content: dict[str, Any]) -> None:
    """Write the description of a folder."""
    described = {"format": f"meshwright {kind.name}", "schema": kind.schema, **content}
    text = json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / kind.file).write_text(text + "\n", encoding="utf-8")


def read_header(folder: Path, kind: Kind, **fields: type) -> dict[str, Any]:
    """Read the description of a folder, or raise an error if it is not of this kind or lacks a field."""
    if not folder.exists():
        raise InputError(f"no {kind.name} {folder}: nothing is there")
    if not (folder / kind.file).is_file():
        others = [other.name for other in KINDS if other != kind and holds(folder, other)]
        reason = f"it is a {others[0]}" if others else f"it has no {kind.file}"
        raise FormatError(f"{folder} is not a {kind.name}: {reason}")
    file = folder / kind.file
    try:
        content = parse_json(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise damaged(file, str(error)) from error
    if not isinstance(content, dict) or content.get("format") != f"meshwright {kind.name}":
        raise FormatError(f"{folder} is not a {kind.name}: {kind.file} does not say so")
    schema = content.get("schema")
    if type(schema) is not int or schema < 1:  # bool is a subclass of int
        raise damaged(file, f"schema {schema!r}")
    if schema > kind.schema:
        raise FormatError(
            f"{folder} has schema {schema}, but this version reads at most {kind.schema}: upgrade meshwright"
        )
    for name, of in fields.items():
        if not isinstance(content.get(name), of):
            raise damaged(file, f"it has no field {name!r}")
    return content


def damaged(where: Path, why: str) -> FormatError:
    """Return the error for a file or folder that no longer is as it was written."""
    return FormatError(f"{where} is damaged: {why}; write it again")


def holds(folder: Path, kind: Kind) -> bool:
    """Return whether a folder is of this kind, with any schema."""
    try:
        content = parse_json((folder / kind.file).read_text(encoding="utf-8"))
    except (ValueError, OSError):
        return False
    return isinstance(content, dict) and content.get("format") == f"meshwright {kind.name}"
