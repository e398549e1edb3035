"""The greedy designs: GM, MinMax-ODA, Low-ODA, GPA and GPM, also to the letter of the papers.

As printed, MinMax-ODA takes the best of the links that raise the maximum degree least, even if the best one
connects nothing (icdcs10, section I-B; icdcs16, Alg. 3). So a phase with maximum degree D takes the
contributing links that keep to D, largest contribution first. It then takes links of contribution 0 between
nodes below D, smallest (u, v) first. Only then does D rise. The papers count these links: n(n − 2)/2 in
icdcs10, Lemma 1, and the budgets of icdcs16, Eq. 36.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshwright import measure
from meshwright.arrays import Ids
from meshwright.costs.link_costs import LinkCosts
from meshwright.errors import InputError
from meshwright.greedy import candidates, grow, rules
from meshwright.greedy.engine import Start, check_budgets, limit_of
from meshwright.greedy.rules import Rule
from meshwright.interest import Interest
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.progress import Progress, part_of


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
            start=Start(before if len(before) else None, _degrees(links)),
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
    return unchecked_overlay(
        links.interest,
        np.concatenate((links.u, u)),
        np.concatenate((links.v, v)),
        np.concatenate((links.contribution, contribution)),
    )


def _useless_links(links: Overlay, limit: int, most: int) -> tuple[Ids, Ids]:
    """Return links that connect nothing and raise degrees to the limit, at most `most` of them."""
    from meshwright.designs.kernels.random_links import FillState, fill_degrees

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
    sizes = np.maximum(np.diff(interest.topic_ptr) - 1, 0)
    share = float(sizes[pending].sum() / max(1, sizes.sum()))
    return part_of(progress, 1 - share, 1.0, before)


def grow_by_cost(
    interest: Interest,
    rule: Rule,
    costs: LinkCosts,
    *,
    max_edges: int | None = None,
    max_degree: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Overlay:
    """Grow by contribution over cost, always on one thread.

    Raises
    ------
    InputError
        For any other option of the engine.
    """
    from meshwright.greedy import weighted  # it imports kernels, and so numba

    _refuse(options, "costs")
    return weighted.grow(interest, rule, costs, max_edges=max_edges, max_degree=max_degree, progress=progress)


def gm(
    interest: Interest,
    *,
    rounds: int = 1,
    max_edges: int | None = None,
    costs: LinkCosts | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Overlay:
    """Add the link that merges components of the most topics, until no link contributes.

    Guarantee: every topic is connected, by at most ln(Σ|T(v)|) times the fewest possible links (podc07,
    Alg. 3 and Lemma 6.5). With `rounds` > 1 it runs again from an empty overlay on the unused pairs, and the
    result is the union: more links, better connectivity and diameter (podc07, section 6). `max_edges` then
    limits all rounds together. Other options are those of `meshwright.greedy.grow`; with several rounds only
    `threads` and `tuning` are allowed.

    With `costs` it takes the largest contribution over cost. The total cost is then at most 1 + ln(c) times
    that of any overlay that connects every topic, where c is the largest number of topics that two nodes
    share (Wolsey 1982). This works with one round only.
    """
    if not isinstance(rounds, (int, np.integer)) or rounds < 1:
        raise InputError(f"{rounds} rounds: give a whole number of at least 1")
    if rounds > 1:
        _refuse({**options, "costs": costs}, "rounds", but=("threads", "tuning"))
    if costs is not None:
        return grow_by_cost(interest, rules.gm, costs, max_edges=max_edges, progress=progress, **options)
    first = part_of(progress, 0.0, 1 / rounds)
    overlay = grow(interest, rules.gm, max_edges=max_edges, progress=first, **options)
    for number in range(1, rounds):
        again = grow(
            interest,
            rules.gm,
            candidates=candidates.all_but(overlay),
            max_edges=None if max_edges is None else max_edges - len(overlay),
            progress=part_of(progress, number / rounds, (number + 1) / rounds, len(overlay)),
            **options,
        )
        if len(again) == 0:  # no later round would find a link either
            break
        # Links of later rounds merge nothing: earlier rounds have connected every topic.
        nothing = np.zeros(len(again), dtype=np.int32)
        overlay = _joined(overlay, again.u, again.v, nothing)
    return overlay


def minmax(interest: Interest, *, literal: bool = False, **options: Any) -> Overlay:
    """Take the best link among those that raise the maximum degree the least.

    Guarantee: every topic is connected, with a maximum degree within O(log(|V|·|T|)) of the lowest possible;
    the number of links may be Θ(|V|) times the fewest (icdcs10, section II-A and Lemma 1). Options are those
    of `meshwright.greedy.grow`.

    With `literal` it follows the printed rule and also takes links that connect nothing, while they do not
    raise the maximum degree. Options are then `max_edges`, `max_degree`, `threads` and `progress`.
    """
    if rules.check_flag("literal", literal):
        return literal_minmax(interest, **_of_literal(options))
    return grow(interest, rules.minmax, **options)


def _of_literal(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options; raise an InputError for those that the literal variants do not take."""
    _refuse(options, "literal", but=("max_edges", "max_degree", "threads", "progress"))
    return {name: value for name, value in options.items() if value is not None}


