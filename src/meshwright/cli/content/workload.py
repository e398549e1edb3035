"""`meshwright content workload`: draw a random workload, or build one from measured traffic."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from meshwright.actions.content.workload import Drawn, Measured
from meshwright.cli.commands import Words
from meshwright.cli.options import Json, Seed

EXAMPLES = (
    "meshwright content workload --users 2000 --out workload",
    "meshwright content workload --users 1000 --model plane --length 0.03 --ratio 2 --out workload",
)


DrawnOptions: TypeAlias = Annotated[
    Drawn,
    Words(
        users=("N", "Number of users."),
        brokers=("N", "Number of brokers; one per 100 users by default."),
        model=("NAME", "What links cost: uniform (1 to 2) or plane (distances)."),
        length=("L", "Length of each user's interval; one channel by default."),
        ratio=("R", "Mean access over mean core cost; 1 by default."),
        capacity=("X", "All capacities over all loads; 2 by default."),
    ),
]
MeasuredOptions: TypeAlias = Annotated[
    Measured,
    Words(
        subscriptions=("FILE", "With --traffic: node, topic or user, low, high; CSV."),
        user_places=("FILE", "With --traffic: user, x, y; CSV or Parquet."),
        broker_places=("FILE", "With --traffic: broker, x, y and capacity."),
        cells="With --traffic: cut the content along the subscriptions.",
        bytes="With --traffic: count bytes per second, not messages.",
        core_weight=("W", "With --traffic: core cost per unit of distance; 1 by default."),
    ),
]


def workload(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="WORKLOAD", help="The folder to write to.")],
    drawn: DrawnOptions,
    channels: Annotated[
        int | None,
        typer.Option(
            "--channels", metavar="C", help="Cut the content into C equal channels; 100 by default."
        ),
    ] = None,
    traffic: Annotated[
        Path | None,
        typer.Option(
            "--traffic", metavar="TRAFFIC", help="Take the rates from 'meshwright traffic' instead."
        ),
    ] = None,
    measured: MeasuredOptions,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Make a workload: who publishes and wants what, which brokers there are, and what links cost.

    By default it is random, as in the paper's evaluation: quadratic rate densities, and one interval for each
    user. With --traffic, rates come from publish logs.
    """
    from meshwright.actions.content.assign import format_users
    from meshwright.actions.content.workload import make_users
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar

    with ProgressBar() as bar:
        made = make_users(
            out, drawn, channels=channels, traffic=traffic, measured=measured, seed=seed, progress=bar
        )
    if json:
        output.answer_json(made.to_dict())
        return
    lines, spare = [format_users(made.workload)], made.approximation
    if spare is not None:
        lines.append(
            f"whole channels hold {spare.volume_ratio:.3f} times the content that users ask for, "
            f"and {spare.traffic_ratio:.3f} times its traffic"
        )
    output.answer(*lines, f"written to {out}")
