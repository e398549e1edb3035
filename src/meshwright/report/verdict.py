"""Verdicts in lines: what verification found, and what was not checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.errors import first_five
from meshwright.formatting import amount, counted, excess, percentage

if TYPE_CHECKING:
    from meshwright.verify.claims import PlanReport


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
    reasons = {
        "solver_bound": "it is the solver's word",
        "lower_bound": "verify without --master to check it",
        "bound_at_degree": "verify without --master to check it",
        "degree_bound": "verify without --master to check it",
        "trees": "verify without --master to check them",
    }
    left = [f"not checked: {name}; {reasons[name]}" for name in report.unchecked if name in reasons]
    lines = []
    if report.lower_bound is not None:
        fewest = counted(report.lower_bound, "link")
        needed = f"the prices prove that connecting every topic needs at least {fewest}"
        near = "" if report.gap is None else f"at most {excess(report.gap)} above the fewest links possible: "
        lines = [f"certified: {near}{needed}"]
    return [*lines, *_degree_lines(report), *left]


def _degree_lines(report: PlanReport) -> list[str]:
    """Say what the prices and allowances prove of overlays with a limited degree."""
    from meshwright.designs.plan import degree_lines

    if report.degrees is None or report.at_degree is None:
        return []
    figures = {
        "at_degree": report.at_degree,
        "bound_at_degree": report.degrees.links,
        "degree_bound": report.degrees.degree,
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
