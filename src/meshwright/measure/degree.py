"""Degrees: how many links each node has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.overlay import Overlay


@dataclass(frozen=True, eq=False)
class Degrees:
    """The number of links of each node."""

    average: float
    """Links per node; 0 without nodes."""
    maximum: int
    """The most of any node; 0 without nodes."""
    of_node: NDArray[np.int64]
    """By node: its links."""
    distribution: NDArray[np.int64]
    """How many nodes have 0, 1, 2 … links; empty without nodes."""


def degrees(overlay: Overlay) -> Degrees:
    """Count each node's links.

    >>> from meshwright import Interest, Overlay
    >>> interest = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})
    >>> star = Overlay(interest, np.array([0, 0]), np.array([1, 2]), np.array([1, 1]))
    >>> degrees(star).of_node.tolist()
    [2, 1, 1]
    >>> degrees(star).distribution.tolist()
    [0, 2, 1]
    """
    nodes = overlay.interest.num_nodes
    of_node = np.bincount(overlay.u, minlength=nodes) + np.bincount(overlay.v, minlength=nodes)
    return Degrees(
        average=2 * len(overlay) / nodes if nodes else 0.0,
        maximum=int(of_node.max(initial=0)),
        of_node=of_node,
        distribution=np.bincount(of_node),
    )
