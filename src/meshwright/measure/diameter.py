"""Topic diameters: how far messages travel, within the topic or in the whole overlay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from meshwright.arrays import frozen, is_whole
from meshwright.errors import InputError
from meshwright.measure.adjacency import adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.overlay import Overlay

STEPS = 4_000_000_000
"""About how many links all searches may follow together when no effort is given: seconds, not minutes."""


@dataclass(frozen=True, eq=False)
class Diameters:
    """The diameter of each topic."""

    of_topic: NDArray[np.int32]
    """By topic: 0 for fewer than two subscribers, −1 where some subscriber cannot reach another."""
    exact: NDArray[np.bool_]
    """By topic: whether it is exact; if not, it is a lower bound."""
    maximum: int
    """The largest, over the connected topics of two subscribers or more; 0 if there are none."""
    mean: float
    """The mean over the same topics; 0 if there are none."""


def diameters(
    overlay: Overlay, *, scope: Literal["induced", "whole"] = "induced", effort: int | None = None
) -> Diameters:
    """Return for each topic the longest of the shortest paths between two of its subscribers.

    Breadth-first searches from subscribers bound how far every subscriber can be from any other. Those that
    cannot be further away than the best found need no search, so a topic is often exact after far fewer
    searches than it has subscribers. If the effort ends before that, the answer is a lower bound, and `exact`
    says so. Two searches are a double sweep.

    Parameters
    ----------
    overlay
        The overlay to measure.
    scope
        `induced`: paths go through subscribers of the topic only. `whole`: through any node.
    effort
        The most searches for each topic, at least 1; the number of nodes makes every topic exact. None spends
        about 4·10⁹ steps, a few seconds. In the whole overlay it searches from every node if that is enough:
        exact, up to about ten thousand nodes. Otherwise each topic gets an equal share and at least two
        searches.

    Raises
    ------
    InputError
        For an unknown scope, or an effort that is not a whole number of at least 1.
    """
    if scope not in ("induced", "whole"):
        raise InputError(f"unknown scope {scope!r}: choose induced or whole")
    if effort is not None and (not is_whole(effort) or effort < 1):
        raise InputError(f"an effort of {effort} searches: give a whole number of at least 1, or None")
    from meshwright.measure.kernels import diameters as kernels

    interest, links = overlay.interest, adjacency(overlay)
    topic_ptr, topic_nodes = frozen(interest.topic_ptr, np.int64), frozen(interest.topic_nodes, np.int32)
    if scope == "whole" and effort is None and _steps_from_all(overlay) <= STEPS:
        node_ptr, node_topics = frozen(interest.node_ptr, np.int64), frozen(interest.node_topics, np.int32)
        of_topic = kernels.all_sources(node_ptr, node_topics, topic_ptr, topic_nodes, links.ptr, links.nodes)
        exact = np.ones(len(of_topic), dtype=np.bool_)
    else:
        share = STEPS // max(interest.num_topics, 1)
        of_topic, exact = kernels.topic_diameters(
            topic_ptr, topic_nodes, *links, scope == "induced", int(effort or 0), share
        )
    measured = of_topic[of_topic > 0]
    return Diameters(
        of_topic, exact, int(measured.max(initial=0)), float(measured.mean()) if len(measured) else 0.0
    )


def _steps_from_all(overlay: Overlay) -> int:
    """Return the steps of a search from every node, and of looking up its fellow subscribers."""
    interest = overlay.interest
    sizes = np.diff(interest.topic_ptr)
    return interest.num_nodes * (interest.num_nodes + 2 * len(overlay)) + int((sizes * sizes).sum())
