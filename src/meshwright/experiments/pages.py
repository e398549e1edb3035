"""Pages of a reproduction: `reproduction.html` with every figure, and `reproduction.md` with the table.

Both state where they come from: the command, the machine, the version and the time.
"""

from __future__ import annotations

import base64
import os
import platform
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import meshwright as mw
from meshwright.experiments.checks import Check, tally
from meshwright.experiments.paper import Case, Figure, Paper, Value
from meshwright.files.atomic import new_file
from meshwright.formatting import counted, duration
from meshwright.formatting import escape_html as escape
from meshwright.report.page import badge, definitions, html_page


@dataclass(frozen=True)
class Provenance:
    """How a reproduction was made."""

    command: str
    machine: str
    version: str
    date: str
    """The day, in UTC."""
    seconds: float
    """CPU time of all cells together, also those of earlier runs that were stopped."""
    cells: int
    seeds: int
    """The largest number of seeds of a cell."""
    graphs: tuple[str, ...]
    """The real graphs that were given, in words."""

    def lines(self) -> list[tuple[str, str]]:
        """Return what a page states, as labels and values."""
        return [
            ("command", self.command),
            ("machine", self.machine),
            ("version", f"meshwright {self.version}"),
            ("date", self.date),
            (
                "time",
                f"{duration(self.seconds)} of CPU for {counted(self.cells, 'cell')}, "
                f"up to {counted(self.seeds, 'seed')} each",
            ),
            ("graphs", "; ".join(self.graphs) or "none given: social graphs are synthetic"),
        ]


def describe_command(key: str, *, full: bool, graphs: Iterable[str], out: Path) -> str:
    """Return the command that makes a reproduction.

    >>> describe_command("podc07", full=False, graphs=[], out=Path("out"))
    'meshwright reproduce podc07 --quick --out out'
    """
    named = [word for name in graphs for word in ("--graph", f"{name}=FILE")]
    size = "--full" if full else "--quick"
    return shlex.join(["meshwright", "reproduce", key, size, *named, "--out", out.name or str(out)])


PUBLIC_GRAPHS = {
    "3a4ee69372e8016332c23f5f54cb1c9f56c589256af4038963fd03b127789899": "ego-Facebook of SNAP, both ways",
    "3ff0e40a6c31bb4ff8dfd4f98ecce5917db1e2206298add53431b1ae2993f326": "a public follow graph of Twitter",
}
"""Public graphs by their fingerprint, which names them whatever their file is called."""


def describe_graph(name: str, graph: mw.Interest) -> str:
    """Return the name of a graph, its size, and which public graph it is, if it is one that we know."""
    known = PUBLIC_GRAPHS.get(graph.fingerprint)
    size = (
        f"{graph.num_nodes:,} subscribers, {graph.num_topics:,} topics, "
        f"{graph.num_subscriptions:,} subscriptions"
    )
    return f"{name}: {known}, {size}" if known else f"{name}: {size}"


