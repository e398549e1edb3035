"""`meshwright workload`: make up subscriptions."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Json, Seed

EXAMPLES = (
    "meshwright workload zipf --nodes 2000 --topics 500 --min-size 5 --max-size 50 --out dataset",
    "meshwright workload unif --nodes 10000 --topics 200 --size 10 --seed 7 --out dataset",
)


def workload(
    popularity: Annotated[
        str, typer.Argument(metavar="zipf|expo|unif", help="How popularity differs between topics.")
    ],
    *,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="How many brokers.")],
    topics: Annotated[int, typer.Option("--topics", metavar="N", help="How many topics.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="DATASET", help="The folder to write the dataset to.")
    ],
    size: Annotated[
        int | None, typer.Option("--size", metavar="S", help="Topics of each broker; 10 if nothing is said.")
    ] = None,
    min_size: Annotated[
        int | None,
        typer.Option("--min-size", metavar="A", help="With --max-size: from A to B topics, by a power law."),
    ] = None,
    max_size: Annotated[int | None, typer.Option("--max-size", metavar="B", help="See --min-size.")] = None,
    alpha: Annotated[
        float | None,
        typer.Option("--alpha", metavar="A", help="Zipf's exponent: 0 is uniform, more is more unequal."),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Make up a dataset: which broker subscribes to which topic."""
    from meshwright.cli import designing, output
    from meshwright.cli.target import check_target
    from meshwright.errors import InputError
    from meshwright.store import write_dataset
    from meshwright.workloads import WORKLOADS

    if popularity not in WORKLOADS:
        raise InputError(f"no workload {popularity!r}: choose one of {', '.join(WORKLOADS)}")
    if alpha is not None and popularity != "zipf":
        raise InputError(f"--alpha shapes zipf only: leave it out for {popularity}")
    check_target(out, "dataset")
    asked = {"alpha": alpha, "size": size, "min_size": min_size, "max_size": max_size}
    given = {name: value for name, value in asked.items() if value is not None}
    with output.working("making up subscriptions"):
        interest = WORKLOADS[popularity](nodes, topics, seed=seed, **given)
    made_by = {"workload": popularity, "nodes": nodes, "topics": topics, "seed": seed, **given}
    write_dataset(interest, out, made_by=made_by)
    if json:
        counts = {"nodes": interest.num_nodes, "topics": interest.num_topics}
        output.answer_json({**counts, "subscriptions": interest.num_subscriptions, "dataset": str(out)})
    else:
        output.answer(designing.told(interest), f"written to {out}")
