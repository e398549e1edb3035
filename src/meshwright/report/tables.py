"""Tables and lines for the terminal: plans side by side, advice, and what verification found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from meshwright.errors import first_five
from meshwright.formatting import amount, counted, duration, excess, percentage

if TYPE_CHECKING:
    from meshwright.designs.advice import Advice, Tried
    from meshwright.designs.plan import Parameter, Plan
    from meshwright.report.plan_facts import PlanFacts
    from meshwright.verify.claims import PlanReport


def plain_table(first: str, figures: Iterable[str]) -> Table:
    """Return an empty table: a column of names under the first heading, then columns of figures."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column(first, overflow="fold")
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


SHORT = {
    "edges": "Best, few links",
    "degree": "Best, low degree",
    "balanced": "Best, balanced",
}
"""The labels of `best` by objective."""
UNSHOWN = ("objective", "seconds", "steps", "time_limit", "front")
"""Parameters that a label does not name: they say how long a search took, or are in the label already."""


def name_of(plan: Plan | PlanFacts) -> str:
    """Return a design's title with its parameters, such as 'Low-ODA (k = 5)' or 'Best, few links'."""
    from meshwright.designs.registry import lookup

    known = lookup(plan.algorithm)
    title = known.title if known else plan.algorithm
    if plan.algorithm == "best":
        limit = plan.parameters.get("front")
        title = SHORT.get(str(plan.parameters.get("objective", "edges")), title)
        title = title if limit is None else f"Best, degree ≤ {limit}"
    unshown = (*UNSHOWN, "max_degree") if "front" in plan.parameters else UNSHOWN
    shown = {name: value for name, value in plan.parameters.items() if name not in unshown}
    parameters = ", ".join(_format_parameter(name, value) for name, value in shown.items())
    return f"{title} ({parameters})" if parameters else title


def _format_parameter(name: str, value: Parameter) -> str:
    if name == "costs":
        return "by cost"
    if value is True:
        return name
    return f"{name.replace('_', ' ')} = {value:,}" if isinstance(value, int) else f"{name} = {value}"


BEST = "bold green"
"""Style of the best figure of each column."""


def comparison(plans: Sequence[Plan], *, verified: Sequence[bool] | None = None) -> Table:
    """Return a table with one row for each plan.

    The best of a column is the best of the plans that connect every topic: few links that leave topics split
    are no merit.

    Parameters
    ----------
    plans
        The plans, in the order of the rows.
    verified
        Whether each plan passed its check; adds a column if given.
    """
    figures = [plan.figures for plan in plans]
    complete = [own["support"] == 1 for own in figures]
    columns = {
        "\nlinks": _highlight_least([int(own["edges"]) for own in figures], "{:,}".format, complete),
        "times the\nbest here": _relative([int(own["edges"]) for own in figures], complete),
        "average\ndegree": _highlight_least(
            [float(own["average_degree"]) for own in figures], "{:.2f}".format, complete
        ),
        "highest\ndegree": _highlight_least(
            [int(own["max_degree"]) for own in figures], "{:,}".format, complete
        ),
        "\nsupport": [Text(percentage(float(own["support"]))) for own in figures],
        "\ntime": [Text(duration(plan.seconds)) for plan in plans],
    }
    if plans and all("total_cost" in own for own in figures):
        costs = [float(own["total_cost"]) for own in figures]
        columns["total\ncost"] = _highlight_least(costs, amount, complete)
    if plans and all(plan.prices is not None for plan in plans):
        columns["above the\nfewest, ≤"] = [Text(_excess_of(own, "gap")) for own in figures]
        if any("gap_at_degree" in own for own in figures):
            columns["at that\ndegree, ≤"] = [Text(_excess_of(own, "gap_at_degree")) for own in figures]
    if verified is not None:
        columns["\nverified"] = [
            Text("yes", "green") if passed else Text("NO", "bold red") for passed in verified
        ]
    table = plain_table("\ndesign", columns)
    for plan, *cells in zip(plans, *columns.values(), strict=True):
        table.add_row(Text(name_of(plan)), *cells)
    return table


def _highlight_least(
    values: Sequence[float], spell: Callable[[float], str], complete: Sequence[bool]
) -> list[Text]:
    """Format the values and highlight the smallest of complete plans, unless all of those are equal."""
    compared = list(compress(values, complete))
    best = min(compared) if len(set(compared)) > 1 else None
    return [
        Text(spell(value), BEST if whole and value == best else "")
        for value, whole in zip(values, complete, strict=True)
    ]


