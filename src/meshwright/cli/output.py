"""What commands print: answers to stdout, notes to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from meshwright.formatting import escape

if TYPE_CHECKING:
    from rich.console import RenderableType


def check_target(path: str | Path, kind: str) -> None:
    """Raise an OutputError before long work if a folder of this kind cannot be written to a path or URL."""
    from meshwright.files.atomic import check_free, check_place
    from meshwright.files.header import KINDS
    from meshwright.files.remote import check_bucket, check_remote_place
    from meshwright.files.urls import local_path

    local, wanted = local_path(path), next(known for known in KINDS if known.name == kind)
    if local is not None:
        check_free(Path(local), wanted)
        check_place(path)
    elif kind == "dataset":
        check_bucket(str(path))  # a dataset that is only half written may be replaced
    else:
        check_remote_place(str(path), wanted)


WIDTH_WITHOUT_TERMINAL = 100
"""Wide enough for our tables; rich would otherwise assume 80 columns and wrap them."""

SHOWN_REASONS = 5


def answer_json(document: dict[str, Any]) -> None:
    """Print the JSON document of a command."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=not unicode, allow_nan=False)
    sys.stdout.write(escape.json(text) + "\n")


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


def format_reasons(reasons: Mapping[str, int]) -> list[str]:
    """Return lines with the most frequent reasons for quarantine."""
    return [f"  {count:,} × {reason}" for reason, count in list(reasons.items())[:SHOWN_REASONS]]


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner on a terminal while work without a count runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def note(line: str) -> None:
    """Print a line to stderr that is not part of the answer."""
    with suppress(OSError):  # a full or closed stderr must not change the answer
        sys.stderr.write(f"meshwright: {escape.terminal(line)}\n")
        sys.stderr.flush()


def end_if_empty(
    source: str, subscriptions: int, *, json: bool, mend: str = "name one that has some"
) -> None:
    """End the command with exit code 1 if a source has no subscriptions: there is nothing to answer."""
    from meshwright.cli.exit_codes import ANSWER_IS_NO

    if subscriptions:
        return
    note(f"{source} has no subscriptions: {mend}")
    if json:
        answer_json({"source": source, "subscriptions": 0})
    raise typer.Exit(ANSWER_IS_NO)
