"""`meshwright sample`: takes a representative part of a dataset."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Json, Seed, ShowProgress, Source
from meshwright.cli.spark import Conf, Master

EXAMPLES = (
    "meshwright sample dataset --nodes 1000 --out sample",
    "meshwright sample dataset --nodes 100 --from berlin --from oslo --by topics --out sample",
)


def sample(
    source: Source,
    *,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="The number of brokers to take.")],
    out: Annotated[Path, typer.Option("--out", metavar="DATASET", help="The folder to write the sample to.")],
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="NAME", help="Start with this broker; can be repeated; random by default."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="follow|topics",
            help="Neighbours follow each other, or share a topic; by default from the names.",
        ),
    ] = None,
    seed: Seed = 0,
    master: Master = None,
    conf: Conf = None,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Take a sample by breadth-first search from a few seeds, with all relations among its brokers."""
    from meshwright.cli import output
    from meshwright.cli.output import check_target
    from meshwright.cli.plans import design_runs
    from meshwright.cli.spark import StageDrawing, open_session
    from meshwright.pipeline.dataset.sample import sample as sample_dataset
    from meshwright.pipeline.dataset.subscriptions import subscriptions
    from meshwright.pipeline.session.stages import report_stages
    from meshwright.store import write_dataset

    check_target(out, "dataset")
    spark = open_session(master, conf)
    with StageDrawing(forced=progress) as drawing, report_stages(spark, "sampling", drawing):
        made = sample_dataset(subscriptions(spark, source), nodes, start=start or (), by=by, seed=seed)
    made_by = {"command": "sample", "nodes": nodes, "by": made.by, "from": made.seeds, "seed": seed}
    write_dataset(made.interest, out, sources=[source], made_by=made_by)
    if json:
        counts = {"nodes": made.interest.num_nodes, "topics": made.interest.num_topics}
        found = {"seeds": made.seeds, "levels": made.levels, "by": made.by}
        figures = {**counts, "subscriptions": made.interest.num_subscriptions, **found}
        output.answer_json({**figures, "dataset": str(out)})
    else:
        begun = ", ".join(made.seeds[:5])
        output.answer(
            design_runs.format_size(made.interest), f"from {begun}, {made.levels} levels", f"written to {out}"
        )
