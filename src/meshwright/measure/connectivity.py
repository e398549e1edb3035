"""How connected each topic is: components and support, by scipy's `connected_components`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.overlay import Overlay
    from meshwright.progress import Progress

SLOTS_AT_ONCE = 4_000_000
"""How many subscriptions of edge ends are processed together: bounds the memory of one step."""


@dataclass(frozen=True, eq=False)
class Components:
    """The components of every topic: pieces into which an overlay connects its subscribers."""

    of_topic: NDArray[np.int64]
    """By topic: its components. A topic without subscribers has 0."""
    total: int
    """The components of all topics together."""


def components(overlay: Overlay, *, progress: Progress | None = None) -> Components:
    """Count the components of the sub-overlay that each topic's subscribers induce.

    All topics are processed at once on the product graph: it has a vertex for each subscription and, for each
    edge and each topic common to its ends, a link between their two subscriptions. `progress` is called with
    the number of edges processed so far.
    """
    interest = overlay.interest
    label = _labels(overlay, progress)
    topic_of_component = np.zeros(label.max(initial=-1) + 1, dtype=np.int32)
    topic_of_component[label] = interest.node_topics
    of_topic = np.bincount(topic_of_component, minlength=interest.num_topics)
    return Components(of_topic, len(topic_of_component))


def support(overlay: Overlay) -> float:
    """Return the share of all possible connections that an overlay makes, from 0 to 1 (icdcs16, section II).

    That is (TCC(∅) − TCC(E)) / (TCC(∅) − TCC(K)), where TCC counts components over all topics, ∅ is the
    overlay without links and K the complete one. It is 1 where there is nothing to connect.
    """
    found, subscriptions = components(overlay), overlay.interest.num_subscriptions
    # Without links every subscription is a component; the complete overlay leaves one for each topic.
    mergeable = subscriptions - int(np.count_nonzero(found.of_topic))
    return (subscriptions - found.total) / mergeable if mergeable else 1.0


def _labels(overlay: Overlay, progress: Progress | None) -> Ids:
    """Return the component of the product graph that each subscription is in, numbered from 0.

    Edges come in batches, and each batch joins the components of those before it: memory does not grow with
    the number of edges.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = overlay.interest.num_subscriptions
    label = np.arange(count, dtype=np.int32)
    for last, here, there in _links(overlay):
        links = (np.ones(len(here), dtype=np.int8), (label[here], label[there]))
        count, joined = connected_components(coo_array(links, shape=(count, count)), directed=False)
        label = joined[label]
        if progress is not None:
            progress(last, last / len(overlay), "processed")
    return label


def _links(overlay: Overlay) -> Iterator[tuple[int, Ids, Ids]]:
    """Yield the links of the product graph in batches, each with the number of edges done by then.

    A link is a pair of subscriptions to the same topic.
    """
    from scipy.sparse import csr_array

    interest = overlay.interest
    if not interest.num_subscriptions:
        return
    # Entry (v, t) is the number of that subscription, from 1: a sparse matrix drops zeros.
    numbers = np.arange(1, interest.num_subscriptions + 1, dtype=np.int32)
    shape = (interest.num_nodes, interest.num_topics)
    slots = csr_array((numbers, interest.node_topics, interest.node_ptr), shape=shape)
    ones = csr_array((np.ones_like(numbers), slots.indices, slots.indptr), shape=shape)
    sizes = np.diff(interest.node_ptr)
    reached = np.concatenate(([0], np.cumsum(sizes[overlay.u] + sizes[overlay.v])))
    first = 0
    while first < len(overlay):
        last = int(np.searchsorted(reached, reached[first] + SLOTS_AT_ONCE, side="right")) - 1
        last = max(last, first + 1)
        u, v = overlay.u[first:last], overlay.v[first:last]
        # A product by entries keeps the topics that both ends have, in the same order in both.
        here, there = slots[u].multiply(ones[v]), ones[u].multiply(slots[v])
        yield last, here.data - 1, there.data - 1
        first = last
