"""How results show themselves in a notebook: a small table, and a row of bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from meshwright.formatting import escape_html as escape

BAR_WIDTH, BAR_HEIGHT = 9, 60
MOST_BARS = 60
"""More bars than this are drawn in groups of neighbours."""


def html_table(rows: Iterable[Sequence[object]], *, head: Sequence[str] = (), caption: str = "") -> str:
    """Return an HTML table; every text is escaped.

    >>> html_table([("a", 1)], head=("name", "links"), caption="<x>")
    '<table><caption>&lt;x&gt;</caption><tr><th>name</th><th>links</th></tr><tr><td>a</td><td>1</td></tr></table>'
    """
    parts = [f"<caption>{escape(caption)}</caption>"] if caption else []
    if head:
        parts.append(_row("th", head))
    parts += [_row("td", row) for row in rows]
    return f"<table>{''.join(parts)}</table>"


def _row(cell: str, values: Sequence[object]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(str(value))}</{cell}>' for value in values)}</tr>"


def html_bars(counts: Sequence[float], *, label: str) -> str:
    """Return a row of bars as SVG, with what they show under it.

    >>> html_bars([1, 2], label="links").count("<rect")
    2
    """
    group = -(-len(counts) // MOST_BARS) or 1
    heights = [sum(counts[at : at + group]) for at in range(0, len(counts), group)]
    most = max(heights, default=0) or 1
    bars = "".join(
        f'<rect x="{place * BAR_WIDTH}" y="{BAR_HEIGHT * (1 - height / most):.1f}" '
        f'width="{BAR_WIDTH - 2}" height="{BAR_HEIGHT * height / most:.1f}"/>'
        for place, height in enumerate(heights)
    )
    width = max(1, BAR_WIDTH * len(heights))
    return (
        f'<svg role="img" aria-label="{escape(label)}" width="{width}" height="{BAR_HEIGHT}" '
        f'fill="currentColor">{bars}</svg><br><small>{escape(label)}</small>'
    )
