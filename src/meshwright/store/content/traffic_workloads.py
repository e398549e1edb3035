"""Workloads from measured traffic: rates of publishers, subscriptions, and places of users and brokers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.errors import InputError, first_five
from meshwright.store.interest_files import load_interest
from meshwright.store.row_files import check_names, errors_name_file, read_columns
from meshwright.store.traffic import name_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.content import Workload
    from meshwright.content.densities import Approximation
    from meshwright.store.traffic import Traffic


class Sources(NamedTuple):
    """The files that complete a traffic folder, as CSV or Parquet.

    Subscriptions have the columns `node, topic` for traffic by topics, or `user, low, high` for traffic by
    content values. Users have `user, x, y`; brokers have `broker, x, y` and optionally `capacity`.
    """

    subscriptions: Path
    users: Path
    brokers: Path


def workload_from_traffic(
    traffic: Traffic,
    sources: Sources,
    *,
    channels: int | None = None,
    cells: bool = False,
    figure: str = "rate",
    core_weight: float = 1.0,
) -> tuple[Workload, Approximation | None]:
    """Make a workload from measured traffic.

    Traffic by topics gives one channel per topic. Traffic by content values is a histogram of each user's
    rate; it is integrated over channels, which may be cut differently.

    Parameters
    ----------
    traffic
        The traffic that the pipeline summed up.
    sources
        Subscriptions, and the places of users and brokers.
    channels
        Number of equal channels of the content values; by default as the traffic was summed up.
    cells
        Cut the content values along the subscriptions instead.
    figure
        `rate` for messages per second, `byte_rate` for bytes per second.
    core_weight
        Cost of a core link per unit of distance; an access link costs 1.

    Raises
    ------
    InputError
        If a user or broker has no place, a column is missing, or a figure is invalid.
    """
    from meshwright.content import Places, Workload

    made_by = dict(traffic.described.get("made_by") or {})
    valued = made_by.get("value") is not None
    if not valued and (channels is not None or cells):
        raise InputError(
            "this traffic is by topics, and each topic is a channel: leave out --channels and --cells"
        )
    names, rates, wanted, labels, spare = (
        _by_values(traffic, sources, made_by, channels=channels, cells=cells, figure=figure)
        if valued
        else _by_topics(traffic, sources, figure)
    )
    user_places = _places_of(names, sources.users)
    brokers = _read(sources.brokers, ["broker", "x", "y"], optional="capacity")
    workload = Workload.build(
        names,
        brokers.column("broker").to_pylist(),
        labels,
        rates=rates,
        subscriptions=wanted,
        places=Places(user_places, _places(brokers), core_weight),
        capacity=_numbers(brokers, "capacity") if "capacity" in brokers.column_names else None,
        described={"traffic": made_by, "figure": figure, "cells": cells, "channels": channels},
    )
    return workload, spare


Columns = tuple[Any, ...]


def _by_topics(
    traffic: Traffic, sources: Sources, figure: str
) -> tuple[list[str], Columns, Columns, list[str], None]:
    interest = load_interest(sources.subscriptions)
    takers, topics = interest.node_names.cast(pa.string()), interest.topic_names.cast(pa.string())
    names = sorted({*takers.to_pylist(), *traffic.publishers})
    labels = sorted({*topics.to_pylist(), *traffic.channels.column("channel").to_pylist()})
    rates = (
        name_places(traffic.rates.column("publisher"), names),
        name_places(traffic.rates.column("channel"), labels),
        traffic.rates.column(figure).to_numpy(),
    )
    wanted = (
        name_places(takers, names)[interest.node_of_slot],
        name_places(topics, labels)[interest.node_topics],
    )
    return names, rates, wanted, labels, None


def _by_values(
    traffic: Traffic,
    sources: Sources,
    made_by: dict[str, Any],
    *,
    channels: int | None,
    cells: bool,
    figure: str,
) -> tuple[list[str], Columns, Columns, list[str], Approximation]:
    from meshwright.content.densities import Histogram, channel_rates, over_approximation
    from meshwright.content.space import Attribute, Boxes, channels_from_boxes, grid

    counted = int(made_by.get("channels", 100))
    space = Attribute(str(made_by["value"]), made_by.get("low", 0.0), made_by.get("high", 1.0))
    table = _read(sources.subscriptions, ["user", "low", "high"])
    takers = table.column("user")
    names = sorted({*takers.to_pylist(), *traffic.publishers})
    histogram = np.zeros((len(names), counted))
    rows = name_places(traffic.rates.column("publisher"), names)
    bins = traffic.rates.column("channel").cast(pa.int64()).to_numpy()
    np.add.at(histogram, (rows, bins), traffic.rates.column(figure).to_numpy())
    density = Histogram(np.linspace(space.low, space.high, counted + 1), histogram)
    ends = [_numbers(table, end)[:, None] for end in ("low", "high")]
    boxes = Boxes(name_places(takers, names), *ends).clip([space], len(names))
    cut = channels_from_boxes([space], boxes, len(names)) if cells else grid([space], [channels or counted])
    rates = channel_rates([density], cut)
    publisher, published = np.nonzero(rates)
    return (
        names,
        (publisher, published, rates[publisher, published]),
        cut.met_by(boxes),
        list(cut.names),
        over_approximation([density], cut, boxes),
    )


def _read(path: Path, columns: Sequence[str], optional: str = "") -> pa.Table:
    if not path.is_file():
        raise InputError(f"no file {path}: nothing is there, check the path")
    with errors_name_file(path):
        table = read_columns(path, lambda found: [*columns, *([optional] if optional in found else [])])
        check_names(table.column(columns[0]), columns[0])
    return table


def _numbers(table: pa.Table, name: str) -> NDArray[np.float64]:
    try:
        made: NDArray[np.float64] = table.column(name).cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        raise InputError(f"a {name} is not a number: give numbers") from error
    return made


def _places(table: pa.Table) -> NDArray[np.float64]:
    return np.stack((_numbers(table, "x"), _numbers(table, "y")), axis=1)


def _places_of(users: list[str], path: Path) -> NDArray[np.float64]:
    """Return the places of some users, in their order."""
    table = _read(path, ["user", "x", "y"])
    found = pc.index_in(pa.array(users, pa.string()), table.column("user").combine_chunks())
    if found.null_count:
        lost = [name for name, there in zip(users, found.is_valid().to_pylist(), strict=True) if not there]
        raise InputError(f"{path} has no place for users {first_five(lost)}: add a row for each")
    rows: NDArray[np.int64] = found.to_numpy()
    return _places(table)[rows]
