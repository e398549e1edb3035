"""How popular topics are (Zipf, exponential, uniform) and how many topics each node takes.

Probabilities are computed in decimal arithmetic, whose exp and ln are correctly rounded by definition, and
then rounded to floats. So they are the same on every platform.

Topics are drawn from a raw stream of 64-bit integers, without repeats or each on its own.

A node draws topics one after the other, topic i with probability p_i; a repeat is drawn again until the node
has as many distinct topics as it wants (*successive sampling*). Literal redrawing would take forever on rare
topics. Two methods give the same distribution:

- **skip**, for a node with few topics: each draw is uniform over the probability that is left, laid out
  without the topics that the node has. This is the distribution of a draw that is not a repeat.
- **race**, for a node with many: topic i arrives at time −ln(U_i) / p_i and the node takes the first to
  arrive. Of independent exponential clocks, i rings first with probability p_i / Σp, and, since they have no
  memory, the next one among the rest likewise.

Skip costs s² / 2 small steps for a node of s topics; race costs one logarithm per existing topic.

`draw_independently` lets each node take each topic or not, whatever else it takes: one raw number for each
node and topic.

All arithmetic is on integers or consists of single IEEE operations on floats. Probabilities are first rounded
to multiples of 2⁻⁴⁰ (a topic with positive probability keeps at least one unit). Only the raw bit stream is
numpy's, and numpy promises not to change it. So a seed gives the same result on every platform and version.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import MOST, Ids, Offsets, is_whole
from meshwright.errors import InputError

Popularity: TypeAlias = NDArray[np.float64]


def check_count(count: int, what: str) -> None:
    """Raise an InputError unless a count is a whole number from 1 to the largest id."""
    if not is_whole(count):
        raise InputError(f"{count!r} {what}: give a whole number of at least 1")
    if count < 1:
        raise InputError(f"{count} {what}: give at least 1")
    if count > MOST:
        raise InputError(f"{count} {what}: at most {MOST} (2³¹ − 1) ids exist; give fewer")


_EXACT = Context(prec=34, traps=[])

HEAD_MASS = Decimal("0.55")
"""Share of the probability that the most popular 10% of the topics carry (podc07, section 8)."""


def zipf_popularity(topics: int, alpha: float = 0.5) -> Popularity:
    """Return p_i ∝ i^−alpha for i = 1 … topics (podc07: alpha = 0.5; icdcs16: 2.0); 0 is uniform.

    >>> zipf_popularity(4, alpha=1).round(2).tolist()
    [0.48, 0.24, 0.16, 0.12]
    """
    check_count(topics, "topics")
    if not (math.isfinite(alpha) and alpha >= 0):
        raise InputError(f"a Zipf exponent (alpha) of {alpha}: give a number of at least 0 (0.5 is usual)")
    return normalised(powers(topics, alpha))


def exponential_popularity(topics: int) -> Popularity:
    """Return p_i ∝ r^i, with r such that the most popular 10% of the topics carry 0.55 of the probability.

    With x = r^(topics / 10) this means (1 − x) / (1 − x^10) = 0.55 for any number of topics. It holds exactly
    if ten divides the number of topics, and between two topics otherwise.

    >>> float(exponential_popularity(200)[:20].sum().round(6))
    0.55
    """
    check_count(topics, "topics")
    low, high = Decimal(0), Decimal(1)
    for _ in range(100):
        x = _EXACT.divide(_EXACT.add(low, high), Decimal(2))
        geometric = Decimal(0)
        for _ in range(10):
            geometric = _EXACT.fma(geometric, x, Decimal(1))
        low, high = (x, high) if _EXACT.multiply(geometric, HEAD_MASS) < 1 else (low, x)
    exponent = _EXACT.divide(Decimal(10), Decimal(topics))
    ratio = _EXACT.exp(_EXACT.multiply(exponent, _EXACT.ln(low)))
    weights = [Decimal(1)]
    for _ in range(topics - 1):
        weights.append(_EXACT.multiply(weights[-1], ratio))
    return normalised(weights)


def uniform_popularity(topics: int) -> Popularity:
    """Return p_i = 1 / topics."""
    check_count(topics, "topics")
    return np.full(topics, 1 / topics)


def powers(count: int, exponent: float) -> list[Decimal]:
    """Return i^−exponent for i = 1 … count, to 32 digits.

    Only primes need a logarithm; other numbers are products of earlier powers.
    """
    smallest_factor = list(range(count + 1))
    for factor in range(2, math.isqrt(count) + 1):
        if smallest_factor[factor] == factor:
            for multiple in range(factor * factor, count + 1, factor):
                smallest_factor[multiple] = min(smallest_factor[multiple], factor)
    power = [Decimal(1)] * (count + 1)
    for i in range(2, count + 1):
        factor = smallest_factor[i]
        if factor == i:
            power[i] = _EXACT.exp(_EXACT.multiply(Decimal(-exponent), _EXACT.ln(Decimal(i))))
        else:
            power[i] = _EXACT.multiply(power[factor], power[i // factor])
    return power[1:]


def normalised(weights: list[Decimal]) -> Popularity:
    """Divide weights by their sum."""
    total = Decimal(0)
    for weight in weights:
        total = _EXACT.add(total, weight)
    return np.array([float(_EXACT.divide(weight, total)) for weight in weights])


@dataclass(frozen=True)
class Sizes:
    """A power law on the integers from `minimum` to `maximum`: P(s) ∝ s^−exponent (icdcs16, section VI).

    With `minimum == maximum` the size is fixed.
    """

    minimum: int
    maximum: int
    exponent: float = 1.5

    def __post_init__(self) -> None:
        for size in (self.minimum, self.maximum):
            if not is_whole(size):
                raise InputError(f"{size!r} topics for each node: give a whole number of at least 1")
        if self.minimum < 1:
            raise InputError(f"{self.minimum} topics for each node: give a size of at least 1")
        if self.maximum < self.minimum:
            raise InputError(
                f"a largest size of {self.maximum} is below the smallest, {self.minimum}: exchange them"
            )
        if not math.isfinite(self.exponent):
            raise InputError(f"a size exponent of {self.exponent}: give a number (1.5 is usual)")

    @classmethod
    def of(
        cls,
        size: int | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        exponent: float = 1.5,
    ) -> Sizes:
        """Return a fixed size (10 by default) or a range of sizes.

        >>> Sizes.of(size=3)
        Sizes(minimum=3, maximum=3, exponent=1.5)
        """
        if min_size is None and max_size is None:
            fixed = 10 if size is None else size
            return cls(fixed, fixed, exponent)
        if size is not None:
            raise InputError(
                "size cannot be combined with min_size or max_size: give either size, or both of the others"
            )
        if min_size is None or max_size is None:
            raise InputError("only one of min_size and max_size: give both, or a fixed size")
        return cls(min_size, max_size, exponent)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability of each size from `minimum` to `maximum`."""
        return normalised(powers(self.maximum, self.exponent)[self.minimum - 1 :])


