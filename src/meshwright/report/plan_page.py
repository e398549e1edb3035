"""The page of a plan: one HTML file with everything that it shows, which asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Iterator
from html import escape
from importlib.metadata import version
from io import BytesIO
from pathlib import Path

import numpy as np

from meshwright import measure
from meshwright.files.atomic import new_file
from meshwright.formatting import counted, excess, percentage
from meshwright.report.graph_data import GraphData, graph_data
from meshwright.report.page import asset, badge, card, definitions, html_page, page_table, visible
from meshwright.report.plan_facts import PlanFacts, alternatives, made_by, topic_effort
from meshwright.report.plan_sections import (
    SHOWN,
    broker_table,
    degree_chart,
    graph_picture,
    group_table,
    pareto_point,
    split_first,
    support_chart,
    topic_table,
    tree_section,
)
from meshwright.report.sheet import UNSTATED, inline_svg
from meshwright.report.tables import name_of

VERSIONS = ("meshwright", "numpy", "scipy", "numba", "pyarrow", "matplotlib")
"""The packages whose versions a page states."""


def write_plan_page(facts: PlanFacts, path: str | Path) -> Path:
    """Write the page, whole or not at all, and return its path.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    text = plan_page(facts)
    with new_file(path) as beside:
        beside.write_text(text, encoding="utf-8")
    return Path(path)


def plan_page(facts: PlanFacts) -> str:
    """Return the page as text; the same facts give the same text."""
    effort = topic_effort(facts.overlay)
    hardest = split_first(effort)[:SHOWN]
    graph = graph_data(facts.trees, first_topics=hardest)
    script = asset("graph_view.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The policy lets the page run its own script and nothing else, and load nothing.
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        f"form-action 'none'; script-src 'sha256-{digest}'"
    )
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        f'<meta name="generator" content="meshwright"><style>\n{asset("graph.css")}</style>'
    )
    title = f"{name_of(facts)}: {counted(facts.interest.num_nodes, 'broker')}"
    sections = {
        "savings": ("What it saves", _savings(facts)),
        "degrees": ("Links and support", _charts(facts)),
        "brokers": ("Busiest brokers", broker_table(facts, graph)),
        "topics": ("Topics that are hardest to connect", topic_table(facts, effort, hardest, graph)),
        "groups": ("Largest groups of filters", group_table(facts, graph)),
        "trees": ("The way of messages", tree_section(facts, graph)),
        "graph": ("The graph", _graph(facts, graph)),
        "made": ("How it was made", _made(facts)),
    }
    shown = {key: section for key, section in sections.items() if section[1]}
    links = " · ".join(f'<a href="#{key}">{escape(name)}</a>' for key, (name, _) in shown.items())
    body = [
        "<header>",
        *_headline(facts),
        f"</header><nav aria-label=Sections>{links}</nav><main>",
        *(
            f'<section id="{key}"><h2>{escape(name)}</h2>{content}</section>'
            for key, (name, content) in shown.items()
        ),
        "</main>",
        f'<script type="application/octet-stream" id="graph-data">{graph.payload}</script>',
        f"<script>{script}</script>",
    ]
    return html_page(title, body, head=head)


def _headline(facts: PlanFacts) -> Iterator[str]:
    """Yield the title, the verdict and the main figures."""
    verdict, interest = facts.verdict, facts.interest
    yield f"<h1>{escape(visible(name_of(facts)))}</h1>"
    size = (
        f"{counted(interest.num_nodes, 'broker')}, {counted(interest.num_topics, 'topic')}, "
        f"{counted(interest.num_subscriptions, 'subscription')}"
    )
    yield f'<p class="soft">{size}</p>'
    yield f'<p class="verdict">{_verdict(facts)}</p>'
    if verdict.disagreements:
        wrong = verdict.disagreements[:SHOWN]
        yield f"<ul>{''.join(f'<li>{escape(visible(line))}</li>' for line in wrong)}</ul>"
    yield '<div class="cards">'
    average = verdict.verification.degrees.average
    yield card("links", f"{len(facts.overlay):,}", f"{average:.2f} per broker on average")
    busiest = int(facts.degrees.max(initial=0))
    yield card("highest degree", f"{busiest:,}", _lowest_degree(facts))
    split = len(verdict.verification.split_topics)
    connected = "every topic is connected" if not split else f"{counted(split, 'topic')} split"
    yield card("support", percentage(verdict.verification.support), connected)
    yield _gap_card(facts)
    yield card("verified", "yes" if verdict.passed else "NO", "recomputed by independent code")
    yield "</div>"
    yield f"<p><b>Guarantee.</b> {escape(_guarantee(facts))}</p>"


def _verdict(facts: PlanFacts) -> str:
    """Return one sentence: whether the plan does what it should."""
    verdict = facts.verdict
    if not verdict.passed:
        return f"{badge('no', 'NOT verified')} The plan is not what it states, or leaves topics split."
    if verdict.complete:
        return (
            f"{badge('holds', 'verified')} Every topic is connected, and every figure is as the plan states."
        )
    return (
        f"{badge('partly', 'verified, partial')} Every figure is as the plan states. Within its limits it "
        f"connects {percentage(verdict.verification.support)} of what can be connected."
    )


def _lowest_degree(facts: PlanFacts) -> str:
    if facts.verdict.degrees is None:
        return "links of the busiest broker"
    return f"links of the busiest broker; certified: at least {facts.verdict.degrees.degree:,}"


