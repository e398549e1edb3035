"""Whether the trees of a plan are trees of exactly the brokers they should span: by scipy, from its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.errors import first_five
from meshwright.store.trees import PUBLISHER, RELAY, read_trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.store.plans import StoredPlan


def tree_faults(stored: StoredPlan, overlay: Overlay) -> tuple[str, ...] | None:
    """Return what is wrong with a plan's trees, nothing if all is well, and None if it has none."""
    if "routes" not in stored.metadata:
        return None
    found, interest = read_trees(stored.path), overlay.interest
    ids = [
        *_ids(interest, found.trees, ("topic", "parent", "child")),
        *_ids(interest, found.roles, ("topic", "broker")),
    ]
    if any(unknown for _, unknown in ids):
        return (f"trees name the unknown {first_five([name for _, unknown in ids for name in unknown])}",)
    topic, parent, child, role_topic, role_broker = (column for column, _ in ids)
    role = np.array(found.roles.column("role").to_pylist(), dtype=object)
    width = max(interest.num_nodes, 1)
    relays = (role_topic * width + role_broker)[role == RELAY]
    sending = (role_topic * width + role_broker)[role == PUBLISHER]
    own = np.isin(topic * width + child, sending)
    entries, above = (topic * width + child)[~own], np.where(parent < 0, -1, topic * width + parent)[~own]
    held = interest.node_topics.astype(np.int64) * width + interest.node_of_slot
    names = interest.topic_names

    def named(keys: NDArray[np.int64]) -> str:
        return first_five(names[topic].as_py() for topic in np.unique(keys // width).tolist())

    faults = []
    ordered = np.sort(entries)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        faults.append(f"the trees of topics {named(twice)} reach a broker twice")
    uninterested = np.setdiff1d(entries, np.concatenate((held, relays)))
    if len(uninterested):
        faults.append(
            f"the trees of topics {named(uninterested)} have brokers that are neither subscribers nor relays"
        )
    split = _split(ordered, entries, above, width)
    if len(split):
        faults.append(f"the trees of topics {named(split * width)} are not one tree each")
    below = above >= 0
    ends = np.sort(np.stack((above[below] % width, entries[below] % width)), axis=0)
    taken = ends[0] * width + ends[1]
    astray = ~np.isin(taken, overlay.u * np.int64(width) + overlay.v)
    if astray.any():
        faults.append(f"the trees of topics {named(entries[below][astray])} use links that are not there")
    missing = np.setdiff1d(held[_due(overlay)[held // width]], entries)
    if len(missing):
        faults.append(f"the trees of topics {named(missing)} leave out subscribers")
    hung = topic[own] * width + parent[own]
    carried = np.concatenate((entries, held))
    if not np.isin(hung, carried).all() or np.isin(sending, held).any():
        faults.append("publishers are not attached to a carrier of their topic, or subscribe themselves")
    stated = found.described.get("figures", {})
    counted = {
        "trees": len(np.unique(entries // width)),
        "relays": len(relays),
        "publishers": int(own.sum()),
        "links_used": len(np.unique(taken)),
    }
    faults += [
        f"routes: {name} is {value}, the plan states {stated.get(name)}"
        for name, value in counted.items()
        if stated.get(name) != value
    ]
    return tuple(faults)


def _ids(interest: Interest, table: pa.Table, columns: tuple[str, ...]) -> list[tuple[Any, list[str]]]:
    """Return columns by id, -1 for null, each with the names that nobody knows."""
    made = []
    for column in columns:
        names = interest.topic_names if column == "topic" else interest.node_names
        given = table.column(column)
        ids = pc.index_in(given, names.cast(pa.string()))
        unknown = given.filter(pc.and_(given.is_valid(), ids.is_null())).unique().to_pylist()
        made.append((pc.fill_null(ids, -1).to_numpy().astype(np.int64), unknown))
    return made


def _split(
    ordered: NDArray[np.int64], entries: NDArray[np.int64], above: NDArray[np.int64], width: int
) -> NDArray[np.int64]:
    """Return the topics whose rows are not one tree: not one root, or in more than one piece."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(entries):
        return np.zeros(0, dtype=np.int64)
    below = above >= 0
    place = np.searchsorted(ordered, above[below])
    astray = np.append(ordered, -1)[place] != above[below]
    here = np.searchsorted(ordered, entries[below])[~astray]
    links = (np.ones(len(here), dtype=np.int8), (here, place[~astray]))
    _, piece = connected_components(coo_array(links, shape=(len(ordered),) * 2), directed=False)
    pieces = np.unique(np.stack((ordered // width, piece)), axis=1)[0]
    topics, counts = np.unique(pieces, return_counts=True)
    rooted, roots = np.unique(entries[~below] // width, return_counts=True)
    return np.unique(
        np.concatenate(
            (topics[counts > 1], np.setdiff1d(topics, rooted[roots == 1]), entries[below][astray] // width)
        )
    )


def _due(overlay: Overlay) -> NDArray[np.bool_]:
    """Say of each topic whether it must have a tree: two subscribers or more, who can reach each other."""
    from scipy.sparse.csgraph import connected_components

    interest = overlay.interest
    _, piece = connected_components(overlay.to_scipy(), directed=False)
    sizes = np.diff(interest.topic_ptr)
    due = sizes > 1
    there = np.flatnonzero(sizes)
    least = (
        np.minimum.reduceat(piece[interest.topic_nodes], interest.topic_ptr[there]) if len(there) else there
    )
    most = (
        np.maximum.reduceat(piece[interest.topic_nodes], interest.topic_ptr[there]) if len(there) else there
    )
    due[there] &= least == most
    return due
