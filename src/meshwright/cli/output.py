"""What commands print: answers to stdout, notes to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from meshwright.formatting import escape

if TYPE_CHECKING:
    from rich.console import RenderableType


WIDTH_WITHOUT_TERMINAL = 100
"""Wide enough for our tables; rich would otherwise assume 80 columns and wrap them."""


def answer_json(document: dict[str, Any]) -> None:
    """Print the JSON document of a command."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=not unicode, allow_nan=False)
    sys.stdout.write(escape.json(text) + "\n")


class Answer:
    """What a command answers: the result of its action, and how people read it.

    If no lines are given, they are those of the result. It also says whether it `passed`: exit code 0 or 1.
    """

    def __init__(self, result: Any, *lines: RenderableType, passed: bool | None = None) -> None:
        self.result = result
        self.lines = lines or result.lines
        self.passed = getattr(result, "passed", True) if passed is None else passed

    def show(self, *, json: bool) -> None:
        """Print the result as JSON or in lines, and its notes to stderr."""
        notes(getattr(self.result, "notes", ()))
        if json:
            answer_json(self.result.to_dict())
        else:
            answer(*self.lines)


def answer(*lines: RenderableType) -> None:
    """Print lines or tables; text is literal, never markup, and never steers the terminal."""
    if all(isinstance(line, str) for line in lines):
        print(*(escape.terminal(str(line)) for line in lines), sep="\n")
        return
    from rich.console import Console
    from rich.segment import Segment, Segments

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_WITHOUT_TERMINAL)
    for line in lines:
        if isinstance(line, str):
            console.print(escape.terminal(line))
            continue
        parts = [
            Segment(escape.terminal(part.text), part.style, part.control) for part in console.render(line)
        ]
        console.print(Segments(parts), end="")


def note(line: str) -> None:
    """Print a line to stderr that is not part of the answer."""
    with suppress(OSError):  # a full or closed stderr must not change the answer
        sys.stderr.write(f"meshwright: {escape.terminal(line)}\n")
        sys.stderr.flush()


def notes(lines: Iterable[str]) -> None:
    """Print the notes of a result to stderr."""
    for line in lines:
        note(line)
