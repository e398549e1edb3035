"""`meshwright content compare`: several algorithms on the same workload, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.content_options import Argmax, SearchSeconds, SearchSteps, WorkloadFolder
from meshwright.cli.options import Json, Seed, ShowProgress

EXAMPLES = (
    "meshwright content compare workload",
    "meshwright content compare workload --algorithms packing,steiner,descent --chart costs.png",
)


def compare(
    workload: WorkloadFolder,
    *,
    algorithms: Annotated[
        str, typer.Option("--algorithms", metavar="A,B,C", help="Which ones, separated by commas.")
    ] = "random,packing,clustering,steiner,steiner-literal,descent",
    argmax: Argmax = False,
    seconds: SearchSeconds = None,
    steps: SearchSteps = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", metavar="FILE", help="Draw what costs what: a .png, .svg or .pdf file."),
    ] = None,
    seed: Seed = 0,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Put users on brokers by several algorithms, and tell what each costs.

    CRR, the cost reduction ratio, is what random assignment costs over what this one does.
    """
    from meshwright.cli import output
    from meshwright.cli.content_options import described, load, made, told
    from meshwright.content.registry import find
    from meshwright.errors import InputError
    from meshwright.report.chart_file import check_chart
    from meshwright.report.content_chart import content_chart
    from meshwright.report.content_table import content_table

    names = [name.strip() for name in algorithms.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise InputError(f"--algorithms {algorithms!r}: name algorithms, each once, such as packing,steiner")
    known = [find(name) for name in names]
    if chart is not None:
        check_chart(chart)
    given = load(workload)
    asked = {"argmax": argmax or None, "seconds": seconds, "steps": steps}
    for name, value in asked.items():
        if value is not None and not any(name in it.parameters for it in known):
            raise InputError(f"none of {', '.join(names)} takes {name}: leave it out")
    plans = [
        made(
            given,
            it.name,
            seed=seed,
            shown=progress,
            **{name: value for name, value in asked.items() if name in it.parameters},
        )
        for it in known
    ]
    title = f"{workload}: {told(given)}"
    if chart is not None:
        content_chart(plans, chart, title=title)
    if json:
        answers = [described(plan) for plan in plans]
        output.answer_json({"workload": str(workload), "plans": answers, "chart": chart and str(chart)})
    else:
        output.answer(title, content_table(plans), *([] if chart is None else [f"chart: {chart}"]))
