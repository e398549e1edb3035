"""JSON parsed so that whatever is wrong with it is a ValueError."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def parse_json(text: str, *, gather: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return what a JSON text holds; `gather` makes an object of its keys and values.

    Python's parser takes a call for each level, so that lists in lists in lists can be too deep for it.
    """
    try:
        return json.loads(text, object_pairs_hook=gather)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
