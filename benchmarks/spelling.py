"""How the page spells figures and rows."""

from __future__ import annotations

from collections.abc import Sequence


def figure(value: float) -> str:
    """Spell a figure by three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"