def _gap_card(facts: PlanFacts) -> str:
    gap, bound = facts.verdict.gap, facts.verdict.lower_bound
    at_degree = facts.verdict.gap_at_degree
    if gap is not None and at_degree is not None and facts.verdict.degrees is not None:
        by_solver = (facts.verdict.solver_bound_at_degree or 0) > facts.verdict.degrees.links
        proof = f"{'by the solver' if by_solver else 'certified'}, with at most"
        needed = f"{proof} {facts.verdict.at_degree:,} links per broker; ≤ {excess(gap)} without"
        return card("above the fewest links", f"≤ {excess(at_degree)}", f"{needed} that limit")
    solver = facts.verdict.solver_bound or 0
    if gap is not None and solver > (bound or 0):
        return card(
            "above the fewest links", f"≤ {excess(gap)}", f"by the solver: at least {solver:,} are needed"
        )
    if gap is not None:
        cut = "" if facts.verdict.bound_rising is None else "; the proof was stopped by the time limit"
        return card(
            "above the fewest links", f"≤ {excess(gap)}", f"certified: at least {bound:,} are needed{cut}"
        )
    if bound is not None:
        return card("links needed", f"≥ {bound:,}", "certified, to connect every topic")
    return card("above the fewest links", "unknown", "not certified: plan with --certify")


def _guarantee(facts: PlanFacts) -> str:
    from meshwright.designs.registry import lookup

    known = lookup(facts.algorithm)
    if known is None:
        return "None is known for this algorithm."
    return f"{known.guarantee[:1].upper()}{known.guarantee[1:]} ({known.reference})."


def _savings(facts: PlanFacts) -> str:
    own = len(facts.overlay)
    rows = [
        [way, f"{links:,}", f"{degree:,}", percentage(support), _saved(own, links)]
        for way, links, degree, support in alternatives(facts)
    ]
    support = percentage(facts.verdict.verification.support)
    rows.append(["this plan", f"{own:,}", f"{int(facts.degrees.max(initial=0)):,}", support, "–"])
    remark = ""
    if facts.today is not None and facts.today.unknown:
        left = counted(facts.today.unknown, "bridge")
        remark = f'<p class="soft">{left} of today left out: a broker is not in the dataset.</p>'
    return page_table(["instead", "links", "highest degree", "support", "saved"], rows) + remark


def _saved(own: int, other: int) -> str:
    """Return the share of links that a plan saves, or takes more.

    >>> _saved(20, 100), _saved(100, 100), _saved(150, 100), _saved(1, 0)
    ('80.0 %', '0 %', '50.0 % more', '–')
    """
    if not other:
        return "–"
    if own <= other:
        return percentage(1 - own / other)
    more = own / other - 1
    return f"{100 * more:,.0f} % more" if more >= 1 else f"{percentage(more)} more"


def _charts(facts: PlanFacts) -> str:
    overlay = facts.overlay
    degrees = inline_svg(degree_chart(overlay), "degrees", "How many brokers have how many links")
    support = inline_svg(support_chart(overlay), "support", "Support by the number of links")
    point = pareto_point(measure.support_curve(overlay))
    words = ""
    if point is not None:
        words = (
            f"<p>The first {point.links:,} links, {percentage(point.share_of_links)} of them, make 80 % "
            f"of the connections; the first 20 % make {percentage(point.by_fifth)}.</p>"
        )
    return (
        f'<div class="panels"><figure class="chart">{degrees}</figure>'
        f'<figure class="chart">{support}</figure></div>{words}'
    )


def _graph(facts: PlanFacts, graph: GraphData) -> str:
    """Return the section of the graph: fields and buttons, the view, and a picture for paper."""
    u, v = (np.searchsorted(graph.brokers, end[graph.links]) for end in (facts.overlay.u, facts.overlay.v))
    target = BytesIO()
    graph_picture(graph.places, u, v).savefig(target, format="png", dpi=110, metadata=UNSTATED[".png"])
    picture = base64.b64encode(target.getvalue()).decode()
    notes = f'<p class="soft note">{escape(" ".join(graph.notes))}</p>' if graph.notes else ""
    return f"""{notes}
<div class="controls">{_field("broker", "Find a broker")}{_field("topic", "Show the tree of a topic")}
<button type="button" id="zoom-in" aria-label="Zoom in">+</button>
<button type="button" id="zoom-out" aria-label="Zoom out">−</button>
<button type="button" id="zoom-all">Show all</button></div>
<div id="graph-view" tabindex="0" role="application" aria-label="Graph of brokers and links"
 aria-describedby="graph-hint"></div>
<img class="picture" alt="Picture of all brokers and links" src="data:image/png;base64,{picture}">
<p id="graph-status" role="status" aria-live="polite"></p>
<p id="graph-hint" class="soft hint">Click a broker to see its links. Drag to move. Click, then use the wheel
to zoom. Keys: arrows move, + and − zoom, 0 shows all, Escape clears.</p>"""


def _field(kind: str, label: str) -> str:
    return (
        f'<div class="field"><label for="find-{kind}">{label}</label><input id="find-{kind}" type="search" '
        f'role="combobox" autocomplete="off" spellcheck="false" aria-autocomplete="list" '
        f'aria-expanded="false" aria-controls="{kind}-list"><ul id="{kind}-list" class="options" '
        f'role="listbox" aria-label="{label}" hidden></ul></div>'
    )


def _made(facts: PlanFacts) -> str:
    """Return the command, the versions, the fingerprint and the seed."""
    versions = ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    return definitions(
        [
            ("command", made_by(facts)),
            ("plan", visible(facts.name) or "in memory"),
            ("dataset", f"fingerprint {facts.fingerprint}"),
            ("seed", str(facts.seed)),
            ("time", f"{float(facts.figures['seconds']):.3g} s to design"),
            ("versions", f"Python {platform.python_version()}, {versions}"),
        ]
    )
