"""Does some overlay exist? The decision questions of podc07: TCO(k) and SOC(d, C).

Both questions are NP-hard. The answer is `yes` with an overlay as a witness, `no` with a proof, or `unknown`.
Witnesses come from all designs and from a few plain shapes. Proofs come from counting, from certified prices,
and on small instances from the exact design.

Nodes that share a topic must reach each other, so must those that share one with these, and so on: each
*cluster* of the interest lies in one piece of any overlay with a finite routing cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from meshwright import bounds, measure
from meshwright.designs import rings_and_stars
from meshwright.designs.design import design
from meshwright.designs.exact import solve
from meshwright.designs.plan import Plan
from meshwright.errors import InputError
from meshwright.formatting import counted
from meshwright.interest import Interest
from meshwright.jit.announce import Clock
from meshwright.measure.routing_cost import RoutingCost
from meshwright.overlay import Overlay
from meshwright.progress import Progress

SMALL = 150
"""The exact design is tried up to this many nodes."""
SECONDS = 20.0


@dataclass(frozen=True, eq=False)
class Existence:
    """The answer to a decision question."""

    answer: Literal["yes", "no", "unknown"]
    reason: str
    """The witness, the proof, or what is open, in one line."""
    witness: Plan | None = None
    """For yes: an overlay that satisfies the question."""
    at_least: int | None = None
    """A proven lower bound on the links of any overlay that connects every topic, if one was computed."""
    best: int | None = None
    """The fewest links of an overlay found that connects every topic."""


@dataclass(frozen=True)
class Limits:
    """What an overlay must satisfy."""

    links: int | None
    """No more links than this; of an average degree, the links that it allows."""
    degree: int | None
    """No more links per node than this."""
    cost: int
    """The routing cost allowed."""
    measure: RoutingCost

    @property
    def connected(self) -> bool:
        """Whether every topic must be connected among its subscribers."""
        return self.measure == "filtering" and self.cost == 0

    def met_by(self, overlay: Overlay) -> bool:
        """Return whether an overlay certainly satisfies them."""
        if self.links is not None and len(overlay) > self.links:
            return False
        degree = overlay.interest.num_nodes if self.degree is None else self.degree
        found = measure.soc(overlay, degree=degree, cost=self.cost, measure=self.measure)
        return found.verdict == "yes"


def tco_exists(
    interest: Interest,
    links: int,
    *,
    seconds: float = SECONDS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Existence:
    """Decide TCO(k), whether `links` links suffice to connect every topic (podc07, Definition 4.2).

    The paper writes |E| = k. More links never split a topic, so at most k is the same question.

    >>> from meshwright import Interest
    >>> interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
    >>> tco_exists(interest, 2).answer, tco_exists(interest, 1).answer
    ('yes', 'no')
    """
    if not isinstance(links, int) or links < 0:
        raise InputError(f"{links} links: give a whole number of zero or more")
    limits = Limits(links, None, 0, "filtering")
    return _decide(interest, limits, seconds, seed, progress)


def soc_exists(
    interest: Interest,
    *,
    degree: int | None = None,
    average_degree: float | None = None,
    cost: int,
    measure: RoutingCost = "filtering",
    seconds: float = SECONDS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Existence:
    """Decide SOC(d, C), whether some overlay has a degree of at most d and a routing cost of at most C.

    podc07, section 9. An overlay with a filtering cost of 0 is one that connects every topic.

    Parameters
    ----------
    interest
        The subscriptions.
    degree, average_degree
        The limit d on the maximum or on the average degree: one of them.
    cost
        The limit C: relays over all topics (filtering), or the largest topic diameter in the overlay.
    measure
        `filtering` or `diameter`.
    seconds
        About how long to search for witnesses and proofs; 0 for the quick ones only.
    seed
        For designs that draw random numbers.
    progress
        Called by the slower designs and proofs.

    Raises
    ------
    InputError
        If not exactly one degree is given, or a limit is negative.

    Examples
    --------
    >>> from meshwright import Interest
    >>> interest = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}, "d": {"x"}})
    >>> soc_exists(interest, degree=2, cost=2, measure="diameter").answer
    'yes'
    >>> soc_exists(interest, degree=2, cost=1, measure="diameter").reason
    "no: 'a' must be linked to each of the 3 nodes that share a topic with it"
    """
    if (degree is None) == (average_degree is None):
        raise InputError("the limit on degrees: give either degree or average_degree")
    if measure not in ("filtering", "diameter"):
        raise InputError(f"unknown measure {measure!r}: choose filtering or diameter")
    if (
        not isinstance(cost, int)
        or cost < 0
        or (degree is not None and (not isinstance(degree, int) or degree < 0))
    ):
        raise InputError(f"a degree of {degree} and a cost of {cost}: give whole numbers of zero or more")
    if average_degree is not None and not 0 <= average_degree < math.inf:
        raise InputError(f"an average degree of {average_degree}: give a number of zero or more")
    links = None
    if average_degree is not None:
        links = math.floor(average_degree * interest.num_nodes / 2 + 1e-9)
    return _decide(interest, Limits(links, degree, cost, measure), seconds, seed, progress)


def _decide(
    interest: Interest, limits: Limits, seconds: float, seed: int, progress: Progress | None
) -> Existence:
    """Try quick proofs, quick witnesses, prices, and then what takes time."""
    clock = Clock(seconds)
    proof = refute_by_counting(interest, limits)
    if proof is not None:
        return Existence("no", f"no: {proof}")
    best: int | None = None
    for plan in _quick(interest, limits, seed):
        best = _fewer(best, plan)
        if limits.met_by(plan.overlay):
            return _yes(plan, best)
    prices = bounds.prices(
        interest, effort="full" if seconds else "first", seconds=clock.left, progress=progress
    )
    least = prices.bound
    proof = refute_by_links(interest, limits, least)
    if proof is not None:
        return Existence("no", f"no: {proof}, as certified prices prove", None, least, best)
    if limits.connected and seconds:
        slow = _slow_if_connected(interest, limits, clock, seed, progress, least, best)
        if slow.answer != "unknown":
            return slow
        least, best = slow.at_least or least, slow.best
    return Existence("unknown", _open(limits, least, best), None, least, best)


def _quick(interest: Interest, limits: Limits, seed: int) -> Iterator[Plan]:
    """Yield plans of the designs that take no time limit, and of plain shapes."""
    goal: dict[str, int] = {}
    if limits.degree is not None:
        goal["max_degree"] = limits.degree
    if limits.links is not None:
        goal["max_edges"] = limits.links
    yield from rings_and_stars.shapes(interest, limits.degree, goal)
    for name in ("gm", "minmax", "low", "cd2", "cdmax", "resilient"):
        yield design(interest, name, seed=seed)
    if not limits.connected:
        # Partial overlays that spend the whole budget, where relays may help.
        if limits.degree is not None:
            yield design(interest, "gpm", max_degree=limits.degree)
        else:
            yield design(interest, "gpa", max_edges=limits.links)


def _slow_if_connected(
    interest: Interest,
    limits: Limits,
    clock: Clock,
    seed: int,
    progress: Progress | None,
    least: int,
    best: int | None,
) -> Existence:
    """Search for an overlay that connects every topic: exactly if the instance is small, else by `best`."""
    objective: Literal["edges", "degree"] = "edges" if limits.degree is None else "degree"
    if interest.num_nodes <= SMALL:
        limit = clock.left
        found = solve(interest, objective=objective, time_limit=limit, progress=progress)
        plan = Plan(
            found.overlay, "exact", {"objective": objective, "time_limit": limit}, 0, limit - clock.left
        )
        least = max(least, found.links_needed or 0)
        if limits.met_by(found.overlay):
            return _yes(plan, _fewer(best, plan))
        allowed = limits.links if limits.degree is None else limits.degree
        assert allowed is not None
        if found.lower_bound > allowed:
            what = "links" if objective == "edges" else "links at some node"
            reason = (
                f"no: connecting every topic takes at least {found.lower_bound:,} {what}, as exact proves"
            )
            return Existence("no", reason, None, least, _fewer(best, plan))
        return Existence("unknown", "", None, least, _fewer(best, plan))
    plan = design(interest, "best", objective=objective, seconds=clock.left, seed=seed, progress=progress)
    best = _fewer(best, plan)
    return _yes(plan, best) if limits.met_by(plan.overlay) else Existence("unknown", "", None, least, best)


def _fewer(best: int | None, plan: Plan) -> int | None:
    """Return the smaller number of links, counting overlays that connect every topic only."""
    if (measure.components(plan.overlay).of_topic > 1).any():
        return best
    return len(plan.overlay) if best is None else min(best, len(plan.overlay))


def _yes(plan: Plan, best: int | None) -> Existence:
    degrees = measure.degrees(plan.overlay)
    links = counted(len(plan.overlay), "link")
    figures = f"{links}, {degrees.average:.2f} per node and {degrees.maximum:,} at most"
    return Existence("yes", f"yes: {plan.algorithm} gives one with {figures}", plan, None, best)


def _open(limits: Limits, least: int, best: int | None) -> str:
    found = "" if best is None else f", and the best one found has {best:,}"
    if limits.connected:
        fewest = counted(least, "link")
        return f"unknown: connecting every topic takes at least {fewest}{found}; give more --seconds"
    return "unknown: no overlay found satisfies both limits, and no proof excludes all"


def refute_by_counting(interest: Interest, limits: Limits) -> str | None:
    """Return why no overlay is within the limits, by counting nodes; None if counting does not tell."""
    clusters = rings_and_stars.clusters(interest)
    largest = max(map(len, clusters), default=1)
    needed = interest.num_nodes - len(clusters)
    if limits.links is not None and needed > limits.links:
        return f"nodes that share topics need {counted(needed, 'link')} or more to reach each other at all"
    # Two nodes in one piece have a link each; of three, one has two.
    least = min(largest - 1, 2)
    if limits.degree is not None and limits.degree < least:
        links = counted(least, "link")
        return f"{largest:,} nodes must reach each other, so that some node has {links} or more"
    if limits.measure == "diameter":
        return _too_far(interest, limits)
    return None


def _too_far(interest: Interest, limits: Limits) -> str | None:
    """Return why some node cannot reach all that share a topic with it in time."""
    counts = rings_and_stars.partner_counts(interest)
    if counts is None or not counts.any():
        return None
    busiest = int(counts.argmax())
    name, most = interest.node_names[busiest].as_py(), int(counts[busiest])
    if limits.cost == 0:
        return f"{name!r} shares a topic with another node, and no two nodes are 0 links apart"
    if limits.cost == 1:
        # The pairs that share a topic are needed, and enough: the question is decided.
        if limits.degree is not None and most > limits.degree:
            return f"{name!r} must be linked to each of the {most:,} nodes that share a topic with it"
        if limits.links is not None and counts.sum() // 2 > limits.links:
            return f"all {counts.sum() // 2:,} pairs that share a topic must be linked"
        return None
    if limits.degree is None:
        return None
    # Moore's bound: in C steps, d links per node lead to d·(1 + (d − 1) + … + (d − 1)^(C−1)) nodes.
    reached, ring = 0, limits.degree
    for _ in range(limits.cost):
        reached += ring
        ring *= limits.degree - 1
        if reached >= most or ring == 0:
            break
    if reached < most:
        nodes, links = counted(reached, "node"), counted(limits.cost, "link")
        return f"{name!r} reaches {nodes} at most within {links}, and needs {most:,}"
    return None


def refute_by_links(interest: Interest, limits: Limits, least: int) -> str | None:
    """Return why no overlay is within the limits, if connecting every topic takes at least `least` links.

    Relays save links. A topic's tree with r relays of degree d or less falls into r·(d − 1) + 1 pieces of
    subscribers at most when they are removed. So r·(d − 1) more links connect the topic without relays, and
    an overlay with a filtering cost of C has at least `least` − C·(d − 1) links.
    """
    if limits.measure != "filtering":
        return None
    nodes = interest.num_nodes
    widest = max(nodes - 1 if limits.degree is None else limits.degree, 1)
    needed = least - limits.cost * (widest - 1)
    if limits.links is not None and needed > limits.links:
        return f"any such overlay has {counted(needed, 'link')} or more"
    if limits.degree is not None and 2 * needed > limits.degree * nodes:
        links = counted(needed, "link")
        return f"any such overlay has {links} or more, {2 * needed / nodes:.2f} per node on average"
    return None
