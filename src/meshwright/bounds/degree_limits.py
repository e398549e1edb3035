"""Bounds that know the degree: the fewest links with at most d links per node, and the lowest maximum degree.

Each node has an *allowance*: a link may carry the sum of its two ends' allowances for nothing. With 1/2 for
every node that is the plain bound. Larger allowances at some nodes let their links carry more, and cost
something for each of the d links that the node may have. docs/certificate.md has the theorem and its proof.

Allowances are found together with prices, by the same ascent. The weights of a node's tight pairs add up to
its links in a fractional overlay. Where these are more than d, the allowance rises, else it falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Ids, is_whole
from meshwright.bounds.ascent import SLIP, STEPS, Ascent, roots
from meshwright.bounds.loads import Loads
from meshwright.bounds.prices import (
    SCALE,
    Prices,
    check_effort,
    check_interest,
    in_range,
    proven_links,
    require_prices,
    to_integers,
    total_demand,
)
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.jit.announce import Clock
from meshwright.progress import Progress

if TYPE_CHECKING:
    from meshwright.bounds.load_kernels import Floats, Whole

HALF = SCALE // 2
"""The allowance of every node in the plain bound."""
HIGHEST = 16
"""No price and no allowance is above this. The verifier has a constant of its own; a test compares them."""
ADDITIONS_A_SECOND = 20_000_000
"""An ascent is not worth beginning if all loads take more additions than this for each of its seconds."""
FAINT = np.float32(1e-4)
"""A price of 0 cannot rise: the ascent begins at this at least."""
PERSISTENCE = np.float32(0.5)
"""The share of an allowance's last step in the next one."""
ROUNDING = 1e-3
"""Values on the way are sums of float32: nothing is certain of them."""
FLOOR = np.float32(0.02)
"""Keeps the logarithm of a degree finite."""


