"""Pages of a reproduction: `reproduction.html` with every figure, and `reproduction.md` with the table."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.escape import html as escape
from meshwright.experiments.checks import VERDICTS, Check
from meshwright.files.atomic import new_file
from meshwright.report.page import badge, definitions, html_page

if TYPE_CHECKING:
    from meshwright.experiments.paper import Figure, Paper
    from meshwright.experiments.provenance import Provenance


@dataclass(frozen=True)
class Section:
    """A figure as it stands on the page: its panels and its checks."""

    paper: Paper
    figure: Figure
    drawings: tuple[Path, ...]
    """An SVG file per panel."""
    checks: tuple[Check, ...]


RULES = (
    "Each claim of a paper is one check. An order or a shape holds if it is true in every comparison, on the "
    "mean over seeds, except those that the seeds do not decide because their ranges overlap; these must not "
    "be the majority. It holds partly if it is true in at least half of them. A number holds within 10 % of "
    "the paper's, and partly within 25 %. Where the paper does not state its input in full, such as the "
    "sample of a social network or the distribution of sizes, a number holds within 25 %, or a share within "
    "0.1; partly within twice as much. Other tolerances are stated in the check. A limit holds if it is kept "
    "and partly if it is exceeded by at most 10 %. Ranges go from the lowest to the highest seed or case. We "
    "set these tolerances after the first runs: judge by the numbers, which stand side by side."
)


def write_pages(out: Path, sections: Sequence[Section], provenance: Provenance) -> Path:
    """Write both pages, and return the path of the HTML page."""
    page = out / "reproduction.html"
    for path, text in (
        (page, _html(sections, provenance)),
        (out / "reproduction.md", _markdown(sections, provenance)),
    ):
        with new_file(path) as beside:
            beside.write_text(text, encoding="utf-8")
    return page


def _by_paper(sections: Sequence[Section]) -> list[tuple[Paper, list[Section]]]:
    groups = groupby(sections, key=lambda section: section.paper.key)
    listed = [list(group) for _, group in groups]
    return [(group[0].paper, group) for group in listed]


def _tally(checks: Sequence[Check]) -> dict[str, int]:
    return {verdict: sum(check.verdict == verdict for check in checks) for verdict in VERDICTS}


def _all_checks(sections: Sequence[Section]) -> list[Check]:
    return [check for section in sections for check in section.checks]


def _html(sections: Sequence[Section], provenance: Provenance) -> str:
    """Return the page; it holds everything that it shows."""
    checks = _all_checks(sections)
    papers = _by_paper(sections)
    counts = " ".join(f"{badge(verdict)} {count}" for verdict, count in _tally(checks).items())
    links = "".join(
        f'<li><a href="#{escape(paper.key)}">{escape(paper.key)}</a> <span class="soft">{escape(paper.title)}'
        f": {_tally(_all_checks(group))['holds']} of {len(_all_checks(group))} claims hold</span></li>"
        for paper, group in papers
    )
    parts = [
        "<h1>The papers, run again</h1>",
        f"<p>{len(checks)} claims: {counts}</p>",
        f"<p class=soft>{escape(RULES)}</p>",
        definitions(provenance.lines()),
        f"<nav><ul>{links}</ul></nav>",
        *(_html_paper(paper, group) for paper, group in papers),
    ]
    return html_page("Reproduction", parts)


def _html_paper(paper: Paper, sections: Sequence[Section]) -> str:
    head = (
        f'<h2 id="{escape(paper.key)}">{escape(paper.key)}: {escape(paper.title)}</h2>'
        f"<p class=soft>{escape(paper.authors)}</p>"
    )
    return "\n".join([head, *(_html_figure(section) for section in sections)])


def _html_figure(section: Section) -> str:
    figure = section.figure
    panels = "\n".join(_image(path, figure.title) for path in section.drawings)
    note = f"<p class=soft>{escape(figure.note)}</p>" if figure.note else ""
    rows = "\n".join(_html_check(check) for check in section.checks)
    heading = "".join(f"<th>{name}</th>" for name in ("", "claim", "paper", "ours"))
    return "\n".join(
        [
            f'<section class="figure" id="{escape(section.paper.key)}-{escape(figure.key)}">',
            f"<h3>{escape(figure.key)}: {escape(figure.title)}</h3>",
            f"<p>{escape(figure.shows)}</p>{note}",
            f'<div class="panels">{panels}</div>',
            f'<table class="stacked"><thead><tr>{heading}</tr></thead>',
            f"<tbody>{rows}</tbody></table></section>",
        ]
    )


def _image(drawing: Path, title: str) -> str:
    image = base64.b64encode(drawing.read_bytes()).decode()
    return f'<img alt="{escape(title)}: our results" src="data:image/svg+xml;base64,{image}">'


def _html_check(check: Check) -> str:
    reason = f"<br>{escape(check.reason)}" if check.reason else ""
    return (
        f"<tr><td>{badge(check.verdict)}</td>"
        f'<td>{escape(check.claim)}<br><span class="id">{escape(check.id)}</span>{reason}</td>'
        f'<td data-label="paper">{escape(check.paper_value)}</td>'
        f'<td data-label="ours">{escape(check.ours)}</td></tr>'
    )


def _markdown(sections: Sequence[Section], provenance: Provenance) -> str:
    """Return the table of all checks with the machine, the time and the command."""
    checks = _all_checks(sections)
    tally = _tally(checks)
    counts = f"{tally['holds']} hold, {tally['partly']} hold partly, {tally['no']} do not"
    lines = ["# Reproduction", "", f"{len(checks)} claims: {counts}.", "", RULES, ""]
    lines += ["| | |", "| --- | --- |"]
    lines += [f"| {label} | {_cell(value)} |" for label, value in provenance.lines()]
    for paper, group in _by_paper(sections):
        lines += ["", f"## {paper.key}: {paper.title}", "", paper.authors + "."]
        for section in group:
            figure = section.figure
            lines += ["", f"### {figure.key}: {figure.title}", "", figure.shows]
            lines += ["", figure.note] if figure.note else []
            lines += ["", "| verdict | claim | paper | ours |", "| --- | --- | --- | --- |"]
            lines += [_markdown_row(check) for check in section.checks]
    return "\n".join(lines) + "\n"


def _markdown_row(check: Check) -> str:
    reason = f" *{check.reason}*" if check.reason else ""
    words = (f"**{check.verdict}**", f"{check.claim}.{reason}", check.paper_value, check.ours)
    return "| " + " | ".join(_cell(word) for word in words) + " |"


def _cell(text: str) -> str:
    """Return text for a cell of a Markdown table."""
    for letter in "\\|<>`":
        text = text.replace(letter, f"\\{letter}")
    return " ".join(text.split())
