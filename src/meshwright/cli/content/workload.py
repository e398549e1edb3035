"""`meshwright content workload`: draw a random workload, or build one from measured traffic."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Json, Seed

EXAMPLES = (
    "meshwright content workload --users 2000 --out workload",
    "meshwright content workload --users 1000 --model plane --length 0.03 --ratio 2 --out workload",
)


def workload(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="WORKLOAD", help="The folder to write to.")],
    users: Annotated[int | None, typer.Option("--users", metavar="N", help="Number of users.")] = None,
    brokers: Annotated[
        int | None,
        typer.Option("--brokers", metavar="N", help="Number of brokers; one per 100 users by default."),
    ] = None,
    channels: Annotated[
        int | None,
        typer.Option(
            "--channels", metavar="C", help="Cut the content into C equal channels; 100 by default."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="NAME", help="What links cost: uniform (1 to 2) or plane (distances)."
        ),
    ] = None,
    length: Annotated[
        float | None,
        typer.Option("--length", metavar="L", help="Length of each user's interval; one channel by default."),
    ] = None,
    ratio: Annotated[
        float | None,
        typer.Option("--ratio", metavar="R", help="Mean access over mean core cost; 1 by default."),
    ] = None,
    capacity: Annotated[
        float | None,
        typer.Option("--capacity", metavar="X", help="All capacities over all loads; 2 by default."),
    ] = None,
    traffic: Annotated[
        Path | None,
        typer.Option(
            "--traffic", metavar="TRAFFIC", help="Take the rates from 'meshwright traffic' instead."
        ),
    ] = None,
    subscriptions: Annotated[
        Path | None,
        typer.Option(
            "--subscriptions",
            metavar="FILE",
            help="With --traffic: node, topic or user, low, high; CSV.",
        ),
    ] = None,
    user_places: Annotated[
        Path | None,
        typer.Option("--user-places", metavar="FILE", help="With --traffic: user, x, y; CSV or Parquet."),
    ] = None,
    broker_places: Annotated[
        Path | None,
        typer.Option("--broker-places", metavar="FILE", help="With --traffic: broker, x, y and capacity."),
    ] = None,
    cells: Annotated[
        bool,
        typer.Option("--cells", help="With --traffic: cut the content along the subscriptions."),
    ] = False,
    by_bytes: Annotated[
        bool, typer.Option("--bytes", help="With --traffic: count bytes per second, not messages.")
    ] = False,
    core_weight: Annotated[
        float | None,
        typer.Option(
            "--core-weight", metavar="W", help="With --traffic: core cost per unit of distance; 1 by default."
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Make a workload: who publishes and wants what, which brokers there are, and what links cost.

    By default it is random, as in the paper's evaluation: quadratic rate densities, and one interval for each
    user. With --traffic, rates come from publish logs.
    """
    from meshwright.actions.content.assign import format_users
    from meshwright.actions.content.workload import Drawn, Measured, make_users
    from meshwright.cli import output
    from meshwright.cli.progress_bar import ProgressBar

    with ProgressBar() as bar:
        made = make_users(
            out,
            Drawn(users, brokers, model, length, ratio, capacity),
            channels=channels,
            traffic=traffic,
            measured=Measured(subscriptions, user_places, broker_places, core_weight, cells, by_bytes),
            seed=seed,
            progress=bar,
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
