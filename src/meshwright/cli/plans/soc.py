"""`meshwright soc`: whether a plan keeps limits, or whether some overlay does."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import (
    Delimiter,
    ExcludeTopic,
    Expand,
    Json,
    NodeColumn,
    NoHeader,
    Seed,
    ShowProgress,
    SkipUnusable,
    TopicColumn,
    TopicKind,
    file_columns,
)

if TYPE_CHECKING:
    from meshwright.actions.sources import PlannedSource
    from meshwright.designs.existence import Existence
    from meshwright.interest import Interest
    from meshwright.measure import SocAnswer
    from meshwright.store.interest_files import Columns

SOC_EXAMPLES = (
    "meshwright soc plan subscriptions.csv --degree 3 --cost 0",
    "meshwright soc plan subscriptions.csv --degree 3 --cost 4 --measure diameter",
    "meshwright soc subscriptions.csv --degree 3 --cost 0 --out witness",
    "meshwright soc subscriptions.csv --average-degree 2.5 --cost 4 --measure diameter",
    "meshwright soc subscriptions.csv --links 10",
)


def soc(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN|SUBSCRIPTIONS",
            help="A plan's folder or, to ask about any overlay, a dataset or file of subscriptions.",
        ),
    ],
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SUBSCRIPTIONS",
            help="With a plan: what it was made for, a dataset, or a .csv, .jsonl or .parquet file.",
        ),
    ] = None,
    *,
    degree: Annotated[
        int | None, typer.Option("--degree", metavar="D", min=0, help="Maximum number of links per broker.")
    ] = None,
    average_degree: Annotated[
        float | None,
        typer.Option(
            "--average-degree",
            metavar="D",
            min=0,
            help="Without a plan: links per broker on average, at most.",
        ),
    ] = None,
    cost: Annotated[
        int | None, typer.Option("--cost", metavar="C", min=0, help="Maximum routing cost.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            metavar="filtering|diameter",
            help="Uninterested relays over all topics, the default, or the longest path between two "
            "subscribers of a topic, through any brokers.",
        ),
    ] = None,
    links: Annotated[
        int | None,
        typer.Option("--links", metavar="K", min=0, help="Without a plan: do K links connect every topic?"),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", metavar="S", min=0, help="Without a plan: search about S seconds; 20 by default."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", metavar="PLAN", help="Without a plan: write the overlay found here, for a yes."
        ),
    ] = None,
    node: NodeColumn = "node",
    topic: TopicColumn = "topic",
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    topic_kind: TopicKind = None,
    exclude_topic: ExcludeTopic = None,
    expand: Expand = None,
    skip_unusable: SkipUnusable = False,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Check whether a plan keeps a degree limit and a routing limit, or whether some overlay does.

    With a plan, the figures follow from its links alone. Without one, the question is that of the paper: is
    there any overlay within the limits? Yes comes with a witness, no with a proof (by counting, by certified
    prices, or by exact on small instances); both questions are hard, so the answer may be unknown. --links K
    asks whether K links can connect every topic. The exit code is 0 for yes, and 1 for no or unknown.

    MQTT filters that overlap count as one topic, as for `meshwright plan`; with a plan, as it was planned.
    """
    from meshwright.actions.outputs import check_target
    from meshwright.cli.plans import design_runs
    from meshwright.errors import InputError

    columns = file_columns(node, topic, delimiter, no_header)
    asked = {"--degree": degree, "--average-degree": average_degree, "--cost": cost, "--measure": measure}
    if measure not in (None, "filtering", "diameter"):
        raise InputError(f"no measure {measure!r}: choose filtering or diameter")
    if links is not None:
        wrong = [name for name, value in asked.items() if value is not None]
        if wrong:
            raise InputError(f"--links asks about links only: leave {', '.join(wrong)} out")
    elif cost is None or (degree is None) == (average_degree is None):
        raise InputError(
            "the limits are incomplete: give --cost, and --degree or --average-degree; or --links"
        )
    if source is None:
        if out is not None:
            check_target(out, "plan")
        given = design_runs.load_planned(
            plan,
            columns,
            kind=topic_kind,
            exclude=exclude_topic,
            expand=expand,
            skip_unusable=skip_unusable,
            json=json,
        )
        _ask_for_any(
            given,
            links,
            degree,
            average_degree,
            cost,
            measure or "filtering",
            seconds,
            out,
            seed,
            progress,
            json,
        )
        return
    alone = {
        "--average-degree": average_degree, "--links": links, "--seconds": seconds, "--out": out,
        "--topic-kind": topic_kind, "--exclude-topic": exclude_topic or None, "--expand": expand or None,
        "--skip-unusable": skip_unusable or None,
    }  # fmt: skip
    wrong = [name for name, value in alone.items() if value is not None]
    if wrong:
        raise InputError(f"{', '.join(wrong)} asks whether some overlay exists: leave the plan out")
    assert degree is not None
    assert cost is not None
    _ask_about_plan(plan, source, columns, degree, cost, measure or "filtering", json)


