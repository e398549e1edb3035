"""Workloads of the content-based half as folders, made by a command, by the pipeline or by hand.

`workload.json` names the channels and records how the workload was made. `users.parquet` holds `user, x, y`,
`brokers.parquet` `broker, x, y, capacity`, `rates.parquet` `user, channel, rate`, and `subscriptions.parquet`
`user, channel`. The cost of a link is its length in the plane, times `core_weight` between brokers, unless
`access.parquet` (`user, broker, cost`) and `core.parquet` (`u, v, cost`) exist.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from msgspec import Struct

from meshwright.arrow import from_numpy
from meshwright.errors import FormatError, InputError
from meshwright.files.atomic import new_folder
from meshwright.files.header import WORKLOAD, damaged, read_record, write_header
from meshwright.files.schema import Count
from meshwright.store.tables import NamedColumns, write_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.content import Workload


class WorkloadHeader(Struct, forbid_unknown_fields=True):
    """The contents of `workload.json`; one that is written by hand needs only the first two."""

    format: str
    schema: int
    channels: list[str | int] | None = None
    seed: int | None = None
    core_weight: float | None = 1.0
    """The cost of a core link per unit of distance; null if costs are in tables."""
    counts: dict[str, Count] = {}
    fingerprint: str | None = None
    made_by: dict[str, Any] = {}


def write_workload(workload: Workload, path: str | Path) -> Path:
    """Write a workload as a folder; an existing workload is replaced."""
    places = workload.places
    user = np.repeat(np.arange(workload.num_users), np.diff(workload.rate_ptr))
    taker = np.repeat(np.arange(workload.num_users), np.diff(workload.subscription_ptr))
    users, brokers, channels = workload.user_names, workload.broker_names, workload.channel_names
    tables = {
        "users": {"user": users, **_coordinates(None if places is None else places.users, len(users))},
        "brokers": {
            "broker": brokers,
            **_coordinates(None if places is None else places.brokers, len(brokers)),
            "capacity": from_numpy(workload.capacity),
        },
        "rates": {
            "user": users.take(from_numpy(user)),
            "channel": channels.take(from_numpy(workload.rate_channels)),
            "rate": from_numpy(workload.rates),
        },
        "subscriptions": {
            "user": users.take(from_numpy(taker)),
            "channel": channels.take(from_numpy(workload.subscription_channels)),
        },
    }
    if places is None:
        each = np.indices(workload.access.shape).reshape(2, -1)
        u, v = np.triu_indices(len(brokers), 1)
        tables["access"] = {
            "user": users.take(from_numpy(each[0])),
            "broker": brokers.take(from_numpy(each[1])),
            "cost": from_numpy(workload.access.reshape(-1)),
        }
        tables["core"] = {
            "u": brokers.take(from_numpy(u)),
            "v": brokers.take(from_numpy(v)),
            "cost": from_numpy(workload.core[u, v]),
        }
    described = {
        "channels": channels.to_pylist(),
        "seed": workload.described.get("seed"),
        "core_weight": None if places is None else places.core_weight,
        "counts": {"users": len(users), "brokers": len(brokers), "channels": len(channels)},
        "fingerprint": workload.fingerprint,
        "made_by": dict(workload.described),
    }
    with new_folder(path, WORKLOAD) as folder:
        for name, columns in tables.items():
            write_table(pa.table(columns), folder / f"{name}.parquet")
        write_header(folder, WORKLOAD, described)
    return Path(path)


def read_workload(path: str | Path) -> Workload:
    """Read a workload folder.

    Names may be strings or integers. Capacities are optional, and so are the `channels` in `workload.json`:
    without them, the channels are those that rates and subscriptions name.

    Raises
    ------
    InputError
        If the folder does not exist, or the workload is invalid.
    FormatError
        If the folder is of another kind, has a newer schema, or is damaged.
    """
    from meshwright.content import Workload

    folder = Path(path)
    described = read_record(folder, WORKLOAD, WorkloadHeader)
    tables = {
        name: NamedColumns.read(folder / f"{name}.parquet")
        for name in ("users", "brokers", "rates", "subscriptions")
    }
    users, brokers = tables["users"].distinct("user"), tables["brokers"].distinct("broker")
    rated, wanted = tables["rates"], tables["subscriptions"]
    if described.channels is None:
        channels = sorted({*rated.names("channel"), *wanted.names("channel")})
    else:
        channels = [str(name) for name in described.channels]
    rates = (rated.positions("user", users), rated.positions("channel", channels), rated.numbers("rate"))
    subscriptions = (wanted.positions("user", users), wanted.positions("channel", channels))
    capacity = tables["brokers"].optional("capacity")
    costs = _costs(folder, described, tables, users, brokers)
    try:  # errors above name a file; errors below must name the folder
        return Workload.build(
            users,
            brokers,
            channels,
            rates=rates,
            subscriptions=subscriptions,
            capacity=capacity,
            described=described.made_by,
            **costs,
        )
    except InputError as error:
        raise InputError(f"{folder}: {error}") from error


def _costs(
    folder: Path,
    described: WorkloadHeader,
    tables: dict[str, NamedColumns],
    users: list[str],
    brokers: list[str],
) -> dict[str, Any]:
    """Return the link costs, from two tables or from places."""
    from meshwright.content import Places

    files = [folder / "access.parquet", folder / "core.parquet"]
    if any(file.exists() for file in files):
        if not all(file.exists() for file in files):
            missing = next(file.name for file in files if not file.exists())
            raise damaged(folder, f"{missing} is missing; access and core costs belong together")
        access, core = (NamedColumns.read(file) for file in files)
        row, column = access.positions("user", users), access.positions("broker", brokers)
        u, v = core.positions("u", brokers), core.positions("v", brokers)
        costs = core.numbers("cost")
        between = _filled(files[1], (len(brokers), len(brokers)), u, v, costs)
        between = np.where(np.isnan(between), between.T, between)
        loops = np.diagonal(between)  # the distance of a broker to itself may be missing
        between[np.diag_indices(len(brokers))] = np.where(np.isnan(loops), 0.0, loops)
        return {
            "access": _whole(
                files[0], _filled(files[0], (len(users), len(brokers)), row, column, access.numbers("cost"))
            ),
            "core": _whole(files[1], between),
        }
    points = []
    for name in ("users", "brokers"):
        x, y = tables[name].optional("x"), tables[name].optional("y")
        if x is None or y is None:
            raise damaged(folder, f"{name}.parquet has no places x, y, and there is no access.parquet")
        points.append(np.stack((x, y), axis=1))
    if described.core_weight is None:
        raise damaged(folder / WORKLOAD.file, "core_weight is null, not a number")
    return {"places": Places(points[0], points[1], described.core_weight)}


def _filled(
    file: Path, shape: tuple[int, int], row: NDArray[Any], column: NDArray[Any], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    if len(np.unique(row * shape[1] + column)) < len(row):
        raise FormatError(f"{file} has more than one cost for a pair: keep one of each")
    made = np.full(shape, np.nan)
    made[row, column] = values
    return made


def _whole(file: Path, costs: NDArray[np.float64]) -> NDArray[np.float64]:
    lost = int(np.isnan(costs).sum())
    if lost:
        raise FormatError(f"{file} has no cost for {lost} pairs: add a row for every pair")
    return costs


def _coordinates(points: NDArray[np.float64] | None, count: int) -> dict[str, pa.Array]:
    if points is None:
        return {axis: pa.nulls(count, pa.float64()) for axis in ("x", "y")}
    return {"x": from_numpy(points[:, 0]), "y": from_numpy(points[:, 1])}
