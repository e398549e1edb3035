"""`meshwright workload`: generates synthetic subscriptions, and the hard cases of the papers."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from meshwright.actions.workload import CASES, Shape
from meshwright.cli.commands import Words
from meshwright.cli.options import Json, Seed

EXAMPLES = (
    "meshwright workload zipf --nodes 2000 --topics 500 --min-size 5 --max-size 50 --out dataset",
    "meshwright workload unif --nodes 10000 --topics 200 --size 10 --seed 7 --out dataset",
    "meshwright workload unif --nodes 100 --topics 100 --size 30 --independent --out dataset",
    "meshwright workload social --nodes 5000 --min-size 5 --max-size 200 --exponent 2 --out dataset",
    "meshwright workload hard --case cuboid --k 3 --m 4 --out dataset",
    "meshwright workload hard --case single-node --sets '1,2;2,3;3,4' --out dataset",
)

ShapeOptions: TypeAlias = Annotated[
    Shape,
    Words(
        nodes=("N", "The number of brokers, also of lemma1."),
        topics=("N", "The number of topics; social has one per broker."),
        size=("S", "Topics of each broker; 10 by default."),
        min_size=("A", "With --max-size: from A to B topics, by a power law."),
        max_size=("B", "See --min-size."),
        exponent=("E", "Exponent of the power law of sizes; 1.5 by default."),
        independent="Each broker takes each topic or not, whatever else it takes; sizes are means.",
        alpha=("A", "Zipf's exponent: 0 is uniform, more is more unequal."),
        locality=("P", "social: the share of choices in the own community."),
        both_ways="social: everybody follows back, as friends do.",
        case=("|".join(CASES), "hard: the construction of a paper."),
        k=("K", "cuboid: the number of slabs."),
        m=("M", "cuboid: layers; set-cover: copies, sets squared by default."),
        sets=("'A,B;B,C'", "The sets to cover: elements with commas, sets with semicolons."),
    ),
]


def workload(
    popularity: Annotated[
        str,
        typer.Argument(
            metavar="zipf|expo|unif|social|hard",
            help="The distribution of popularity; social: users follow others; hard: see --case.",
        ),
    ],
    *,
    out: Annotated[
        str, typer.Option("--out", metavar="DATASET", help="The folder or URL to write the dataset to.")
    ],
    raw: Annotated[
        Path | None,
        typer.Option("--raw", metavar="DIR", help="Also write logs with the usual dirt, for ingest."),
    ] = None,
    shape: ShapeOptions,
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
    from meshwright.actions.workload import make_workload
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar

    with ProgressBar() as bar:
        made = make_workload(popularity, shape, out, raw=raw, seed=seed, progress=bar)
    logs = [] if raw is None else [f"logs of them in {raw}"]
    output.show(made, format_size(made.interest), f"written to {out}", *logs, json=json)
