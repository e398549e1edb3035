"""Check that the trees of a plan span exactly the brokers that they must, by numpy and scipy.

That each is one tree is their form: `TreeTables` are made of nothing else.

A broker in the tree of a topic is one number, its *key*: topic · width + broker. So the brokers of all trees
are one array, and sets of them are compared in one step.

Of sound trees the figures are computed again: hops between subscribers, and the loads of links and brokers. A
load counts the messages that a link carries, or the copies that a broker passes on: to every neighbour in the
tree but the one that it got the message from. Each topic counts as one message: a plan does not keep the
rates that its trees may have been made with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.arrow import fill_null, to_numpy
from meshwright.errors import first_five
from meshwright.interest import Interest
from meshwright.overlay import Overlay
from meshwright.plan_tables import NOBODY, PUBLISHER, RELAY, TreeTables

TOLERANCE = 1e-9
"""How far a stated figure may be from the one found, relative to the larger: room for rounding, no more."""


class _Rows(NamedTuple):
    """The tables by key. Publisher-only brokers hang on a tree by a one-way link and are not part of it."""

    width: int
    """How many brokers there are, at least 1."""
    brokers: NDArray[np.int64]
    """By row of a tree: the broker."""
    parents: NDArray[np.int64]
    """By row of a tree: its parent, or NOBODY."""
    subscribers: NDArray[np.int64]
    """Every subscription."""
    relays: NDArray[np.int64]
    """Every broker with the role of a relay."""
    publishers: NDArray[np.int64]
    """Every broker with the role of a publisher."""
    carriers: NDArray[np.int64]
    """By row of a publisher: the broker that it hands its messages to, or NOBODY."""

    @property
    def below(self) -> NDArray[np.bool_]:
        """By row of a tree: whether it has a parent."""
        return np.asarray(self.parents != NOBODY)


def tree_faults(
    overlay: Overlay,
    tables: TreeTables,
    figures: Mapping[str, object],
    *,
    rates: bool = False,
    quick: bool = False,
) -> tuple[str, ...]:
    """Return what is wrong with the trees of a plan, given the figures that it states of them.

    Hops and loads are compared only if the trees are sound; without that they mean nothing. With `rates` the
    loads are messages a second, at rates that are not known here, and are not compared. `quick` needs neither
    kernels nor scipy: hops are not counted, and every topic of two subscribers needs a tree.
    """
    interest = overlay.interest
    unknown = list(_unknown_names(interest, tables))
    if unknown:
        return (f"trees name the unknown {first_five(unknown)}",)
    rows = _rows(interest, tables)
    links = _links(rows)
    needs_tree = np.diff(interest.topic_ptr) > 1 if quick else _needs_tree(overlay)
    faulty_topics = {
        "have brokers that are neither subscribers nor relays": np.setdiff1d(
            rows.brokers, np.concatenate((rows.subscribers, rows.relays))
        )
        // rows.width,
        "use links that are not there": (rows.brokers // rows.width)[rows.below][
            ~np.isin(links, overlay.u * np.int64(rows.width) + overlay.v)
        ],
        "should not be there: fewer than two subscribers, or some that links cannot reach": np.setdiff1d(
            rows.brokers // rows.width, np.flatnonzero(needs_tree)
        ),
        "leave out subscribers": _left_out(rows, needs_tree) // rows.width,
        "name relays that subscribe or are not in them": np.concatenate(
            (np.setdiff1d(rows.relays, rows.brokers), np.intersect1d(rows.relays, rows.subscribers))
        )
        // rows.width,
    }
    names = interest.topic_names
    faults = []
    for what, topics in faulty_topics.items():
        if len(topics):
            faulty = first_five(names[topic].as_py() for topic in np.unique(topics).tolist())
            faults.append(f"the trees of topics {faulty} {what}")
    carrying = np.concatenate((rows.brokers, rows.subscribers))
    if not np.isin(rows.carriers, carrying).all() or np.isin(rows.publishers, rows.subscribers).any():
        faults.append("publishers are not attached to a carrier of their topic, or subscribe themselves")
    measured: dict[str, int | float] = {
        "trees": len(np.unique(rows.brokers // rows.width)),
        "relays": len(rows.relays),
        "publishers": len(rows.carriers),
        "links_used": len(np.unique(links)),
        "unreachable": int(np.count_nonzero(np.diff(interest.topic_ptr) > 1) - np.count_nonzero(needs_tree)),
    }
    if not faults:
        measured |= {} if quick else hop_figures(rows)
        measured |= {} if rates else load_figures(rows, links, len(overlay))
    faults += [
        f"routes: {name} is {found}, the plan states {figures.get(name)}"
        for name, found in measured.items()
        if not _same(found, figures.get(name))
    ]
    return tuple(faults)


def _same(found: int | float, stated: object) -> bool:
    """Say whether a figure is as stated: a count exactly, any other number up to TOLERANCE."""
    return type(stated) is int and stated == found if isinstance(found, int) else agree(found, stated)


def agree(found: float | None, stated: object) -> bool:
    """Say whether a figure is as stated: the same number up to TOLERANCE, or None for both."""
    if found is None or isinstance(stated, bool) or not isinstance(stated, (int, float)):
        return found is None and stated is None
    try:
        return math.isclose(found, stated, rel_tol=TOLERANCE)
    except OverflowError:  # an integer that no float holds
        return False


def _unknown_names(interest: Interest, tables: TreeTables) -> Iterator[str]:
    """Yield the names of the tables that the interest does not have."""
    for table, columns in ((tables.trees, ("topic", "parent", "child")), (tables.roles, ("topic", "broker"))):
        for column in columns:
            given = table.column(column)
            ids = pc.index_in(given, _names(interest, column))
            yield from given.filter(pc.and_(given.is_valid(), ids.is_null())).unique().to_pylist()


def _rows(interest: Interest, tables: TreeTables) -> _Rows:
    """Turn the tables' names into keys."""
    width = max(interest.num_nodes, 1)

    def keys(table: pa.Table, column: str) -> NDArray[np.int64]:
        topics, brokers = (
            to_numpy(fill_null(pc.index_in(table.column(name), _names(interest, name)), NOBODY)).astype(
                np.int64
            )
            for name in ("topic", column)
        )
        return np.where(
            (topics == NOBODY) | (brokers == NOBODY), NOBODY, topics.astype(np.int64) * width + brokers
        )

    role = np.array(tables.roles.column("role").to_pylist(), dtype=object)
    having = keys(tables.roles, "broker")
    children, parents = keys(tables.trees, "child"), keys(tables.trees, "parent")
    publishers = having[role == PUBLISHER]
    outside = np.isin(children, publishers)
    return _Rows(
        width=width,
        brokers=children[~outside],
        parents=parents[~outside],
        subscribers=interest.node_topics.astype(np.int64) * width + interest.node_of_slot,
        relays=having[(role == RELAY) & (having != NOBODY)],
        publishers=publishers,
        carriers=parents[outside],
    )


