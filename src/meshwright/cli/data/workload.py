"""`meshwright workload`: generates synthetic subscriptions, and the hard cases of the papers."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Json, Seed

EXAMPLES = (
    "meshwright workload zipf --nodes 2000 --topics 500 --min-size 5 --max-size 50 --out dataset",
    "meshwright workload unif --nodes 10000 --topics 200 --size 10 --seed 7 --out dataset",
    "meshwright workload unif --nodes 100 --topics 100 --size 30 --independent --out dataset",
    "meshwright workload social --nodes 5000 --min-size 5 --max-size 200 --exponent 2 --out dataset",
    "meshwright workload hard --case cuboid --k 3 --m 4 --out dataset",
    "meshwright workload hard --case single-node --sets '1,2;2,3;3,4' --out dataset",
)

CASES = "cuboid|lemma1|set-cover|set-cover-soc|single-node"


def workload(
    popularity: Annotated[
        str,
        typer.Argument(
            metavar="zipf|expo|unif|social|hard",
            help="The distribution of popularity; social: users follow others; hard: see --case.",
        ),
    ],
    *,
    nodes: Annotated[
        int | None, typer.Option("--nodes", metavar="N", help="The number of brokers, also of lemma1.")
    ] = None,
    topics: Annotated[
        int | None,
        typer.Option("--topics", metavar="N", help="The number of topics; social has one per broker."),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", metavar="DATASET", help="The folder or URL to write the dataset to.")
    ],
    raw: Annotated[
        Path | None,
        typer.Option("--raw", metavar="DIR", help="Also write logs with the usual dirt, for ingest."),
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", metavar="S", help="Topics of each broker; 10 by default.")
    ] = None,
    min_size: Annotated[
        int | None,
        typer.Option("--min-size", metavar="A", help="With --max-size: from A to B topics, by a power law."),
    ] = None,
    max_size: Annotated[int | None, typer.Option("--max-size", metavar="B", help="See --min-size.")] = None,
    exponent: Annotated[
        float | None,
        typer.Option("--exponent", metavar="E", help="Exponent of the power law of sizes; 1.5 by default."),
    ] = None,
    independent: Annotated[
        bool,
        typer.Option(
            "--independent",
            help="Each broker takes each topic or not, whatever else it takes; sizes are means.",
        ),
    ] = False,
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
    case: Annotated[
        str | None, typer.Option("--case", metavar=CASES, help="hard: the construction of a paper.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", metavar="K", help="cuboid: the number of slabs.")] = None,
    m: Annotated[
        int | None,
        typer.Option("--m", metavar="M", help="cuboid: layers; set-cover: copies, sets squared by default."),
    ] = None,
    sets: Annotated[
        str | None,
        typer.Option(
            "--sets",
            metavar="'A,B;B,C'",
            help="The sets to cover: elements with commas, sets with semicolons.",
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Generate a synthetic dataset: which broker subscribes to which topic.

    hard makes the constructions of the papers' proofs: cuboid (podc07, Lemma 6.6: GM makes too many links),
    lemma1 (icdcs10, Lemma 1: MinMax-ODA does), set-cover (podc07, Lemma 7.1: few links find small covers),
    set-cover-soc (podc07, Lemma 5.2: so does a low degree of one broker, 'hub') and single-node (podc07,
    Lemma 5.1: so does a low maximum degree, as all other brokers are copied).
    """
    from meshwright.actions.sources import format_size
    from meshwright.actions.workload import Shape, make_workload
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar

    shape = Shape(
        nodes=nodes,
        topics=topics,
        size=size,
        min_size=min_size,
        max_size=max_size,
        exponent=exponent,
        independent=independent,
        alpha=alpha,
        locality=locality,
        both_ways=both_ways,
        case=case,
        k=k,
        m=m,
        sets=sets,
    )
    with ProgressBar() as bar:
        made = make_workload(popularity, shape, out, raw=raw, seed=seed, progress=bar)
    if json:
        output.answer_json(made.to_dict())
    else:
        logs = [] if raw is None else [f"logs of them in {raw}"]
        output.answer(format_size(made.interest), f"written to {out}", *logs)