def _relative(edges: Sequence[int], complete: Sequence[bool]) -> list[Text]:
    """Format the links of complete plans relative to the fewest of them."""
    fewest = min(compress(edges, complete), default=0)
    return [
        Text(f"{count / fewest:.2f}" if whole and fewest else "–")
        for count, whole in zip(edges, complete, strict=True)
    ]


def _excess_of(figures: Mapping[str, float], name: str) -> str:
    return excess(figures[name]) if name in figures else "–"


TAKE = "bold green"
USUAL = {"above the\nfewest, ≤": "–", "at that\ndegree, ≤": "–", "\nsupport": "100 %", "spare\nlinks": "0"}
"""Columns of advice that are left out if they say this of every plan: terminals are narrow."""


def advice_table(advice: Advice) -> Table:
    """Return a table with one row for each plan that `advise` tried."""
    rows = [_cells(own) for own in advice.tried]
    kept = [heading for heading in rows[0] if any(row[heading] != USUAL.get(heading) for row in rows)]
    table = plain_table("\ndesign", kept)
    table.add_column("\nfits", no_wrap=True)
    for own, row in zip(advice.tried, rows, strict=True):
        style = TAKE if own is advice.chosen else ""
        cells = (Text(row[heading], style) for heading in kept)
        table.add_row(Text(name_of(own.plan), style), *cells, _fits(own, advice))
    return table


def _cells(own: Tried) -> dict[str, str]:
    """Return the figures of a plan that was tried, by heading."""
    figures = own.plan.figures
    return {
        "\nlinks": f"{figures['edges']:,}",
        "above the\nfewest, ≤": _excess_of(figures, "gap"),
        "at that\ndegree, ≤": _excess_of(figures, "gap_at_degree"),
        "highest\ndegree": f"{figures['max_degree']:,}",
        "\nsupport": percentage(figures["support"]),
        "\ndiameter": _diameter(own),
        "spare\nlinks": f"{own.redundant:,}",
    }


def _diameter(own: Tried) -> str:
    if not own.complete:
        return "split"
    return f"{'' if own.diameters.exact.all() else '≥ '}{own.diameters.maximum}"


def _fits(own: Tried, advice: Advice) -> Text:
    if own is advice.chosen:
        return Text("take", TAKE)
    if own.unmet(advice.wishes):
        return Text("no", "red")
    return Text("yes") if own.complete else Text("in part")


def proof_lines(plans: Sequence[Plan]) -> list[str]:
    """Return what the table of plans has no figure for, if there is any.

    That is the proof that nothing that connects every topic keeps to the degree limit of a plan, and that the
    time limit stopped the proof of the fewest links.
    """
    from meshwright.designs.plan import degree_lines, rising_lines

    known = [plan.figures for plan in plans if plan.degree_proof is not None]
    refuted = [figures for figures in known if figures["at_degree"] < figures["degree_bound"]]
    lines = degree_lines(max(refuted, key=lambda figures: figures["degree_bound"]))[:1] if refuted else []
    cut = next((plan.prices.rising for plan in plans if plan.prices is not None), None)
    return [*lines, *rising_lines(cut, "gaps may be smaller")]


def advice_lines(advice: Advice) -> list[str]:
    """Return which plan to take and why, or why none."""
    if advice.chosen is None:
        first, *rest = advice.reasons
        return [f"take none: {first}", *(f"the nearest has {reason}" for reason in rest)]
    figures = advice.chosen.plan.figures
    return [
        f"take {name_of(advice.chosen.plan)}:",
        *(f"- {reason}" for reason in advice.reasons),
        *([] if advice.chosen.complete else [f"- support {percentage(figures['support'])}"]),
        *_certificate_lines(advice),
    ]


def _certificate_lines(advice: Advice) -> list[str]:
    """Say how close the plan is to the fewest links; no bound covers resilience or diameters."""
    from meshwright.designs.plan import rising_lines

    figures = advice.chosen.plan.figures if advice.chosen is not None else {}
    if "gap" not in figures:
        return []
    demanding = advice.wishes.resilient or advice.wishes.diameter is not None
    fewest = "the fewest that connect topics at all" if demanding else "the fewest links possible"
    lines = [f"- at most {excess(figures['gap'])} above {fewest}"]
    lines += [f"- {line}" for line in rising_lines(figures.get("bound_rising"))]
    if "degree_bound" in figures and not demanding:
        limit = f"with at most {counted(int(figures['at_degree']), 'link')} per broker"
        near = excess(figures["gap_at_degree"]) if "gap_at_degree" in figures else None
        lines += [] if near is None else [f"- at most {near} above the fewest {limit}"]
        lines.append(
            f"- no overlay that connects every topic has a maximum degree below {figures['degree_bound']}"
        )
    return lines


