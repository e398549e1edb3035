"""`meshwright content workload`: make users, brokers and channels up, or from measured traffic."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Json, Seed

if TYPE_CHECKING:
    from meshwright.content import Workload
    from meshwright.content.model.over_approximation import Approximation

EXAMPLES = (
    "meshwright content workload --users 2000 --out workload",
    "meshwright content workload --users 1000 --model plane --length 0.03 --ratio 2 --out workload",
)


def workload(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="WORKLOAD", help="The folder to write to.")],
    users: Annotated[
        int | None, typer.Option("--users", metavar="N", help="How many users to make up.")
    ] = None,
    brokers: Annotated[
        int | None, typer.Option("--brokers", metavar="N", help="How many brokers; one for every 100 users.")
    ] = None,
    channels: Annotated[
        int | None,
        typer.Option(
            "--channels", metavar="C", help="Cut the content into so many channels; 100 if made up."
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
        typer.Option(
            "--length", metavar="L", help="Each user's part of the content; one channel if not told."
        ),
    ] = None,
    ratio: Annotated[
        float | None, typer.Option("--ratio", metavar="R", help="Mean access cost over mean core cost; 1.")
    ] = None,
    capacity: Annotated[
        float | None,
        typer.Option("--capacity", metavar="X", help="All capacities over all loads; 2 if not told."),
    ] = None,
    traffic: Annotated[
        Path | None,
        typer.Option(
            "--traffic", metavar="TRAFFIC", help="Rates as measured by 'meshwright traffic' instead."
        ),
    ] = None,
    subscriptions: Annotated[
        Path | None,
        typer.Option(
            "--subscriptions", metavar="FILE", help="With --traffic: node, topic or user, low, high; CSV."
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
        typer.Option("--cells", help="With --traffic: cut the content along the subscriptions themselves."),
    ] = False,
    by_bytes: Annotated[
        bool, typer.Option("--bytes", help="With --traffic: rates in bytes instead of messages a second.")
    ] = False,
    core_weight: Annotated[
        float | None,
        typer.Option(
            "--core-weight", metavar="W", help="With --traffic: core cost for a unit of distance; 1."
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Make a workload: who publishes and wants what, which brokers there are, what links cost.

    Made up as in the paper's evaluation (random quadratic rate densities, one interval a user), or from the
    traffic that publish logs were summed up to.
    """
    from meshwright.cli import output
    from meshwright.cli.content.options import told
    from meshwright.cli.output import check_target
    from meshwright.store.workloads import write_workload

    check_target(out, "workload")
    made_up = {
        "users": users, "brokers": brokers, "model": model, "length": length, "ratio": ratio,
        "capacity": capacity,
    }  # fmt: skip
    measured = {
        "subscriptions": subscriptions, "user_places": user_places, "broker_places": broker_places,
        "core_weight": core_weight, "cells": cells or None, "bytes": by_bytes or None,
    }  # fmt: skip
    if traffic is None:
        _refuse(measured, "--traffic is missing, which these belong to")
        made, spare = _synthetic({**made_up, "channels": channels}, seed)
    else:
        _refuse(made_up, "--traffic says who publishes what")
        made, spare = _measured(traffic, channels, measured)
    write_workload(made, out)
    figures: dict[str, Any] = {
        "users": made.num_users,
        "brokers": made.num_brokers,
        "channels": made.num_channels,
        "subscriptions": len(made.subscription_channels),
        "silent_users": int((made.demand.outgoing == 0).sum()),
        "ratio": made.cost_ratio,
        "volume_ratio": None if spare is None else spare.volume_ratio,
        "traffic_ratio": None if spare is None else spare.traffic_ratio,
        "workload": str(out),
    }
    if json:
        output.answer_json(figures)
        return
    lines = [told(made)]
    if spare is not None:
        lines.append(
            f"whole channels take in {spare.volume_ratio:.3f} times the content that users ask for, "
            f"and {spare.traffic_ratio:.3f} times its traffic"
        )
    output.answer(*lines, f"written to {out}")


def _synthetic(asked: dict[str, Any], seed: int) -> tuple["Workload", "Approximation | None"]:
    from meshwright.cli import output
    from meshwright.content import synthetic
    from meshwright.content.model.synthetic import synthetic_approximation
    from meshwright.errors import InputError

    given = {name: value for name, value in asked.items() if value is not None}
    if "users" not in given:
        raise InputError("nothing says how many users: give --users, or --traffic for measured rates")
    with output.working("making a workload up"):
        made = synthetic(**given, seed=seed)
        shape = {name: given[name] for name in ("users", "channels", "length") if name in given}
        return made, synthetic_approximation(**shape, seed=seed)


def _measured(
    traffic: Path, channels: int | None, asked: dict[str, Any]
) -> tuple["Workload", "Approximation | None"]:
    from meshwright.errors import InputError
    from meshwright.store.traffic import read_traffic
    from meshwright.store.traffic_workloads import Sources, workload_from_traffic

    files = [asked[name] for name in ("subscriptions", "user_places", "broker_places")]
    if None in files:
        raise InputError("--traffic needs --subscriptions, --user-places and --broker-places beside it")
    return workload_from_traffic(
        read_traffic(traffic),
        Sources(*files),
        channels=channels,
        cells=bool(asked["cells"]),
        figure="byte_rate" if asked["bytes"] else "rate",
        core_weight=1.0 if asked["core_weight"] is None else asked["core_weight"],
    )


def _refuse(options: dict[str, Any], why: str) -> None:
    from meshwright.errors import InputError

    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)}: {why}; leave it out")
