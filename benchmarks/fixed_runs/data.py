"""The data of a run: what counts for its digest.

Data are edges, trees, plans, datasets, configuration files and figures. Left out are:

- times, paths and library versions, which differ from run to run;
- words for people, which may be rewritten: answers without `--json`, complaints, summaries, guides, pages,
  pictures, and comments in configuration files. Of fields that explain something, only the number of
  explanations counts.

Floats are rounded to 12 significant digits.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import meshwright as mw

DIGITS = 16
"""Hexadecimal digits of a digest."""
SIGNIFICANT = 12
"""Decimal digits of a float."""
FOLDER = "HERE"
"""Replaces the path of the temporary folder."""
FOR_PEOPLE = ("README", ".md", ".html", ".png", ".svg")
"""Endings of files that people read: only their names count."""
COMMENTS = {".conf": ("#",), ".service": ("#", "Description=")}
"""Beginnings of lines for people in configuration files, by suffix."""
EXPLANATIONS = ("why", "reason", "reasons", "unmet", "disagreements")
"""Fields and columns that explain something in words."""


def is_left_out(name: str) -> bool:
    """Say whether a figure, field or column is a duration.

    >>> is_left_out("seconds"), is_left_out("mean_ms"), is_left_out("edges")
    (True, True, False)
    """
    return name == "seconds" or name.endswith(("_seconds", "_ms"))


def plain(value: Any) -> Any:
    """Return the data of a value as JSON can hold them.

    >>> plain({"b": (1, 0.1 + 0.2), "a": np.array([1.0, np.nan]), "seconds": 3.5})
    {'b': [1, 0.3], 'a': [1.0, 'nan']}
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, (str, Path)):
        return str(value).replace(str(Path.cwd()), FOLDER)
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, Mapping):
        return {
            str(key): count_explanations(held) if key in EXPLANATIONS else plain(held)
            for key, held in value.items()
            if not is_left_out(str(key))
        }
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist())
    if isinstance(value, pa.Table):
        kept = [field for field in value.schema if not is_left_out(field.name)]
        columns = {field.name: value.column(field.name).to_pylist() for field in kept}
        types = {field.name: f"{field.name}: {field.type}" for field in kept}
        return {types[name]: held for name, held in plain(columns).items()}
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return plain(value.to_pylist())
    if isinstance(value, mw.Interest):
        return value.whole_fingerprint
    if isinstance(value, mw.Overlay):
        return plain(value.to_arrow())
    if is_dataclass(value):
        return plain({field.name: getattr(value, field.name) for field in fields(value)})
    if isinstance(value, (set, frozenset)):
        return sorted(plain(held) for held in value)
    if isinstance(value, Iterable):
        return [plain(held) for held in value]
    raise TypeError(f"a run returns a {type(value).__name__}, which has no plain form")


def count_explanations(value: Any) -> int:
    """Return the number of texts in a field: of a list its length, of a text 1, of nothing 0.

    >>> count_explanations(["too deep", "too wide"]), count_explanations("too deep"), count_explanations(None)
    (2, 1, 0)
    """
    return len(value) if isinstance(value, list) else int(bool(value))


def rounded(value: float) -> float | str:
    """Round a float. JSON has no infinity and no NaN, so these become text; minus zero becomes zero."""
    return float(f"{value:.{SIGNIFICANT}g}") + 0.0 if math.isfinite(value) else str(value)


def as_text(value: Any) -> str:
    """Return the data of a run as JSON. The order of keys does not count, the order of rows does."""
    return json.dumps(plain(value), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)


def digest(text: str) -> str:
    """Return a shortened sha256."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:DIGITS]


def files(folder: str | Path) -> dict[str, Any]:
    """Return the data of each file in a folder."""
    found = sorted(file for file in Path(folder).rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): content(file) for file in found}


def content(file: Path) -> Any:
    """Return the data of a file: a table, JSON or text."""
    if file.name.endswith(FOR_PEOPLE):
        return None
    if file.suffix == ".parquet":
        return pq.read_table(file)
    if file.suffix == ".json":
        return json.loads(file.read_text(encoding="utf-8"))
    data = file.read_bytes()
    text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode(errors="backslashreplace")
    if file.suffix in COMMENTS:
        return [line for line in text.splitlines() if not line.startswith(COMMENTS[file.suffix])]
    return text