@dataclass(frozen=True, eq=False)
class NodePrices:
    """Prices and allowances, and what they prove; `degree` says what it is about.

    `meshwright.verify.check_degree_prices` finds `bound` again from `scaled` and `allowance`.
    """

    interest: Interest
    scaled: NDArray[np.int64]
    """In the order of `interest.node_topics`, in units of 1/2³⁰."""
    allowance: NDArray[np.int64]
    """By node, in units of 1/2³⁰."""
    degree: int | None
    """The degree limit d; None if the bound is on the maximum degree itself."""
    bound: int
    """The number of links that every overlay needs that connects each topic with at most `degree` links per
    node; or, without a degree, the lowest maximum degree that such an overlay can have."""
    checked: bool = True
    """Whether the bound was computed here. One that was read from a plan is only what the plan states."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaled", in_range(self.scaled, HIGHEST))
        object.__setattr__(self, "allowance", in_range(self.allowance, HIGHEST))

    def check(self, interest: Interest) -> None:
        """Reject any interest but the one that they were found for."""
        check_interest(self.interest, interest)

    @property
    def q(self) -> NDArray[np.float64]:
        """The prices as numbers."""
        return self.scaled / SCALE

    def allowed(self, u: Ids, v: Ids) -> NDArray[np.float64]:
        """Return what each pair may carry for nothing: the sum of the allowances of its ends."""
        return (self.allowance[u] + self.allowance[v]) / SCALE

    def __repr__(self) -> str:
        if self.degree is None:
            return f"NodePrices(a maximum degree of at least {self.bound:,})"
        return f"NodePrices(at least {self.bound:,} links with at most {self.degree:,} per node)"


def require_lowest(lowest: object) -> NodePrices:
    """Return a bound on the maximum degree that was computed here.

    Raise an InputError for anything else, and if what a plan states is not what its prices prove.
    """
    if not isinstance(lowest, NodePrices) or lowest.degree is not None:
        raise InputError(f"lowest is {lowest!r:.80}: give what mw.bounds.lowest_degree returns")
    if lowest.checked:
        return lowest
    proven = as_degree_bound(lowest)
    if proven.bound != lowest.bound:
        raise InputError(
            f"the prices prove a maximum degree of {proven.bound:,}, not {lowest.bound:,} as stated: leave "
            "them out"
        )
    return proven


def require_proofs(
    interest: Interest, prices: Prices | None, lowest: NodePrices | None = None
) -> tuple[Prices | None, NodePrices | None]:
    """Return proofs that a caller gives, if any, as computed here; refuse those of another interest."""
    if prices is not None:
        prices = require_prices(prices)
        prices.check(interest)
    if lowest is not None:
        lowest = require_lowest(lowest)
        lowest.check(interest)
    return prices, lowest


class DegreeProof(NamedTuple):
    """What is proven of overlays with few links per node."""

    links: NodePrices
    """How many links are needed at a degree."""
    lowest: NodePrices
    """How low the maximum degree can be."""


def prove_degrees(
    prices: Prices,
    degree: int,
    *,
    lowest: NodePrices | None = None,
    seconds: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> DegreeProof:
    """Return a proof of the fewest links with at most `degree` per node, and of the lowest maximum degree.

    `lowest` of an earlier call for the same interest is reused. If the degree is too low for any overlay that
    connects each topic, the number of links is that of the plain prices.
    """
    clock = Clock(seconds)
    check_effort(seconds, threads)
    prices = require_prices(prices)
    check_degree(degree)
    if lowest is None:
        half = None if seconds is None else seconds / 2
        lowest = lowest_degree(prices, seconds=half, threads=threads, progress=progress)
    else:
        lowest = require_lowest(lowest)
        lowest.check(prices.interest)
    if lowest.bound > degree:
        return DegreeProof(_plain(prices, degree), lowest)
    left = None if seconds is None else clock.left
    links = links_at_degree(prices, degree, seconds=left, threads=threads, progress=progress)
    if links.bound > degree * prices.interest.num_nodes // 2:
        # More links than such an overlay can have: mostly, the same prices prove a degree above the limit.
        higher = as_degree_bound(links)
        if higher.bound > degree:
            return DegreeProof(_plain(prices, degree), higher)
    return DegreeProof(links, lowest)


def links_at_degree(
    prices: Prices,
    degree: int,
    *,
    seconds: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> NodePrices:
    """Return a proof of how many links are needed with at most `degree` links per node.

    It starts from the plain `prices` and is never worse. If no overlay has so low a degree, the bound may
    exceed what such an overlay can have, `degree` · nodes / 2. `seconds` stops the ascent, as in `prices`.

    >>> from meshwright import Interest, bounds
    >>> star = Interest.from_dict({"a": set("xyz"), "b": set("xy"), "c": set("yz"), "d": set("xz")})
    >>> links_at_degree(bounds.prices(star), 2)
    NodePrices(at least 4 links with at most 2 per node)
    """
    check_effort(seconds, threads)
    check_degree(degree)
    prices = require_prices(prices)
    plain = _plain(prices, degree)

    def report(value: float, done: float) -> None:
        if progress is not None:
            proven = max(plain.bound, int(value))
            progress(proven, done, f"needed at least with at most {degree:,} per broker")

    return _climb(_LinksAscent, prices, plain, degree, seconds, threads, report)


def lowest_degree(
    prices: Prices,
    *,
    seconds: float | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> NodePrices:
    """Return a proof of how low the maximum degree can be; it starts from the plain `prices`.

    >>> from meshwright import Interest, bounds
    >>> lowest_degree(bounds.prices(Interest.from_dict({v: {"x"} for v in "abcd"})))
    NodePrices(a maximum degree of at least 2)
    """
    check_effort(seconds, threads)
    prices = require_prices(prices)
    plain = _plain(prices, None)

    def report(value: float, done: float) -> None:
        if progress is not None:
            proven = max(plain.bound, math.ceil(value - ROUNDING))
            progress(prices.bound, done, f"needed at least, and a maximum degree of {proven:,}")

    return _climb(_DegreeAscent, prices, plain, 1.0, seconds, threads, report)


def check_degree(degree: object) -> None:
    """Refuse a limit of the degree that is not a whole number of at least 1."""
    if not is_whole(degree) or degree < 1:  # type: ignore[operator]
        raise InputError(f"a degree of {degree!r}: give a whole number of at least 1")


def as_degree_bound(found: NodePrices) -> NodePrices:
    """Return what the prices and allowances of a number of links prove of the maximum degree."""
    value = _value(Loads(found.interest), found.scaled, found.allowance)
    return _proof(found.interest, found.scaled, found.allowance, None, value)


def certify(loads: Loads, price: Floats, extra: Floats, degree: int | None) -> NodePrices:
    """Round prices down and allowances up to integers, and return what they prove."""
    scaled = to_integers(price)
    allowance = np.ceil((extra.astype(np.float64) + 0.5) * SCALE).astype(np.int64)
    allowance = np.clip(allowance, 0 if degree is None else HALF, HIGHEST * SCALE)
    return _proof(loads.interest, scaled, allowance, degree, _value(loads, scaled, allowance))


def _value(loads: Loads, scaled: Whole, allowance: Whole) -> int:
    """Return what topics ask for, less what pairs carry beyond the allowances of their ends."""
    excess = loads.weigh(scaled, lifting=False, extra=allowance - HALF).excess
    return total_demand(loads.interest, scaled) - excess


def _proof(interest: Interest, scaled: Whole, allowance: Whole, degree: int | None, value: int) -> NodePrices:
    allowed = int(allowance.sum())
    if degree is None:
        bound = max(0, -(-value // allowed)) if allowed else 0
    else:
        bound = proven_links(value - degree * (allowed - HALF * interest.num_nodes))
    return NodePrices(interest, scaled, allowance, degree, bound)


def _plain(prices: Prices, degree: int | None) -> NodePrices:
    """Return what plain prices prove, with the same allowance for every node."""
    interest = prices.interest
    allowance = np.full(interest.num_nodes, HALF, dtype=np.int64)
    # The bound is what the prices prove, rounded up: less than a link more than their value.
    if degree is not None:
        return NodePrices(interest, prices.scaled, allowance, degree, prices.bound)
    return _proof(interest, prices.scaled, allowance, None, _value(Loads(interest), prices.scaled, allowance))


def _climb(
    kind: type[_NodeAscent],
    prices: Prices,
    plain: NodePrices,
    degree: float,
    seconds: float | None,
    threads: int,
    report: Callable[[float, float], None],
) -> NodePrices:
    """Make all rounds of an ascent, or as many as there is time for; return the better of it and `plain`."""
    loads = Loads(prices.interest, threads)
    if not prices.bound or (seconds is not None and loads.updates >= seconds * ADDITIONS_A_SECOND):
        return plain
    ascent = kind(loads, prices.q.astype(np.float32), degree, Clock(seconds))
    # Certifying what it finds adds up all loads once more.
    ascent.clock.reserved = ascent.watch.longest["scan"]
    while not ascent.done:
        report(ascent.value_paying, ascent.step / ascent.steps)
        ascent.round()
    report(ascent.value_paying, 1.0)
    found = certify(loads, ascent.best_paying, ascent.best_extra, plain.degree)
    return found if found.bound > plain.bound else plain


class _NodeAscent(Ascent):
    """Prices and allowances that improve round by round."""

    least = 0.0
    """The least allowance, less 1/2."""
    speed = 1.0
    """The length of an allowance's step, over that of a price's."""

    def __init__(self, loads: Loads, price: Floats, degree: float, clock: Clock) -> None:
        self.degree = degree
        faint: Floats = np.maximum(price, FAINT)
        super().__init__(loads, faint, clock=clock)
        self.highest = float(HIGHEST)
        self.paying = True
        self.price[roots(loads, price)] = 0
        self.extra_momentum = np.zeros_like(self.extra)
        self.best_extra = self.extra.copy()
        self._keep_best()

    def _move_extra(self, pulls: Floats, eta: float) -> None:
        """Raise the allowances of nodes whose tight pairs weigh more than the degree, and lower the others.

        Only operations that every machine rounds alike: ln y is 64·(y^(1/64) − 1).
        """
        links = pulls[0].copy()
        for part in pulls[1:]:
            links += part
        ratio = links / np.float32(self.degree) + FLOOR
        for _ in range(6):
            ratio = np.sqrt(ratio)
        self.extra_momentum = PERSISTENCE * self.extra_momentum + np.float32(64) * (ratio - np.float32(1))
        # At the least allowance there is no way down, and no momentum to overcome on the way up.
        resting = (self.extra <= self.least) & (self.extra_momentum < 0)
        self.extra_momentum[resting] = 0
        step = np.float32(self.speed * self.rate / eta)
        self.extra = np.clip(
            self.extra + step * self.extra_momentum, np.float32(self.least), np.float32(HIGHEST - 1)
        )

    def _keep_best(self) -> None:
        """Keep prices and allowances if they are the best so far; go back to the best if far worse."""
        asked = total_demand(self.loads.interest, to_integers(self.price)) / SCALE
        # A running sum, since `sum` groups its terms by rules that differ between machines.
        extra = float(np.cumsum(self.extra, dtype=np.float64)[-1:].sum())
        value = self._worth(asked - self.scan.excess, extra)
        self.slipped = value < SLIP * self.value_paying
        if self.slipped:
            self.price, self.extra = self.best_paying.copy(), self.best_extra.copy()
            self.extra_momentum[:] = 0
            self._shorten()
        elif value > self.value_paying:
            self.value_paying = value
            self.best_paying, self.best_extra = self.price.copy(), self.extra.copy()

    def _worth(self, value: float, extra: float) -> float:
        raise NotImplementedError


class _LinksAscent(_NodeAscent):
    """Towards the most links that can be proven for a degree.

    Without a limit of time it makes twice as many steps, which prove up to 1 % more. Prices that are good
    already would be spoiled by a low η at the start.
    """

    loose = 40.0

    def __init__(self, loads: Loads, price: Floats, degree: float, clock: Clock) -> None:
        self.steps = STEPS if clock.seconds is not None else 2 * STEPS
        super().__init__(loads, price, degree, clock)

    def _worth(self, value: float, extra: float) -> float:
        return value - self.degree * extra


class _DegreeAscent(_NodeAscent):
    """Towards the highest ratio of what is asked to what nodes allow: the degree that it proves.

    Prices and allowances can grow together without any change in that ratio. Each round ends with an average
    allowance of 1/2.
    """

    least, speed = -0.5, 0.5

    def _keep_best(self) -> None:
        super()._keep_best()
        # Dinkelbach's method for ratios: the next steps aim above the best ratio so far.
        self.degree = max(self.value_paying, 0.5)
        if not self.slipped:
            nodes = len(self.extra)
            half = np.float32(0.5)
            total = float(np.cumsum(self.extra + half, dtype=np.float64)[-1])
            scale = np.float32(0.5 * nodes / max(total, 1e-3))
            self.price *= scale
            self.extra = (self.extra + half) * scale - half

    def _worth(self, value: float, extra: float) -> float:
        return value / max(extra + 0.5 * len(self.extra), 1e-3)
