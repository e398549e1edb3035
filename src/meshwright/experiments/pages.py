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
STYLE = """
:root { color-scheme: light dark; --text: #1d2129; --soft: #5b6370; --line: #d8dce3; --page: #fff;
  --card: #f6f7f9; --holds: #00734f; --partly: #8a5a00; --no: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8ec; --soft: #a2a9b5; --line: #3a404b;
  --page: #15181d; --card: #1e2229; --holds: #4cc38a; --partly: #e0a83c; --no: #ff8a80; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 64rem;
  color: var(--text); background: var(--page); overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.3rem; margin: 3rem 0 .2rem; }
h3 { font-size: 1.05rem; margin: 0 0 .5rem; }
a { color: inherit; } .soft { color: var(--soft); } p { margin: .4rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; } dd { margin: 0; }
dt { color: var(--soft); } code { font-size: .9em; }
nav ul { padding-left: 1.2rem; }
.figure { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem;
  margin: 1rem 0; break-inside: avoid; }
.panels { display: flex; flex-wrap: wrap; gap: .6rem; margin: .6rem 0; justify-content: center; }
.panels img { flex: 1 1 20rem; min-width: 0; max-width: 36rem; background: #fff; border-radius: .4rem; }
.badge { display: inline-block; min-width: 4.2em; padding: 0 .5em; border: 1.5px solid currentColor;
  border-radius: 1em; text-align: center; font-size: .85rem; font-weight: 600; white-space: nowrap; }
.holds { color: var(--holds); } .partly { color: var(--partly); } .no { color: var(--no); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; }
th { color: var(--soft); font-weight: 500; }
tr + tr td, thead + tbody td { border-top: 1px solid var(--line); }
.id { font-size: .78rem; color: var(--soft); }
@media (max-width: 40rem) {
  thead { display: none; } table, tbody, tr, td { display: block; width: 100%; }
  td { border: 0 !important; padding: .1rem 0; } tr { border-top: 1px solid var(--line); padding: .5rem 0; }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); } }
@media print { body { max-width: none; font-size: 10pt; } nav { display: none; }
  .figure { border-color: #bbb; background: none; } h2 { break-after: avoid; } }
"""


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
    counts = " ".join(f"{_badge(verdict)} {count}" for verdict, count in _tally(checks).items())
    stated = "".join(
        f"<dt>{escape(label)}</dt><dd>{escape(value)}</dd>" for label, value in provenance.lines()
    )
    links = "".join(
        f'<li><a href="#{escape(paper.key)}">{escape(paper.key)}</a> <span class="soft">{escape(paper.title)}'
        f": {_tally(_all_checks(group))['holds']} of {len(_all_checks(group))} claims hold</span></li>"
        for paper, group in papers
    )
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Reproduction</title><style>{STYLE}</style></head><body>",
        "<h1>The papers, run again</h1>",
        f"<p>{len(checks)} claims: {counts}</p>",
        f"<p class=soft>{escape(RULES)}</p>",
        f"<dl>{stated}</dl>",
        f"<nav><ul>{links}</ul></nav>",
        *(_html_paper(paper, group) for paper, group in papers),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


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
            f"<table><thead><tr>{heading}</tr></thead><tbody>{rows}</tbody></table></section>",
        ]
    )


def _image(drawing: Path, title: str) -> str:
    image = base64.b64encode(drawing.read_bytes()).decode()
    return f'<img alt="{escape(title)}: our results" src="data:image/svg+xml;base64,{image}">'


def _html_check(check: Check) -> str:
    reason = f"<br>{escape(check.reason)}" if check.reason else ""
    return (
        f"<tr><td>{_badge(check.verdict)}</td>"
        f'<td>{escape(check.claim)}<br><span class="id">{escape(check.id)}</span>{reason}</td>'
        f'<td data-label="paper">{escape(check.paper_value)}</td>'
        f'<td data-label="ours">{escape(check.ours)}</td></tr>'
    )


def _badge(verdict: str) -> str:
    return f'<span class="badge {verdict}">{verdict}</span>'


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
