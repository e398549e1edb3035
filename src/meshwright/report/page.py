"""What HTML pages share: the style sheet, the frame, tables, badges, cards; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import TypeAlias

from meshwright.formatting import visible as all_visible

LONGEST_NAME = 120
"""Longer names are cut on pages."""


def visible(name: object) -> str:
    r"""Return a name for people: control and direction characters are spelled out, and long ones are cut.

    >>> visible("a\x1b[31m"), visible("\u202egpj.exe"), visible(7)
    ('a\\x1b[31m', '\\u202egpj.exe', '7')
    """
    text = str(name)
    if len(text) > LONGEST_NAME:
        text = f"{text[: LONGEST_NAME - 1]}…"
    return all_visible(text)


def asset(name: str) -> str:
    """Return the text of a file that pages contain: a style sheet or a script."""
    return (files("meshwright.report") / "assets" / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Cell:
    """A piece of a table's cell: text, which is escaped, and where it leads."""

    text: str
    link: str = ""
    """Attributes of a link, such as `href="#graph"`; trusted."""


Row: TypeAlias = Sequence[str | Sequence[Cell]]
"""The cells of a row: texts, or pieces that may lead somewhere."""


def html_page(title: str, body: Iterable[str], *, head: str = "") -> str:
    """Return a page with the common style sheet; `head` is added to it, such as further styles."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(visible(title))}</title><style>\n{asset('page.css')}</style>{head}</head><body>",
            *(part for part in body if part),
            "</body></html>\n",
        ]
    )


def page_table(head: Sequence[str], rows: Iterable[Row], *, stacked: bool = False) -> str:
    """Return a table: the first column is text, the others are figures; on a phone rows can be stacked.

    >>> page_table(["name", "links"], [["<a>", "1"]]).count("&lt;a&gt;")
    1
    """
    heading = "".join(
        f'<th scope="col"{_number(place)}>{escape(word)}</th>' for place, word in enumerate(head)
    )
    body = "\n".join(
        "<tr>"
        + "".join(
            f"<td{_number(place)}{_label(place, head)}>{_content(cell)}</td>"
            for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    kind = ' class="stacked"' if stacked else ""
    return (
        f'<div class="scroll"><table{kind}><thead><tr>{heading}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _number(place: int) -> str:
    return ' class="number"' if place else ""


def _label(place: int, head: Sequence[str]) -> str:
    return f' data-label="{escape(head[place])}"' if place and head[place] else ""


def _content(cell: str | Sequence[Cell]) -> str:
    return escape(cell) if isinstance(cell, str) else " – ".join(_piece(piece) for piece in cell)


def _piece(piece: Cell) -> str:
    text = f"<bdi>{escape(piece.text)}</bdi>"
    return f"<a {piece.link}>{text}</a>" if piece.link else text


def badge(verdict: str, text: str | None = None) -> str:
    """Return a badge in the colour of a verdict: `holds`, `partly` or `no`."""
    return f'<span class="badge {verdict}">{escape(text or verdict)}</span>'


def card(label: str, figure: str, remark: str = "") -> str:
    """Return a card with one figure."""
    note = f"<small>{escape(remark)}</small>" if remark else ""
    return f"<div><small>{escape(label)}</small><b>{escape(figure)}</b>{note}</div>"


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a list of labels and values."""
    return (
        f"<dl>{''.join(f'<dt>{escape(label)}</dt><dd>{escape(value)}</dd>' for label, value in pairs)}</dl>"
    )
