"""`meshwright advise`: the design that fits the requirements, and why."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Json, Seconds, Seed, ShowProgress, Source, Steps, Threads

if TYPE_CHECKING:
    from meshwright.designs import Plan
    from meshwright.designs.advice import Advice, Tried
    from meshwright.interest import Interest

EXAMPLES = (
    "meshwright advise subscriptions.csv --chart advice.png",
    "meshwright advise subscriptions.csv --max-degree 8 --out plan",
    "meshwright advise dataset --resilient",
)


def advise(
    source: Source,
    *,
    max_degree: Annotated[
        int | None,
        typer.Option("--max-degree", metavar="D", min=1, help="Maximum number of links of a broker."),
    ] = None,
    max_edges: Annotated[
        int | None, typer.Option("--max-edges", metavar="M", min=1, help="Maximum number of links in total.")
    ] = None,
    resilient: Annotated[
        bool, typer.Option("--resilient", help="Topics must stay connected when any single broker fails.")
    ] = False,
    diameter: Annotated[
        int | None,
        typer.Option(
            "--diameter",
            metavar="D",
            min=1,
            help="Maximum number of hops between two subscribers of a topic.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PLAN", help="Write the chosen plan to this folder.")
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw links against degree: a .png, .svg or .pdf file."),
    ] = None,
    seconds: Seconds = None,
    steps: Steps = None,
    seed: Seed = 0,
    threads: Threads = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Try the designs that fit, and say which one to take and why.

    Every figure of the table is measured; "links to spare" counts the links that could each be removed alone.
    The exit code is 1 if no design meets the requirements.
    """
    from meshwright.cli import output
    from meshwright.cli.output import ANSWER_IS_NO, check_target
    from meshwright.cli.plans import design_runs
    from meshwright.designs.advice import Wishes
    from meshwright.designs.advice import advise as ask
    from meshwright.report import advice_table, trade_off
    from meshwright.report.sheet import check_chart
    from meshwright.store import write_plan

    wishes = Wishes(max_degree, max_edges, resilient, diameter)
    if out is not None:
        check_target(out, "plan")
    if chart is not None:
        check_chart(chart)
    interest = design_runs.load(source)

    def make(interest: "Interest", algorithm: str, **given: Any) -> "Plan":
        running = {name: given.pop(name) for name in ("seed", "threads", "certify", "prices")}
        return design_runs.make(interest, algorithm, given, progress=progress, **running)

    timing = {} if seconds is None else {"seconds": seconds}
    advice = ask(interest, wishes, **timing, steps=steps, seed=seed, threads=threads, make=make)
    title = f"{source}: {design_runs.format_size(interest)}"
    chosen = None if advice.chosen is None else advice.chosen.plan
    with output.working("measuring"):
        table = advice_table(advice)
    if chart is not None:
        trade_off(chart, others=[own.plan for own in advice.tried], chosen=chosen, title=title)
    if out is not None and chosen is not None:
        write_plan(chosen, out)
    if json:
        written = {"plan": str(out) if out and chosen else None, "chart": chart and str(chart)}
        output.answer_json({"source": source, **_fields(advice), **written})
    else:
        files = [f"chart: {chart}"] if chart else []
        files += [f"written to {out}"] if out is not None and chosen is not None else []
        output.answer(title, table, *_lines(advice), *files)
    if chosen is None:
        raise typer.Exit(ANSWER_IS_NO)


def _fields(advice: "Advice") -> dict[str, Any]:
    return {
        "chosen": None if advice.chosen is None else advice.tried.index(advice.chosen),
        "reasons": list(advice.reasons),
        "plans": [_plan_fields(own, advice) for own in advice.tried],
    }


def _plan_fields(own: "Tried", advice: "Advice") -> dict[str, Any]:
    from meshwright.cli.plans import design_runs

    return {
        **design_runs.described(own.plan),
        "diameter": own.diameters.maximum,
        "diameter_is_exact": bool(own.diameters.exact.all()),
        "redundant_edges": own.redundant,
        "unmet": own.unmet(advice.wishes),
    }


def _lines(advice: "Advice") -> list[str]:
    from meshwright.report.tables import name_of

    if advice.chosen is None:
        first, *rest = advice.reasons
        return [f"take none: {first}", *(f"the nearest has {reason}" for reason in rest)]
    figures = advice.chosen.plan.figures
    return [
        f"take {name_of(advice.chosen.plan)}:",
        *(f"- {reason}" for reason in advice.reasons),
        *([] if advice.chosen.complete else [f"- support {figures['support']:.1%}"]),
        *_certificate_lines(advice),
    ]


def _certificate_lines(advice: "Advice") -> list[str]:
    """Say how close the plan is to the fewest links; no bound covers resilience or diameters."""
    from meshwright.formatting import excess

    figures = advice.chosen.plan.figures if advice.chosen is not None else {}
    if "gap" not in figures:
        return []
    demanding = advice.wishes.resilient or advice.wishes.diameter is not None
    fewest = "the fewest that connect topics at all" if demanding else "the fewest links possible"
    return [f"- at most {excess(figures['gap'])} above {fewest}"]