def _refuse(options: dict[str, Any], other: str, but: Collection[str] = ()) -> None:
    """Refuse all given options but some, as they cannot be combined with another one."""
    barred = sorted(name for name, value in options.items() if value is not None and name not in but)
    if barred:
        raise InputError(f"{' and '.join(barred)} and {other} cannot be combined: leave one of them out")


def low(
    interest: Interest,
    *,
    k: float = 3.0,
    strict: bool = False,
    literal: bool = False,
    costs: LinkCosts | None = None,
    **options: Any,
) -> Overlay:
    """Take the best link that keeps the maximum degree, if it is at least 1/k as good as the best of all.

    Guarantee: every topic is connected; the average degree is within O(k·log(|V|·|T|)) and the maximum degree
    within O((|V|/k)·log(|V|·|T|)) of the lowest possible (icdcs10, Table I). Options are those of
    `meshwright.greedy.grow`.

    With `strict` the link must be better than 1/k of the best, not only as good; with k = 1 the links are
    then exactly GM's. `literal` changes no link for a finite k: a link of contribution 0 is never as good as
    1/k of one that contributes, so the printed rule does not take it either. With k = ∞ it is: then the links
    are those of the literal MinMax-ODA, unless `strict`.

    With `costs`, links are ranked by contribution over cost; no bound is known for this variant. It cannot be
    combined with `strict` or `literal`.
    """
    rule = rules.low(k, strict=strict)
    if rules.check_flag("literal", literal):
        if costs is not None:
            _refuse({"literal": literal}, "costs")
        if math.isinf(k) and not strict:
            return literal_minmax(interest, **_of_literal(options))
    if costs is not None:
        return grow_by_cost(interest, rule, costs, **options)
    return grow(interest, rule, **options)


def gpa(interest: Interest, *, max_edges: int, **options: Any) -> Overlay:
    """Run Greedy Merge and stop at `max_edges` links.

    Guarantee: at least 1 − 1/e of the best support that `max_edges` links can give; no polynomial algorithm
    does better unless P = NP (icdcs16, Lemmas 1 and 2). The result is a prefix of GM's run.
    """
    return grow(interest, rules.gm, max_edges=max_edges, **options)


def gpm(interest: Interest, *, max_degree: int, literal: bool = False, **options: Any) -> Overlay:
    """Run MinMax-ODA and stop before the maximum degree exceeds `max_degree`.

    Guarantee: at least 1 − e^(−1/6), about 0.154, of the best support under that limit (icdcs16, Lemma 4).
    The result is a prefix of MinMax-ODA's run, or with `literal` of the literal MinMax-ODA's.
    """
    return minmax(interest, literal=literal, max_degree=max_degree, **options)
