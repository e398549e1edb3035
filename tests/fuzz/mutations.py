"""Damage of every kind to a file: bits, rows, types, JSON and lines, some of it with mended digests."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from meshwright.files.header import table_digests

TEXTS = ("", "a", "t0", "x\ny", "\x00", "../x", "🦀" * 3, "#", "a/+/#", "0", "-1", "None", "x" * 5000)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**400, 1.5, -0.0, 1e308, float("nan"), float("inf"),
    [], {}, [None], {"a": {}}, [[[]]], *TEXTS,
)  # fmt: skip
OTHERS = (b"\xff\xfe\x00", b"null", b"[]", b"{}", b"PAR1PAR1", b"\n\n", b'"\\ud800"')
"""What may stand in the place of a whole file."""
LINES = (b"\xff\xfe", b"a,b,c,d,e,f", b'"', b"{", b"\x00", b"[" * 3000, b"topic", b"null")
TYPES = (
    pa.int8(), pa.int64(), pa.uint32(), pa.float64(), pa.string(), pa.large_string(), pa.binary(), pa.bool_(),
    pa.dictionary(pa.int32(), pa.string()), pa.timestamp("us"), pa.list_(pa.int32()), pa.decimal128(20, 2),
)  # fmt: skip


def mutate(file: Path, rng: random.Random) -> str:
    """Damage a file; return what was done."""
    kinds: list[Callable[[Path, random.Random], str]] = [mutate_bytes]
    if file.suffix == ".parquet":
        kinds += [mutate_rows, mutate_rows, mutate_columns, mutate_columns]
    elif file.suffix == ".json":
        kinds += [mutate_json] * 4
    else:
        kinds += [mutate_lines] * 2
    try:
        return rng.choice(kinds)(file, rng)
    except (ValueError, OSError, pa.ArrowException):  # an earlier mutation left nothing that can be decoded
        return mutate_bytes(file, rng)


def mutate_bytes(file: Path, rng: random.Random) -> str:
    """Flip bits, cut the file off, empty it, repeat a piece of it, or delete it."""
    content = bytearray(file.read_bytes())
    kind = rng.choice(["flip", "flip", "flip", "cut", "empty", "repeat", "delete", "other"])
    if kind == "flip":
        for _ in range(rng.choice([1, 1, 2, 8])):
            if content:
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        content = content[: rng.randrange(len(content) + 1)]
    elif kind == "empty":
        content = bytearray()
    elif kind == "repeat":
        begin = rng.randrange(len(content) + 1)
        content[begin:begin] = content[begin : begin + rng.choice([1, 4, 100])]
    elif kind == "other":
        content = bytearray(rng.choice(OTHERS))
    if kind == "delete":
        file.unlink()
    else:
        file.write_bytes(bytes(content))
    return f"bytes: {kind}"


def mutate_rows(file: Path, rng: random.Random) -> str:
    """Remove, repeat, move or change rows."""
    table = pq.read_table(file)
    rows = table.to_pylist()
    kind = rng.choice(["drop", "first", "repeat", "reverse", "shuffle", "none", "swap", *["value"] * 3])
    at = rng.randrange(len(rows)) if rows else 0
    if not rows:
        rows = []
    elif kind == "drop":
        del rows[at]
    elif kind == "first":
        del rows[0]
    elif kind == "repeat":
        rows.insert(rng.randrange(len(rows) + 1), dict(rows[at]))
    elif kind == "reverse":
        rows.reverse()
    elif kind == "shuffle":
        rng.shuffle(rows)
    elif kind == "none":
        rows = []
    elif kind == "swap":
        other = rng.randrange(len(rows))
        rows[at], rows[other] = rows[other], rows[at]
    else:
        name = rng.choice(table.column_names)
        rows[at] = {**rows[at], name: _other_value(rows, name, table.schema.field(name).type, rng)}
    open_schema = pa.schema([field.with_nullable(True) for field in table.schema])
    pq.write_table(pa.Table.from_pylist(rows, open_schema), file)
    return f"rows: {kind} {at}"


def _other_value(rows: list[dict[str, Any]], name: str, kind: pa.DataType, rng: random.Random) -> Any:
    choices = [rng.choice(rows)[name], rng.choice(rows)[name], None]
    if pa.types.is_integer(kind):
        choices += [0, -1, 1, 2**31 - 1 if kind == pa.int32() else 2**62]
    elif pa.types.is_floating(kind):
        choices += [0.0, -1.0, float("nan"), float("inf"), 1e300]
    else:
        choices += list(TEXTS)
    return rng.choice(choices)


def mutate_columns(file: Path, rng: random.Random) -> str:
    """Change the type of a column, rename, drop, double or empty it, or add another one."""
    table = pq.read_table(file)
    at = rng.randrange(table.num_columns)
    name = table.column_names[at]
    kinds = ["rename", "drop", "double", "nulls", "add", "order", "utf8", "nest"]
    kind = rng.choice(["cast", "cast", "cast", *kinds])
    column = table.column(at)
    if kind == "cast":
        wanted = rng.choice(TYPES)
        try:
            table = table.set_column(at, name, column.cast(wanted))
        except (pa.ArrowException, ValueError):
            table = table.set_column(at, name, pa.nulls(len(column), wanted))
    elif kind == "rename":
        names = [*table.column_names[:at], rng.choice(TEXTS[1:]), *table.column_names[at + 1 :]]
        table = table.rename_columns(names)
    elif kind == "drop":
        table = table.remove_column(at)
    elif kind == "double":
        table = table.append_column(name, column)
    elif kind == "nulls":
        table = table.set_column(at, name, pa.nulls(len(column), column.type))
    elif kind == "add":
        table = table.append_column("more", pa.nulls(len(column)))
    elif kind == "order":
        names = rng.sample(table.column_names, table.num_columns)
        table = table.select(names) if len(set(names)) == len(names) else table
    elif kind == "utf8" and pa.types.is_string(column.type):
        bad = [b"\xff\xfe" if rng.random() < 0.3 else str(value).encode() for value in column.to_pylist()]
        table = table.set_column(at, name, pa.array(bad, pa.binary()).view(pa.string()))
    elif kind == "nest":
        table = table.set_column(at, name, pa.array([[value] for value in column.to_pylist()]))
    pq.write_table(table, file)
    return f"columns: {kind} {name}"


def mutate_json(file: Path, rng: random.Random) -> str:
    """Replace, remove, add or repeat something anywhere in a JSON document."""
    content = json.loads(file.read_text())
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in keys_of(node):
            places.append((node, key))
            walk(node[key])

    walk(content)
    if not places:
        return "json: nothing"
    parent, key = rng.choice(places)
    kind = rng.choice(["replace", "replace", "replace", "remove", "add", "surrogate", "number", "copy"])
    if kind == "replace":
        parent[key] = rng.choice(VALUES)
    elif kind == "remove":
        del parent[key]
    elif kind == "add":
        if isinstance(parent, dict):
            parent[rng.choice(TEXTS)] = rng.choice(VALUES)
        else:
            parent.append(rng.choice(VALUES))
    elif kind == "surrogate":
        parent[key] = "\ud800"
    elif kind == "number" and isinstance(parent[key], (int, float)):
        parent[key] = parent[key] + rng.choice([-1, 1, 0.5, -0.5])
    elif kind == "copy":
        other, at = rng.choice(places)
        parent[key] = json.loads(json.dumps(other[at]))
    file.write_text(json.dumps(content, indent=1))
    return f"json: {kind} {key!r}"


def keys_of(node: Any) -> list[Any]:
    """Return the keys of an object, or the places of a list."""
    if isinstance(node, dict):
        return list(node)
    return list(range(len(node))) if isinstance(node, list) else []


def mutate_lines(file: Path, rng: random.Random) -> str:
    """Remove, repeat, move, join or change lines."""
    lines = file.read_bytes().split(b"\n")
    at = rng.randrange(len(lines))
    kind = rng.choice(["drop", "repeat", "swap", "garbage", "word", "join"])
    if kind == "drop":
        del lines[at]
    elif kind == "repeat":
        lines.insert(at, lines[at])
    elif kind == "swap":
        lines.reverse()
    elif kind == "garbage":
        lines.insert(at, rng.choice(LINES))
    elif kind == "word":
        words = lines[at].split(b" ") if b" " in lines[at] else lines[at].split(b",")
        words[rng.randrange(len(words))] = rng.choice(TEXTS).encode()
        lines[at] = b",".join(words) if b"," in lines[at] else b" ".join(words)
    else:
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    file.write_bytes(b"\n".join(lines))
    return f"lines: {kind} {at}"


def mend(folder: Path, file: Path) -> None:
    """Let the description of a folder state the digest that a damaged file has now, as far as it lists it."""
    plan, manifest = folder / "plan.json", folder / "federation.json"
    try:
        if plan.exists() and file != plan:
            content = json.loads(plan.read_text())
            if "files" in content:
                content["files"] = table_digests(folder)
                plan.write_text(json.dumps(content))
        elif manifest.exists() and file != manifest and file.exists():
            known = file.relative_to(folder).as_posix()
            content = json.loads(manifest.read_text())
            _replace_digest(content, known, hashlib.sha256(file.read_bytes()).hexdigest())
            manifest.write_text(json.dumps(content))
    except (ValueError, OSError):
        return


def _replace_digest(node: Any, name: str, found: str) -> None:
    """Replace the digest of a file wherever a document has one."""
    if isinstance(node, dict):
        if isinstance(node.get(name), str):
            node[name] = found
        for value in node.values():
            _replace_digest(value, name, found)
    elif isinstance(node, list):
        for value in node:
            _replace_digest(value, name, found)