_UNITS = 2.0**40
_SKIP = 8
"""A node that takes s of n topics skips if s² ≤ 8·n, where both methods take about the same time."""
_BATCH = 1 << 20
"""Raw numbers in memory at a time. Each node reads its own part of the stream, so this changes no result."""


def fixed_point(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round weights to whole units of about 2⁻⁴⁰ of their sum, at least one unit for a positive weight."""
    units = np.floor(weights / math.fsum(weights) * _UNITS).astype(np.int64)
    units[(weights > 0) & (units == 0)] = 1
    return units


def below(raw: NDArray[np.uint64], bound: NDArray[np.int64] | np.int64) -> NDArray[np.int64]:
    """Turn raw numbers into integers from 0 to bound − 1, bound ≤ 2⁴¹: the high bits of raw × bound."""
    random = raw >> np.uint64(21)  # 43 bits, so that each partial product fits into 64
    wide = np.asarray(bound).astype(np.uint64)
    high, low = wide >> np.uint64(20), wide & np.uint64(2**20 - 1)
    product = random * high + ((random * low) >> np.uint64(20))
    scaled: NDArray[np.int64] = (product >> np.uint64(23)).astype(np.int64)
    return scaled


def choose(raw: NDArray[np.uint64], units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw one index for each raw number, index i with probability units[i] / Σ units."""
    return np.searchsorted(np.cumsum(units), below(raw, units.sum()), side="right")


def draw(stream: np.random.PCG64, units: NDArray[np.int64], sizes: NDArray[np.int64]) -> Ids:
    """Draw sizes[v] distinct topics for each node v; return those of node 0, of node 1, …, each ascending.

    Nodes that skip draw first, then nodes that race, each group in node order.
    """
    topics = np.empty(int(sizes.sum()), dtype=np.int32)
    writes = np.cumsum(sizes) - sizes
    skipping = sizes * sizes <= _SKIP * len(units)
    for batch in _batches(np.flatnonzero(skipping), sizes):
        _skip(stream, units, sizes[batch], topics, writes[batch])
    for batch in _batches(np.flatnonzero(~skipping), np.full(len(sizes), len(units))):
        _race(stream, units, sizes[batch], topics, writes[batch])
    return topics


def _batches(nodes: NDArray[np.int64], reads: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Split nodes into batches of bounded memory; node v reads `reads[v]` raw numbers."""
    batch = np.cumsum(reads[nodes]) // _BATCH
    yield from (part for part in np.split(nodes, np.flatnonzero(np.diff(batch)) + 1) if len(part))


def draw_independently(
    stream: np.random.PCG64, units: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[Ids, NDArray[np.int64]]:
    """Let node v take each topic on its own, sizes[v] topics on average.

    Returns the topics of node 0, of node 1, …, each ascending, and how many each node has.
    """
    distinct, law = np.unique(sizes, return_inverse=True)
    chances = [inclusion(units, int(size)) for size in distinct]
    wins = np.array([win for win, _ in chances])
    bounds = np.array([bound for _, bound in chances])
    topics, counts = [], []
    for batch in _batches(np.arange(len(sizes)), np.full(len(sizes), len(units))):
        raw = stream.random_raw(len(batch) * len(units)).reshape(len(batch), len(units))
        taken = below(raw, bounds[law[batch], None]) < wins[law[batch]]
        topics.append(np.nonzero(taken)[1].astype(np.int32))
        counts.append(taken.sum(axis=1))
    return np.concatenate(topics), np.concatenate(counts)


def inclusion(units: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], int]:
    """Return by topic in how many of `bound` cases a node takes it, and `bound`: `size` topics on average.

    The probability of a topic is proportional to its units, except that the most popular topics are certain
    where that would be more than 1; the others share what is left. All of it is exact.

    >>> inclusion(np.array([6, 1, 1]), 2)
    (array([2, 1, 1]), 2)
    """
    order = np.argsort(-units, kind="stable")
    popular = units[order]
    rest = popular.sum() - (np.cumsum(popular) - popular)  # units of the k-th most popular topic and later
    left = size - np.arange(len(units))
    # The first topic whose probability is at most 1 if all before it are certain.
    certain = int(np.argmax(np.maximum(left, 0) * popular <= rest))
    bound = max(int(rest[certain]), 1)
    wins = int(left[certain]) * units
    wins[order[:certain]] = bound
    return wins, bound


def _skip(
    stream: np.random.PCG64,
    units: NDArray[np.int64],
    sizes: NDArray[np.int64],
    topics: Ids,
    writes: Offsets,
) -> None:
    """Draw topics one by one for all nodes at once; `taken[:k]` are the topics so far, ascending."""
    raw = stream.random_raw(int(sizes.sum()))
    order = np.argsort(-sizes, kind="stable")  # nodes that still draw come first
    begins, sizes, writes = (np.cumsum(sizes) - sizes)[order], sizes[order], writes[order]
    ends = np.cumsum(units)
    starts = ends - units
    left = np.full(len(sizes), ends[-1])
    taken = np.empty((int(sizes[0]), len(sizes)), dtype=np.int32)
    for k in range(int(sizes[0])):
        n = int(np.searchsorted(-sizes, -k))  # sizes > k
        at = below(raw[begins[:n] + k], left[:n])
        for j in range(k):
            passed = taken[j, :n]
            at += np.where(at >= starts[passed], units[passed], 0)
        fresh = np.searchsorted(ends, at, side="right").astype(np.int32)
        left[:n] -= units[fresh]
        for j in range(k):
            held = taken[j, :n].copy()
            np.minimum(held, fresh, out=taken[j, :n])
            np.maximum(held, fresh, out=fresh)
        taken[k, :n] = fresh
        finished = np.flatnonzero(sizes[:n] == k + 1)
        topics[writes[finished, None] + np.arange(k + 1)] = taken[: k + 1, finished].T


def _race(
    stream: np.random.PCG64,
    units: NDArray[np.int64],
    sizes: NDArray[np.int64],
    topics: Ids,
    writes: Offsets,
) -> None:
    """Draw an arrival time for each topic of each node, and take the earliest topics."""
    rates = np.maximum(units, 1).astype(np.float64)
    raw = stream.random_raw(len(sizes) * len(units)).reshape(len(sizes), len(units))
    arrivals = minus_log(raw) / rates
    arrivals[:, units == 0] = np.inf
    winners = earliest(arrivals, sizes)
    rank = np.arange(len(winners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    topics[np.repeat(writes, sizes) + rank] = winners


def earliest(arrivals: NDArray[np.float64], sizes: NDArray[np.int64]) -> Ids:
    """Return, row by row and ascending, the columns of the sizes[row] smallest entries, ties to the left."""
    rows = np.arange(len(sizes))
    last = np.sort(arrivals, axis=1)[rows, sizes - 1]
    chosen = arrivals <= last[:, None]
    for row in np.flatnonzero(chosen.sum(axis=1) > sizes):
        chosen[row, np.argsort(arrivals[row], kind="stable")[sizes[row] :]] = False
    return np.nonzero(chosen)[1].astype(np.int32)


def minus_log(raw: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return −ln((r + ½) / 2⁵²) of the upper 52 bits r of raw numbers: an exponential variable.

    numpy's own log differs in the last bit from one processor to another. This one uses sums, products and
    quotients only: ln(m·2ᵉ) = e·ln 2 + 2·artanh((m − 1) / (m + 1)) with m in [√½, √2).
    """
    uniform = ((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    mantissa, power = np.frexp(uniform)
    small = mantissa < 0.7071067811865476
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    z = (mantissa - 1.0) / (mantissa + 1.0)
    square = z * z
    series = np.full_like(z, 1 / 23)
    for odd in range(21, 0, -2):
        series *= square
        series += 1 / odd
    logarithm: NDArray[np.float64] = (small - power) * 0.6931471805599453 - 2.0 * z * series
    return logarithm
