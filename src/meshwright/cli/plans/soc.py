"""`meshwright soc`: whether a plan keeps a degree limit and a routing limit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, Source

if TYPE_CHECKING:
    from meshwright.interest import Interest
    from meshwright.measure import SocAnswer

EXAMPLES = (
    "meshwright soc plan subscriptions.csv --degree 3 --cost 0",
    "meshwright soc plan subscriptions.csv --degree 3 --cost 4 --measure diameter",
)


def soc(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan's folder.")],
    source: Source,
    *,
    degree: Annotated[
        int, typer.Option("--degree", metavar="D", min=0, help="Maximum number of links per broker.")
    ],
    cost: Annotated[int, typer.Option("--cost", metavar="C", min=0, help="Maximum routing cost.")],
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            metavar="filtering|diameter",
            help="Uninterested relays over all topics, or the longest path between two subscribers.",
        ),
    ] = "filtering",
    json: Json = False,
) -> None:
    """Check whether a plan keeps a degree limit and a routing limit: yes, no or unknown.

    The figures follow from the links alone. The exit code is 0 for yes, and 1 for no or unknown.
    """
    from meshwright.cli import output
    from meshwright.cli.output import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.errors import InputError
    from meshwright.measure import soc as ask
    from meshwright.store import read_plan

    if measure not in ("filtering", "diameter"):
        raise InputError(f"no measure {measure!r}: choose filtering or diameter")
    interest = design_runs.load(source)
    overlay = read_plan(plan).overlay_on(interest)
    with output.working("measuring"):
        answer = ask(overlay, degree=degree, cost=cost, measure=measure)  # type: ignore[arg-type]
    if json:
        output.answer_json({"plan": str(plan), **_fields(answer, interest)})
    else:
        output.answer(*_lines(answer, interest))
    if answer.verdict != "yes":
        raise typer.Exit(ANSWER_IS_NO)


def _fields(answer: "SocAnswer", interest: "Interest") -> dict[str, object]:
    names = interest.topic_names.to_pylist()
    of_topic = zip(names, answer.lower_of_topic.tolist(), answer.of_topic.tolist(), strict=True)
    unreachable = answer.unreachable.tolist()
    return {
        "answer": answer.verdict,
        "measure": answer.measure,
        "degree": answer.degree,
        "cost": answer.cost,
        "max_degree": answer.degrees.maximum,
        "average_degree": answer.degrees.average,
        "at_least": None if unreachable else answer.lower,
        "at_most": None if unreachable else answer.upper,
        "mean_of_topic": answer.mean,
        "unreachable_topics": [names[topic] for topic in unreachable],
        "topics": [
            {"topic": name, "at_least": low, "at_most": high} for name, low, high in of_topic if low >= 0
        ],
    }


def _lines(answer: "SocAnswer", interest: "Interest") -> list[str]:
    from meshwright.errors import first_five

    names = interest.topic_names
    lines = [
        _reason(answer),
        f"degree: {answer.degrees.average:.2f} on average, {answer.degrees.maximum} at most; "
        f"the bound is {answer.degree}",
    ]
    if len(answer.unreachable):
        apart = first_five(names[topic].as_py() for topic in answer.unreachable.tolist())
        return [*lines, f"{answer.measure}: infinite, as subscribers of {apart} cannot reach each other"]
    spread = f"{answer.upper:,}" if answer.lower == answer.upper else f"{answer.lower:,} to {answer.upper:,}"
    what = {"filtering": "uninterested relays over all topics", "diameter": "links on the longest path"}
    lines.append(
        f"{answer.measure}: {spread} {what[answer.measure]}, {answer.mean:.2f} on average of a topic; "
        f"the bound is {answer.cost:,}"
    )
    worst = (-answer.of_topic).argsort(kind="stable")[:5].tolist()
    costly = [f"{names[t].as_py()!r} {answer.of_topic[t]}" for t in worst if answer.of_topic[t]]
    return [*lines, f"costliest topics: {', '.join(costly)}"] if costly else lines


def _reason(answer: "SocAnswer") -> str:
    if answer.verdict == "yes":
        return "yes: both bounds hold"
    if answer.verdict == "unknown":
        return "unknown: the degree holds, and the limit lies between the bounds on the cost"
    exceeded = []
    if answer.degrees.maximum > answer.degree:
        exceeded.append("degree")
    if len(answer.unreachable) or answer.lower > answer.cost:
        exceeded.append(answer.measure)
    return f"no: too high is {' and '.join(exceeded)}"
