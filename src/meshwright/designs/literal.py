"""The papers to the letter: MinMax-ODA and GPM with useless links, and budgets as a share of MinMax-ODA.

As printed, MinMax-ODA takes the best of the links that raise the maximum degree least, even if the best one
connects nothing (icdcs10, section I-B; icdcs16, Alg. 3). So a phase with maximum degree D takes the
contributing links that keep to D, largest contribution first. It then takes links of contribution 0 between
nodes below D, smallest (u, v) first. Only then does D rise. The papers count these links: n(n − 2)/2 in
icdcs10, Lemma 1, and the budgets of icdcs16, Eq. 36.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from meshwright import measure
from meshwright.errors import InputError
from meshwright.greedy import grow, rules
from meshwright.greedy.driver import check_budgets, limit_of
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.arrays import Ids
    from meshwright.interest import Interest
    from meshwright.progress import Progress


def literal_minmax(
    interest: Interest,
    *,
    max_edges: int | None = None,
    max_degree: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Overlay:
    """Run MinMax-ODA as printed: it also takes links that connect nothing, while they spare the degree.

    It stops when every topic is connected. A budget ends it earlier: the result is then a prefix of the run
    without a budget. With `max_degree` this is the printed GPM.

    Guarantee: as MinMax-ODA; links are up to |V|·Δ/2 for a maximum degree of Δ. Complexity: a run of the
    engine for each of the Δ phases, on the topics that are not connected yet.
    """
    check_budgets(max_edges, max_degree)
    links, useful = Overlay.empty(interest), Overlay.empty(interest)
    most, top, limit = limit_of(max_edges), limit_of(max_degree), 0
    pending = _split_topics(useful)
    while len(pending) and len(links) < most and limit < top:
        limit += 1
        # Useless links count as degrees only: they merge nothing, now or later.
        before = useful
        useful = grow(
            interest,
            rules.gm,
            start=before if len(before) else None,
            degrees=_degrees(links),
            topics=pending,
            max_edges=most - len(links),
            max_degree=limit,
            threads=threads,
            progress=_of_phase(progress, interest, len(links), pending),
        )
        added = slice(len(before), None)
        links = _joined(links, useful.u[added], useful.v[added], useful.contribution[added])
        pending = _split_topics(useful)
        if len(pending):
            u, v = _useless_links(links, limit, most - len(links))
            links = _joined(links, u, v, np.zeros(len(u), dtype=np.int32))
    return links


def budget_of(reference: Overlay, ratio: float, name: str) -> int:
    """Return the share `ratio` of a reference's links (`max_edges`) or of its maximum degree (`max_degree`).

    The ratio is the decimal number as written, and the budget is rounded down (icdcs16, Eq. 36).

    >>> from meshwright.workloads import lemma1
    >>> budget_of(literal_minmax(lemma1(8)), 0.2, "max_edges")
    5
    """
    check_ratio(ratio)
    whole = len(reference) if name == "max_edges" else measure.degrees(reference).maximum
    return math.floor(Fraction(str(float(ratio))) * int(whole))


def check_ratio(ratio: float) -> None:
    """Raise an InputError unless a budget ratio is a number from 0 to 1."""
    if not isinstance(ratio, Real) or isinstance(ratio, bool) or not 0 <= ratio <= 1:
        raise InputError(f"ratio is {ratio}: give a number from 0 to 1 (0.2 is usual)")


def _split_topics(overlay: Overlay) -> NDArray[np.int64]:
    """Return the topics that are not connected."""
    return np.flatnonzero(measure.components(overlay).of_topic > 1)


def _degrees(links: Overlay) -> Ids:
    return np.bincount(np.append(links.u, links.v), minlength=links.interest.num_nodes).astype(np.int32)


def _joined(links: Overlay, u: Ids, v: Ids, contribution: Ids) -> Overlay:
    """Return an overlay with more links at its end."""
    return Overlay(
        links.interest,
        np.concatenate((links.u, u)),
        np.concatenate((links.v, v)),
        np.concatenate((links.contribution, contribution)),
    )


def _useless_links(links: Overlay, limit: int, most: int) -> tuple[Ids, Ids]:
    """Return links that connect nothing and raise degrees to the limit, at most `most` of them."""
    from meshwright.designs.kernels.degree_fill import FillState, fill_degrees

    nodes, degree = links.interest.num_nodes, _degrees(links)
    room = min(most, int((limit - degree).sum(dtype=np.int64)) // 2)
    us, vs = (np.empty(room, dtype=np.int32) for _ in range(2))
    ptr = np.concatenate(([0], np.cumsum(np.bincount(links.u, minlength=nodes)))).astype(np.int64)
    held = FillState(
        ptr=ptr,
        larger=links.v[np.argsort(links.u, kind="stable")],
        degree=degree,
        after=np.empty(nodes, dtype=np.int32),
        mark=np.full(nodes, -1, dtype=np.int32),
    )
    added = fill_degrees(held, np.int64(limit), np.int64(room), us, vs)
    return us[:added], vs[:added]


def _of_phase(
    progress: Progress | None, interest: Interest, before: int, pending: NDArray[np.int64]
) -> Progress | None:
    """Turn the progress of one phase, which counts pending topics only, into progress of the whole run."""
    if progress is None:
        return None
    sizes = np.maximum(np.diff(interest.topic_ptr) - 1, 0)
    share = float(sizes[pending].sum() / max(1, sizes.sum()))
    return lambda edges, support, what: progress(before + edges, 1 - share * (1 - support), what)
