"""The look that all tables for the terminal share."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.table import Table


def plain_table(first: str, figures: Iterable[str]) -> Table:
    """Return an empty table: a column of names under the first heading, then columns of figures."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column(first, overflow="fold")
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