def verdict_lines(report: PlanReport) -> list[str]:
    """Return the report as lines of text."""
    verdict = "verified: every figure, recomputed, is as the plan states" if report.passed else "NOT verified"
    return [
        verdict,
        *(f"wrong: {point}" for point in report.disagreements),
        _connectivity_line(report),
        *_failure_lines(report),
        *_cost_lines(report),
        *_bound_lines(report),
        *_tree_lines(report),
    ]


def _connectivity_line(report: PlanReport) -> str:
    """Say whether every topic is connected, or which are not: the first five."""
    links = counted(len(report.outline), "link")
    if report.complete:
        verb = "connects" if len(report.outline) == 1 else "connect"
        return f"complete: {links} {verb} each of {counted(report.outline.topics, 'topic')}"
    listed, found = report.verification.split_topics.tolist(), report.verification.num_split_topics
    split = first_five(report.outline.name_topics(listed[:5]), found)
    support = percentage(report.verification.support)
    return f"partial: {links} give {support} support; split topics: {split}"


def _failure_lines(report: PlanReport) -> list[str]:
    """Say which topics one failure splits: the first five."""
    if report.weak is None:
        return []
    if not len(report.weak):
        return ["resilient: no failure of a single broker splits a topic"]
    outline = report.outline
    lines = [f"not resilient: {len(report.weak):,} of {outline.topics:,} topics are weak"]
    for topic, node in list(zip(report.weak.topics.tolist(), report.weak.nodes.tolist(), strict=True))[:5]:
        cause = "already" if node < 0 else f"when {outline.name_nodes([node])[0]!r} fails"
        lines.append(f"weak: {outline.name_topics([topic])[0]!r} is split {cause}")
    return lines


def _cost_lines(report: PlanReport) -> list[str]:
    """State the total cost of the links, or that it was not checked."""
    if report.total_cost is not None:
        return [f"cost: {amount(report.total_cost)} in all"]
    if report.stated_cost is not None:
        return [f"not checked: the total cost of {amount(report.stated_cost)}; give --costs to check it"]
    return []


def _bound_lines(report: PlanReport) -> list[str]:
    """Say what the plan's prices prove, and what was not checked."""
    from meshwright.designs.plan import rising_lines

    reasons = {
        "solver_bound": "it is the solver's word",
        "solver_bound_at_degree": "it is the solver's word",
        "lower_bound": "verify without --master to check it",
        "bound_at_degree": "verify without --master to check it",
        "degree_bound": "verify without --master to check it",
        "trees": "verify without --master to check them",
        "filters_by_link": "there are many, and export checks them",
    }
    left = [f"not checked: {name}; {reasons[name]}" for name in report.unchecked if name in reasons]
    lines = []
    if report.lower_bound is not None:
        fewest = counted(report.lower_bound, "link")
        needed = f"the prices prove that connecting every topic needs at least {fewest}"
        by_solver = report.solver_bound is not None and report.solver_bound > report.lower_bound
        near = (
            f"at most {excess(report.gap)} above the fewest links possible: "
            if report.gap is not None
            else ""
        )
        lines = [f"certified: {'' if by_solver else near}{needed}"]
    return [*lines, *_degree_lines(report), *rising_lines(report.bound_rising), *left]


def _degree_lines(report: PlanReport) -> list[str]:
    """Say what the prices and allowances prove of overlays with a limited degree."""
    from meshwright.designs.plan import degree_lines

    if report.degrees is None or report.at_degree is None:
        return []
    figures = {
        "at_degree": report.at_degree,
        "bound_at_degree": report.degrees.links,
        "degree_bound": report.degrees.degree,
        "solver_bound_at_degree": report.solver_bound_at_degree or 0,
    }
    return degree_lines(
        figures if report.gap_at_degree is None else {**figures, "gap_at_degree": report.gap_at_degree}
    )


def _tree_lines(report: PlanReport) -> list[str]:
    """Say that the trees were checked, which topics have none, and whether loads were left out."""
    from meshwright.verify.tree_check import LOADS

    if report.trees is None or not report.ok:
        return []
    spans = "spans exactly the brokers that it" if report.trees == 1 else "span exactly the brokers that they"
    lines = [f"routed: {counted(report.trees, 'tree')} {spans} should"]
    if report.unreachable:
        topics = counted(report.unreachable, "topic")
        lines.append(f"without a tree: {topics}, whose subscribers cannot reach each other")
    if set(LOADS) & set(report.unchecked):
        lines.append("not checked: the loads of trees; the plan does not keep the rates of its topics")
    return lines