def describe_machine() -> str:
    """Return the processor, its cores, the memory, the system and the Python of this machine."""
    cores = os.cpu_count() or 1
    parts = [_processor(), f"{cores} core{'s' if cores > 1 else ''}"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        parts.append(f"{memory / 2**30:.0f} GiB")
    parts.append(f"{platform.system()} {platform.machine()}")
    parts.append(f"Python {platform.python_version()}")
    return ", ".join(parts)


def _processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


@dataclass(frozen=True)
class Section:
    """A figure as it stands on the page: its panels and its checks."""

    paper: Paper
    figure: Figure
    cases: tuple[Case, ...]
    """What was run."""
    drawings: tuple[Path, ...]
    """An SVG file per panel."""
    checks: tuple[Check, ...]


MOST_VALUES = 8
"""A parameter with more values than this is shown by its first and its last value."""


def describe_cases(cases: Sequence[Case]) -> str:
    """Return what was run for a figure: the values of each parameter, and the seeds.

    >>> from meshwright.experiments.paper import grid
    >>> describe_cases(grid(seeds=3, nodes=(100, 2000), popularity="zipf"))
    'Run with nodes 100, 2,000; popularity zipf; 3 seeds.'
    """
    values: dict[str, dict[Value, None]] = {}
    for case in cases:
        for name, value in case.parameters.items():
            values.setdefault(name, {})[value] = None
    parts = [f"{name.replace('_', ' ')} {_listed([*found])}" for name, found in values.items()]
    seeds = len({case.seed for case in cases})
    parts.append(f"{seeds} seed{'s' if seeds != 1 else ''}")
    return f"Run with {'; '.join(parts)}."


def _listed(values: Sequence[Value]) -> str:
    """Return values in words, numbers in order."""
    if not any(isinstance(value, str) for value in values):
        values = sorted(values)
    named = [f"{value:,}" if isinstance(value, int) else str(value) for value in values]
    if len(named) > MOST_VALUES:
        return f"{named[0]} to {named[-1]}, {len(named)} values"
    return ", ".join(named)


RULES = (
    "Each claim of a paper is one check. An order or a shape holds if it is true in every comparison, on the "
    "mean over seeds, except those that the seeds do not decide because the means differ by less than two "
    "standard errors; these must not be the majority. It holds partly if it is true in at least half of "
    "them. A number holds within 10 % of the paper's, and partly within 25 %. Where the paper does not state "
    "its input in full, such as the sample of a social network or the distribution of sizes, a number holds "
    "within 25 %, or a share within 0.1; partly within twice as much. Other tolerances are stated in the "
    "check. A limit holds if it is kept and partly if it is exceeded by at most 10 %. Ranges go from the "
    "lowest to the highest seed or case. We set these tolerances after the first runs: judge by the numbers, "
    "which stand side by side."
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


def _all_checks(sections: Sequence[Section]) -> list[Check]:
    return [check for section in sections for check in section.checks]


def _html(sections: Sequence[Section], provenance: Provenance) -> str:
    """Return the page; it holds everything that it shows."""
    checks = _all_checks(sections)
    papers = _by_paper(sections)
    counts = " ".join(f"{badge(verdict)} {count}" for verdict, count in tally(checks).items())
    links = "".join(
        f'<li><a href="#{escape(paper.key)}">{escape(paper.key)}</a> <span class="soft">{escape(paper.title)}'
        f": {tally(_all_checks(group))['holds']} of {len(_all_checks(group))} claims hold</span></li>"
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
    note = f"<p class=soft>{escape(_note(section))}</p>"
    rows = "\n".join(_html_check(check) for check in section.checks)
    heading = "".join(f"<th>{name}</th>" for name in ("", "claim", "paper", "ours"))
    return "\n".join(
        [
            f'<section class="figure" id="{escape(section.paper.key)}-{escape(figure.key)}">',
            f"<h3>{escape(figure.key)}: {escape(figure.title)}</h3>",
            f"<p>{escape(figure.shows)}</p>{note}",
            f'<div class="panels">{panels}</div>',
            f'<table class="stacked"><thead><tr>{heading}</tr></thead><tbody>{rows}</tbody></table>'
            if section.checks
            else "",
            "</section>",
        ]
    )


def _note(section: Section) -> str:
    """Return what readers must know about our side of a figure."""
    return f"{section.figure.note} {describe_cases(section.cases)}".strip()


def _image(drawing: Path, title: str) -> str:
    image = base64.b64encode(drawing.read_bytes()).decode()
    return f'<img alt="{escape(title)}: our results" src="data:image/svg+xml;base64,{image}">'


def _html_check(check: Check) -> str:
    reason = f'<br><span class="soft">{escape(check.reason)}</span>' if check.reason else ""
    return (
        f"<tr><td>{badge(check.verdict)}</td>"
        f'<td class="claim">{escape(check.claim)}<br><span class="id">{escape(check.id)}</span>{reason}</td>'
        f'<td class="value" data-label="paper">{escape(check.paper_value)}</td>'
        f'<td class="value" data-label="ours">{escape(check.ours)}</td></tr>'
    )


def _markdown(sections: Sequence[Section], provenance: Provenance) -> str:
    """Return the table of all checks with the machine, the time and the command."""
    checks = _all_checks(sections)
    found = tally(checks)
    counts = f"{found['holds']} hold, {found['partly']} hold partly, {found['no']} do not"
    lines = ["# Reproduction", "", f"{len(checks)} claims: {counts}.", "", RULES, ""]
    lines += ["| | |", "| --- | --- |"]
    lines += [f"| {label} | {_cell(value)} |" for label, value in provenance.lines()]
    for paper, group in _by_paper(sections):
        lines += ["", f"## {paper.key}: {paper.title}", "", paper.authors + "."]
        for section in group:
            figure = section.figure
            lines += ["", f"### {figure.key}: {figure.title}", "", figure.shows]
            lines += ["", _note(section)]
            if section.checks:
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
