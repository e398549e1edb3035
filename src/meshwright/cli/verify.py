"""`meshwright verify`: whether a plan is what it says."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, Source

if TYPE_CHECKING:
    from meshwright.store import PlanReport

EXAMPLES = ("meshwright verify plan subscriptions.csv",)


def verify(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's folder.")],
    source: Source,
    *,
    json: Json = False,
) -> None:
    """Check a plan against the subscriptions it was made for.

    Connectivity and every figure are computed anew, by other code than made the plan. The exit code is 1 when
    something is not as stated, or when a plan without a budget leaves a topic split.
    """
    from meshwright.cli import designing, output
    from meshwright.cli.failure import ANSWER_IS_NO
    from meshwright.store import verify_plan

    interest = designing.load(source)
    designing.prepare_measures()
    with output.working("verifying"):
        report = verify_plan(plan, interest)
    if json:
        output.answer_json({"plan": str(plan), "verified": report.passed, **_found(report)})
    else:
        output.answer(*_told(report))
    if not report.passed:
        raise typer.Exit(ANSWER_IS_NO)


def _found(report: "PlanReport") -> dict[str, object]:
    found = report.verification
    return {
        "complete": report.complete,
        "edges": len(report.overlay),
        "average_degree": found.degrees.average,
        "max_degree": found.degrees.maximum,
        "support": found.support,
        "split_topics": len(found.split_topics),
        "disagreements": list(report.disagreements),
    }


def _told(report: "PlanReport") -> list[str]:
    from meshwright.errors import first_five
    from meshwright.spelling import percentage

    links, topics = f"{len(report.overlay):,} links", f"{report.overlay.interest.num_topics:,} topics"
    said = "verified: every figure, computed anew, is as the plan states"
    lines = [said if report.passed else "NOT verified"]
    lines += [f"wrong: {point}" for point in report.disagreements]
    if report.complete:
        return [*lines, f"complete: {links} connect each of {topics}"]
    names = report.overlay.interest.topic_names
    split = [names[topic].as_py() for topic in report.verification.split_topics.tolist()]
    support = percentage(report.verification.support)
    return [*lines, f"partial: {links} give {support} support; split topics: {first_five(split)}"]
