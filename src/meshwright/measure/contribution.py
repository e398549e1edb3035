"""What each edge adds: contributions in order, and the support of every prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.arrays import frozen
from meshwright.errors import InputError, first_five
from meshwright.interest import Interest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.overlay import Overlay


def contributions(interest: Interest, u: NDArray[Any], v: NDArray[Any]) -> Ids:
    """Count, for each edge in order, the topics of which it merges two components, given those before it.

    Raises
    ------
    InputError
        If u and v differ in length, or a pair is not 0 ≤ u < v < nodes.

    Examples
    --------
    >>> from meshwright import Interest
    >>> interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}})
    >>> contributions(interest, np.array([0, 1, 0]), np.array([1, 2, 2])).tolist()
    [2, 1, 0]
    """
    if len(u) != len(v):
        raise InputError(f"{len(u)} ends u but {len(v)} ends v: give two ends for each edge")
    bad = (u < 0) | (v >= interest.num_nodes) | (u >= v)
    if bad.any():
        pairs = zip(u[bad].tolist(), v[bad].tolist(), strict=True)
        raise InputError(f"edges {first_five(pairs)} are not 0 <= u < v < {interest.num_nodes}")
    from meshwright.measure.kernels.contributions import count_contributions

    return count_contributions(
        frozen(interest.node_ptr, np.int64),
        frozen(interest.node_topics, np.int32),
        interest.num_topics,
        _mergeable(interest),
        frozen(u, np.int32),
        frozen(v, np.int32),
    )


def support_curve(overlay: Overlay) -> NDArray[np.float64]:
    """Return the support of every prefix: entry i is that of the first i edges.

    Contributions are recounted from the edges; those that the overlay states are ignored.
    """
    interest = overlay.interest
    gained = np.cumsum(contributions(interest, overlay.u, overlay.v), dtype=np.int64)
    mergeable = _mergeable(interest)
    if not mergeable:
        return np.ones(len(overlay) + 1)
    curve: NDArray[np.float64] = np.concatenate(([0], gained)) / mergeable
    return curve


def _mergeable(interest: Interest) -> int:
    """Return the number of merges that connect every topic."""
    subscribed = np.bincount(interest.node_topics, minlength=interest.num_topics)
    return interest.num_subscriptions - int(np.count_nonzero(subscribed))