def _ask_for_any(
    given: "PlannedSource",
    links: int | None,
    degree: int | None,
    average_degree: float | None,
    cost: int | None,
    measure: str,
    seconds: float | None,
    out: str | None,
    seed: int,
    progress: bool,
    json: bool,
) -> None:
    """Answer whether some overlay is within the limits."""
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.cli.progress_bar import ProgressBar
    from meshwright.designs import existence

    interest = given.interest
    limit = existence.SECONDS if seconds is None else seconds
    with ProgressBar("Search", forced=progress) as drawing:
        if links is not None:
            found = existence.tco_exists(interest, links, seconds=limit, seed=seed, progress=drawing)
        else:
            assert cost is not None
            found = existence.soc_exists(
                interest,
                degree=degree,
                average_degree=average_degree,
                cost=cost,
                measure=measure,  # type: ignore[arg-type]
                seconds=limit,
                seed=seed,
                progress=drawing,
            )
    kept = found.witness is not None and out is not None
    if found.witness is not None and out is not None:
        design_runs.replace_plan(replace(found.witness, filters=given.filters), out)
    if json:
        limits = {"links": links, "degree": degree, "average_degree": average_degree, "cost": cost}
        limits["measure"] = measure if links is None else None  # type: ignore[assignment]
        described = {**_existence_fields(found), **given.to_dict()}
        output.answer_json({**limits, **described, "plan": str(out) if kept else None})
    else:
        output.answer(found.reason, *given.lines, *([f"written to {out}"] if kept else []))
    if found.answer != "yes":
        raise typer.Exit(ANSWER_IS_NO)


def _existence_fields(found: "Existence") -> dict[str, object]:
    from meshwright.cli.plans import design_runs

    witness = None if found.witness is None else design_runs.described(found.witness)
    bounds = {"at_least_links": found.at_least, "fewest_links_found": found.best}
    return {"answer": found.answer, "reason": found.reason, "witness": witness, **bounds}


def _ask_about_plan(
    plan: str, source: str, columns: "Columns", degree: int, cost: int, measure: str, json: bool
) -> None:
    """Answer whether a plan is within the limits."""
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.plans import design_runs
    from meshwright.measure import soc as ask

    overlay, filters = design_runs.load_overlay(plan, source, columns)
    with output.working("measuring"):
        answer = ask(overlay, degree=degree, cost=cost, measure=measure)  # type: ignore[arg-type]
    if json:
        output.answer_json({"plan": str(plan), **_soc_fields(answer, overlay.interest)})
    else:
        output.answer(*_soc_lines(answer, overlay.interest), *design_runs.group_lines(filters))
    if answer.verdict != "yes":
        raise typer.Exit(ANSWER_IS_NO)


def _soc_fields(answer: "SocAnswer", interest: "Interest") -> dict[str, object]:
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


def _soc_lines(answer: "SocAnswer", interest: "Interest") -> list[str]:
    from meshwright.errors import first_five

    names = interest.topic_names
    lines = [
        _soc_reason(answer),
        f"degree: {answer.degrees.average:.2f} on average, {answer.degrees.maximum} at most; "
        f"the bound is {answer.degree}",
    ]
    if len(answer.unreachable):
        apart = first_five(names[topic].as_py() for topic in answer.unreachable.tolist())
        return [*lines, f"{answer.measure}: infinite, as subscribers of {apart} cannot reach each other"]
    spread = f"{answer.upper:,}" if answer.lower == answer.upper else f"{answer.lower:,} to {answer.upper:,}"
    what = {
        "filtering": "uninterested relays over all topics",
        "diameter": "links on the longest path, through any brokers",
    }
    lines.append(
        f"{answer.measure}: {spread} {what[answer.measure]}, {answer.mean:.2f} on average of a topic; "
        f"the bound is {answer.cost:,}"
    )
    worst = (-answer.of_topic).argsort(kind="stable")[:5].tolist()
    costly = [f"{names[t].as_py()!r} {answer.of_topic[t]}" for t in worst if answer.of_topic[t]]
    return [*lines, f"costliest topics: {', '.join(costly)}"] if costly else lines


def _soc_reason(answer: "SocAnswer") -> str:
    if answer.verdict == "yes":
        return "yes: both bounds hold"
    if answer.verdict == "unknown":
        return "unknown: the degree holds, and the limit lies between the bounds on the cost"
    exceeded = []
    if answer.degrees.maximum > answer.degree:
        exceeded.append(f"the highest degree, {answer.degrees.maximum:,}, is above {answer.degree:,}")
    if len(answer.unreachable):
        exceeded.append("some topics are not connected")
    elif answer.lower > answer.cost:
        name = {"filtering": "filtering cost", "diameter": "diameter"}[answer.measure]
        least = "" if answer.lower == answer.upper else "at least "
        exceeded.append(f"the {name}, {least}{answer.lower:,}, is above {answer.cost:,}")
    return f"no: {' and '.join(exceeded)}"
