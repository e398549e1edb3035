"""Divide and conquer: plans parts of the nodes separately, then joins them through representatives.

Within a part, every topic is connected. So a few nodes of the part that together have all its topics can
represent it, and links between parts need to connect representatives only. Bulk nodes, which have very many
topics, belong to no part and are linked in the last step. The result is topic-connected. It has more links
than the exact design; the smaller the parts, the more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from meshwright.arrays import Ids, frozen
from meshwright.greedy import grow
from meshwright.greedy.engine import Start
from meshwright.interest import Interest, unchecked_interest
from meshwright.overlay import Overlay
from meshwright.pipeline.plans.cover_kernel import cover

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meshwright.greedy.rules import Rule


BULK = 4.0
"""A node with more than this multiple of the average number of topics is a bulk node."""


class Division(NamedTuple):
    """The bulk nodes, and the nodes of each part; all ascending."""

    bulk: Ids
    parts: list[Ids]


class Part(NamedTuple):
    """The links of a part with their contributions, and its representatives; all in ids of the part."""

    u: Ids
    v: Ids
    contribution: Ids
    representatives: Ids


Solver: TypeAlias = Callable[[list[Interest], "Rule", int], Iterable[Part]]
"""Plans parts with a rule and a coverage, one after the other or on a cluster."""


def split(interest: Interest, parts: int, seed: int) -> Division:
    """Assign the nodes at random to parts of equal size, except bulk nodes."""
    sizes = np.diff(interest.node_ptr)
    heavy = sizes > BULK * max(float(sizes.mean()), 1.0) if len(sizes) else np.zeros(0, dtype=bool)
    light = np.flatnonzero(~heavy).astype(np.int32)
    dealt = np.random.Generator(np.random.PCG64(seed)).permutation(light)
    return Division(np.flatnonzero(heavy).astype(np.int32), [np.sort(dealt[i::parts]) for i in range(parts)])


def restrict(interest: Interest, nodes: NDArray[Any]) -> Interest:
    """Return the interest of some nodes, renumbered by position; topics keep their ids."""
    begin, sizes = interest.node_ptr[nodes], np.diff(interest.node_ptr)[nodes]
    node_ptr = np.concatenate(([0], np.cumsum(sizes)))
    at = np.repeat(begin - node_ptr[:-1], sizes) + np.arange(node_ptr[-1])
    return unchecked_interest(
        pa.nulls(len(nodes)), pa.nulls(interest.num_topics), node_ptr, interest.node_topics[at]
    )


def representatives(interest: Interest, coverage: int) -> Ids:
    """Return few nodes that cover each topic `coverage` times, or as often as it has subscribers."""
    subscribers = np.bincount(interest.node_topics, minlength=interest.num_topics)
    demand = np.minimum(subscribers, coverage).astype(np.int32)
    chosen = cover(frozen(interest.node_ptr, np.int64), frozen(interest.node_topics, np.int32), demand)
    return np.flatnonzero(chosen).astype(np.int32)


def solve(interest: Interest, rule: Rule, coverage: int) -> Part:
    """Plan one part."""
    overlay = grow(interest, rule)
    return Part(overlay.u, overlay.v, overlay.contribution, representatives(interest, coverage))


def solve_here(interests: list[Interest], rule: Rule, coverage: int) -> Iterable[Part]:
    """Plan parts one after the other in this process."""
    for interest in interests:
        yield solve(interest, rule, coverage)


def join(
    interest: Interest,
    rule: Rule,
    division: Division,
    planned: list[tuple[Ids, Part]],
    links: list[tuple[Ids, Ids]],
) -> tuple[Ids, Ids, Ids]:
    """Link representatives and bulk nodes until every topic is connected."""
    standing = [nodes[part.representatives] for nodes, part in planned]
    nodes = np.sort(np.concatenate((division.bulk, *standing)))
    small = restrict(interest, nodes)
    keys = np.unique(np.concatenate([_chains(small, np.searchsorted(nodes, own)) for own in standing]))
    ends = np.concatenate([end for pair in links for end in pair])
    degrees = np.bincount(ends, minlength=interest.num_nodes)
    # An extra node without topics carries the maximum degree of all nodes that are not here.
    small = unchecked_interest(
        pa.nulls(len(nodes) + 1),
        small.topic_names,
        np.append(small.node_ptr, small.node_ptr[-1:]),
        small.node_topics,
    )
    start = Overlay(
        small, keys // (len(nodes) + 1), keys % (len(nodes) + 1), np.zeros(len(keys), dtype=np.int32)
    )
    given = np.append(degrees[nodes], degrees.max(initial=0))
    joined = grow(small, rule, start=Start(start, given))
    new = slice(len(start), None)
    return nodes[joined.u[new]], nodes[joined.v[new]], joined.contribution[new]


def _chains(small: Interest, own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs u · (nodes + 1) + v that connect the representatives of a part, topic by topic.

    They stand for the connections through nodes of the part that are not here. They connect nothing else: the
    part has connected every topic that such a pair shares.
    """
    mine = restrict(small, own)
    order = np.argsort(mine.node_topics, kind="stable")
    topic, node = mine.node_topics[order], own[mine.node_of_slot[order]]
    same = topic[1:] == topic[:-1]
    pairs: NDArray[np.int64] = node[:-1][same] * (small.num_nodes + 1) + node[1:][same]
    return pairs


SAMPLE_NODES = 10_000
"""The size of the sample that is planned both ways to measure the loss."""


@dataclass(frozen=True)
class Loss:
    """The links of a sample of nodes by the exact design and by dividing."""

    nodes: int
    exact: int
    divided: int

    @property
    def share(self) -> float:
        """The extra links as a share of the links of the exact design."""
        return self.divided / self.exact - 1 if self.exact else 0.0


def divide(
    interest: Interest,
    rule: Rule,
    *,
    parts: int,
    coverage: int = 3,
    seed: int = 0,
    solver: Solver = solve_here,
) -> Overlay:
    """Plan parts of the nodes separately and join them; the same seed gives the same overlay everywhere."""
    division = split(interest, parts, seed)
    solved = solver([restrict(interest, nodes) for nodes in division.parts], rule, coverage)
    planned = list(zip(division.parts, solved, strict=True))
    columns = [(nodes[part.u], nodes[part.v], part.contribution) for nodes, part in planned]
    columns.append(join(interest, rule, division, planned, [column[:2] for column in columns]))
    u, v, gains = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Overlay(interest, u, v, gains)


def loss(interest: Interest, rule: Rule, *, parts: int, coverage: int, seed: int) -> Loss:
    """Plan a sample of the nodes both ways, and return the number of links of each.

    The parts of the sample are smaller than those of the full plan, so the full plan usually loses less.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    nodes = np.sort(rng.permutation(interest.num_nodes)[:SAMPLE_NODES]).astype(np.int32)
    sample = restrict(interest, nodes)
    divided = divide(sample, rule, parts=parts, coverage=coverage, seed=seed)
    return Loss(len(nodes), len(grow(sample, rule)), len(divided))
