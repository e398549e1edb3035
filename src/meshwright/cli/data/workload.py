"""`meshwright workload`: generates synthetic subscriptions."""

from pathlib import Path
from typing import Annotated, Any

import typer

from meshwright.cli.options import Json, Seed

EXAMPLES = (
    "meshwright workload zipf --nodes 2000 --topics 500 --min-size 5 --max-size 50 --out dataset",
    "meshwright workload unif --nodes 10000 --topics 200 --size 10 --seed 7 --out dataset",
    "meshwright workload social --nodes 5000 --min-size 5 --max-size 200 --out dataset",
)


def workload(
    popularity: Annotated[
        str,
        typer.Argument(
            metavar="zipf|expo|unif|social",
            help="The distribution of popularity; social: users, each a topic, follow others.",
        ),
    ],
    *,
    nodes: Annotated[int, typer.Option("--nodes", metavar="N", help="The number of brokers.")],
    topics: Annotated[
        int | None,
        typer.Option("--topics", metavar="N", help="The number of topics; social has one per broker."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DATASET", help="The folder to write the dataset to.")
    ],
    size: Annotated[
        int | None, typer.Option("--size", metavar="S", help="Topics of each broker; 10 by default.")
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
    locality: Annotated[
        float | None,
        typer.Option("--locality", metavar="P", help="social: the share of choices in the own community."),
    ] = None,
    both_ways: Annotated[
        bool, typer.Option("--both-ways", help="social: everybody follows back, as friends do.")
    ] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Generate a synthetic dataset: which broker subscribes to which topic."""
    from meshwright.cli import output
    from meshwright.cli.output import check_target
    from meshwright.cli.plans import design_runs
    from meshwright.errors import InputError
    from meshwright.store import write_dataset
    from meshwright.workloads import WORKLOADS, social

    if popularity not in (*WORKLOADS, "social"):
        raise InputError(f"no workload {popularity!r}: choose one of {', '.join(WORKLOADS)}, social")
    if alpha is not None and popularity not in ("zipf", "social"):
        raise InputError(f"--alpha applies to zipf and social only: leave it out for {popularity}")
    if popularity != "social" and (both_ways or locality is not None):
        raise InputError(f"--locality and --both-ways apply to social only: leave them out for {popularity}")
    if topics is None and popularity != "social":
        raise InputError(f"the number of topics is missing: give --topics N for {popularity}")
    if topics not in (None, nodes) and popularity == "social":
        raise InputError(f"--topics {topics}: in social each of the {nodes} brokers is a topic; leave it out")
    check_target(out, "dataset")
    asked: dict[str, Any] = {
        **{"alpha": alpha, "size": size, "min_size": min_size, "max_size": max_size},
        **{"locality": locality, "both_ways": both_ways or None},
    }
    given = {name: value for name, value in asked.items() if value is not None}
    with output.working("generating subscriptions"):
        if popularity == "social":
            interest = social(nodes, seed=seed, **given)
        else:
            interest = WORKLOADS[popularity](nodes, topics, seed=seed, **given)
    made_by = {
        **{"workload": popularity, "nodes": nodes, "topics": interest.num_topics, "seed": seed},
        **given,
    }
    write_dataset(interest, out, made_by=made_by)
    if json:
        counts = {"nodes": interest.num_nodes, "topics": interest.num_topics}
        output.answer_json({**counts, "subscriptions": interest.num_subscriptions, "dataset": str(out)})
    else:
        output.answer(design_runs.format_size(interest), f"written to {out}")
