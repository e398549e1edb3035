"""`meshwright content workload`: draw a random workload, or build one from measured traffic."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Json, Seed

if TYPE_CHECKING:
    from meshwright.content import Workload
    from meshwright.content.model.densities import Approximation

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
    from meshwright.actions.outputs import check_target
    from meshwright.cli import output
    from meshwright.cli.content.options import format_workload
    from meshwright.store.content.workloads import write_workload

    check_target(out, "workload")
    drawn = {
        "users": users, "brokers": brokers, "model": model, "length": length, "ratio": ratio,
        "capacity": capacity,
    }  # fmt: skip
    measured = {
        "subscriptions": subscriptions, "user_places": user_places, "broker_places": broker_places,
        "core_weight": core_weight, "cells": cells or None, "bytes": by_bytes or None,
    }  # fmt: skip
    if traffic is None:
        _refuse(measured, "these need --traffic: give it, or leave them out")
        made, approximation = _synthetic({**drawn, "channels": channels}, seed)
    else:
        _refuse(drawn, "--traffic already says who publishes what: leave them out")
        made, approximation = _measured(traffic, channels, measured)
    write_workload(made, out)
    figures: dict[str, Any] = {
        "users": made.num_users,
        "brokers": made.num_brokers,
        "channels": made.num_channels,
        "subscriptions": len(made.subscription_channels),
        "silent_users": int((made.demand.outgoing == 0).sum()),
        "ratio": made.cost_ratio,
        "volume_ratio": None if approximation is None else approximation.volume_ratio,
        "traffic_ratio": None if approximation is None else approximation.traffic_ratio,
        "workload": str(out),
    }
    if json:
        output.answer_json(figures)
        return
    lines = [format_workload(made)]
    if approximation is not None:
        lines.append(
            f"whole channels hold {approximation.volume_ratio:.3f} times the content that users ask for, "
            f"and {approximation.traffic_ratio:.3f} times its traffic"
        )
    output.answer(*lines, f"written to {out}")


def _synthetic(asked: dict[str, Any], seed: int) -> tuple["Workload", "Approximation | None"]:
    """Draw a random workload."""
    from meshwright.cli import output
    from meshwright.content import synthetic
    from meshwright.content.model.synthetic import synthetic_approximation
    from meshwright.errors import InputError

    given = {name: value for name, value in asked.items() if value is not None}
    if "users" not in given:
        raise InputError("the number of users is missing: give --users, or --traffic for measured rates")
    with output.working("drawing a workload"):
        made = synthetic(**given, seed=seed)
        shape = {name: given[name] for name in ("users", "channels", "length") if name in given}
        return made, synthetic_approximation(**shape, seed=seed)


def _measured(
    traffic: Path, channels: int | None, asked: dict[str, Any]
) -> tuple["Workload", "Approximation | None"]:
    """Build a workload from the rates of a traffic folder."""
    from meshwright.errors import InputError
    from meshwright.store.content.traffic_workloads import Sources, workload_from_traffic
    from meshwright.store.traffic import read_traffic

    files = [asked[name] for name in ("subscriptions", "user_places", "broker_places")]
    if None in files:
        raise InputError("--traffic needs --subscriptions, --user-places and --broker-places: give all three")
    return workload_from_traffic(
        read_traffic(traffic),
        Sources(*files),
        channels=channels,
        cells=bool(asked["cells"]),
        figure="byte_rate" if asked["bytes"] else "rate",
        core_weight=1.0 if asked["core_weight"] is None else asked["core_weight"],
    )


def _refuse(options: dict[str, Any], why: str) -> None:
    """Raise an error if any of some options is given."""
    from meshwright.errors import InputError

    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)}: {why}")