def _names(interest: Interest, column: str) -> pa.Array:
    names = interest.topic_names if column == "topic" else interest.node_names
    return names.cast(pa.string())


def _links(rows: _Rows) -> NDArray[np.int64]:
    """Return the link of each row that has a parent: lower end · width + upper end."""
    ends = np.stack((rows.parents[rows.below], rows.brokers[rows.below])) % rows.width
    links: NDArray[np.int64] = ends.min(axis=0) * rows.width + ends.max(axis=0)
    return links


def _left_out(rows: _Rows, needs_tree: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the subscribers that a tree must reach and does not."""
    return np.setdiff1d(rows.subscribers[needs_tree[rows.subscribers // rows.width]], rows.brokers)


def _needs_tree(overlay: Overlay) -> NDArray[np.bool_]:
    """Say which topics need a tree: two subscribers or more, who can all reach each other in the overlay."""
    from scipy.sparse.csgraph import connected_components

    interest = overlay.interest
    topic, node = interest.node_topics, interest.node_of_slot
    _, piece = connected_components(overlay.to_scipy(), directed=False)
    # Every subscriber must be in the same piece of the overlay as the last one of its topic.
    last = np.zeros(interest.num_topics, dtype=piece.dtype)
    last[topic] = piece[node]
    needs_tree = np.bincount(topic, minlength=interest.num_topics) > 1
    needs_tree[topic[piece[node] != last[topic]]] = False
    return np.asarray(needs_tree)


LOADS = ("max_link_load", "mean_link_load", "max_broker_load")
"""The figures that depend on rates."""


def hop_figures(rows: _Rows) -> dict[str, int | float]:
    """Return the figures of hops from each subscriber to every other, in trees that are sound."""
    from meshwright.verify.kernels import count_hops

    order = np.argsort(rows.brokers)
    keys, parents = rows.brokers[order], rows.parents[order]
    above = np.where(parents == NOBODY, np.arange(len(keys)), np.searchsorted(keys, parents))
    topics, subscribes = keys // rows.width, np.isin(keys, rows.subscribers)
    # Parents come before their children: by topic, then by depth.
    outwards = np.lexsort((_depths(above), topics))
    position = np.empty_like(outwards)
    position[outwards] = np.arange(len(outwards))
    _, sizes = np.unique(topics, return_counts=True)
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    total, pairs, usual, most = count_hops(
        ptr, position[above[outwards]].astype(np.int64), subscribes[outwards]
    )
    return {
        "mean_hops": float(total.sum() / max(int(pairs.sum()), 1)),
        "usual_hops": int(usual.max(initial=0)),
        "max_hops": int(most.max(initial=0)),
        "mean_max_hops": float(most.mean()) if len(most) else 0.0,
    }


def _depths(above: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how far each position is from its root, which is above itself; every step doubles the reach."""
    depths = (above != np.arange(len(above))).astype(np.int64)
    while (beyond := depths[above]).any():
        depths += beyond
        above = above[above]
    return np.asarray(depths)


def load_figures(rows: _Rows, links: NDArray[np.int64], overlay_links: int) -> dict[str, float]:
    """Return the loads if each topic has one message; `links` names the link of each row with a parent."""
    of_link = np.unique(links, return_counts=True)[1]
    # The neighbours of a broker in a tree: its children, and its parent if it has one.
    neighbours = np.concatenate((rows.brokers[rows.below], rows.parents[rows.below])) % rows.width
    copies = np.bincount(neighbours, minlength=rows.width)
    copies = copies - np.bincount(rows.brokers % rows.width, minlength=rows.width)
    figures = (of_link.max(initial=0), len(links) / max(overlay_links, 1), copies.max(initial=0))
    return dict(zip(LOADS, map(float, figures), strict=True))
