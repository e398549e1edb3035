"""`meshwright verify`: whether a plan is what it states."""

from typing import Annotated

import typer

from meshwright.cli.options import Costs, FileColumns, Json, ShowProgress, Source, Spark

VERIFY_EXAMPLES = (
    "meshwright verify plan subscriptions.csv",
    "meshwright verify plan subscriptions.csv --k 2",
    "meshwright verify plan subscriptions.csv --master 'local[2]'",
)


def verify(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan's folder, by path or URL.")],
    source: Source,
    *,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            metavar="K",
            min=1,
            max=2,
            help="Every topic must be connected (1), or stay so when any one broker fails (2).",
        ),
    ] = None,
    costs: Costs = None,
    columns: FileColumns,
    spark: Spark,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Check a plan against the subscriptions it was made for.

    Connectivity and every figure are recomputed, by code other than that which made the plan. The exit code
    is 1 if something is not as stated, if a plan without a budget leaves a topic split, or if --k is not met.
    A plan made by resilient must meet its own k. Groups of MQTT filters are derived again. Which algorithm,
    other parameters and seed made the plan is not checked. Left out, and named, are the total cost without
    --costs, and loads of trees that were chosen with --rates: the plan does not keep the rates.

    With --master topics are verified on Spark, and the subscriptions of a dataset stay on the cluster; only
    groups of MQTT filters are first derived on this machine.
    """
    from meshwright.actions.verify import verify_plan
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.cli.progress_bar import LINKS, ProgressBar, amounts
    from meshwright.report import verdict_lines

    wording = amounts("subscriptions") if spark.asked else LINKS
    with ProgressBar(wording=wording, forced=progress) as bar:
        found = verify_plan(plan, source, columns.resolved(), k=k, costs=costs, spark=spark, progress=bar)
    output.show(found, *verdict_lines(found.report), json=json)
    if not found.report.passed:
        raise typer.Exit(ANSWER_IS_NO)
