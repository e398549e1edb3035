"""What commands print: answers to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH_WITHOUT_TERMINAL = 100
"""Wide enough for our tables; rich would otherwise assume 80 columns and wrap them."""

SHOWN_REASONS = 5


def answer_json(document: dict[str, Any]) -> None:
    """Print the one JSON document of a command that was asked for it."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=not unicode, allow_nan=False) + "\n")


def answer(*lines: RenderableType) -> None:
    """Print lines or tables; text is taken literally, never as markup."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_WITHOUT_TERMINAL)
    for line in lines:
        console.print(line)


def told_reasons(reasons: Mapping[str, int]) -> list[str]:
    """Return lines that say why rows were set aside: the most frequent reasons."""
    return [f"  {count:,} × {reason}" for reason, count in list(reasons.items())[:SHOWN_REASONS]]


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something without a count of its own is under way."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def note(line: str) -> None:
    """Tell the person something that is not part of the answer."""
    with suppress(OSError):  # a place for notes that is full or closed changes no answer
        sys.stderr.write(f"meshwright: {line}\n")
        sys.stderr.flush()
