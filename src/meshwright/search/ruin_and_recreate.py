"""Ruin and recreate: a local search that can be run for some steps at a time."""

from __future__ import annotations

import numpy as np

from meshwright.arrays import Bits, Ids, bit_rows
from meshwright.dynamic.fragments import Groups, allocate_groups, prune
from meshwright.dynamic.mutable_overlay import (
    CHANCE,
    LINKS,
    SHARED,
    SPARE,
    add_links,
    allocate_chunks,
    chunks_for,
    fill_bits,
    list_links,
)
from meshwright.greedy.engine import limit_of
from meshwright.interest import Interest
from meshwright.measure import contributions
from meshwright.overlay import Overlay, unchecked_overlay
from meshwright.search.fragment_records import UNTOUCHED, FragmentRecords, Net
from meshwright.search.improve import MOST_MORE, Limits, Partners, StepLinks, improve
from meshwright.search.topic_trees import TopicTrees, count_before, plant_trees

WORD = 64
STEPS_PER_NODE = 4
"""The trees of the topics are planted again after this many steps for each node."""
MOST_RECORDS = 4096
"""A ruin that cuts off more nodes, counted once for each topic, is too large to be worth a repair."""


class RuinAndRecreate:
    """A local search that improves an overlay step by step; every topic stays connected.

    A step removes up to `ruin` links at a node and at nodes similar to it, joins the fragments again
    greedily, and is kept if that took no more links than it removed. The same seed gives the same steps.
    """

    def __init__(self, overlay: Overlay, *, seed: int = 0, ruin: int = 3) -> None:
        self.interest, self.ruin = overlay.interest, ruin
        self.net = _allocate_net(overlay, seed)
        add_links(self.net, overlay.u, overlay.v)
        self.groups, self.records, self.step_links = _allocate_memory(self.interest, ruin)
        self.trees = _allocate_trees(self.net, ruin)
        self.steps_left = 0
        """The steps until the trees of the topics are planted again."""
        self.partners = _allocate_partners(self.interest)

    def __len__(self) -> int:
        """Return the number of links."""
        return int(self.net.tally[LINKS])

    @property
    def max_degree(self) -> int:
        """The largest number of links of a node."""
        return int(self.net.degree.max(initial=0))

    def above(self, degree: int) -> int:
        """Return how many links of nodes with more than `degree` are beyond that, in all."""
        return int(np.maximum(self.net.degree - degree, 0).sum())

    def run(self, steps: int, *, max_degree: int | None = None, lowering: int = 0) -> None:
        """Try `steps` steps; without `lowering`, no node gets more links than `max_degree`.

        As long as nodes have more, every other step begins at one of them. With `lowering`, such a step may
        push other nodes over the limit instead, and one of `lowering` such steps may add some links more than
        it removes.
        """
        if not len(self):
            return
        if self.steps_left <= 0:
            plant_trees(self.net, self.trees, self.groups)
            self.steps_left = STEPS_PER_NODE * self.interest.num_nodes
        self.steps_left -= steps
        cap = limit_of(max_degree)
        above = np.flatnonzero(self.net.degree > cap).astype(np.int32)
        limits = Limits(self.ruin, cap, lowering, above)
        improve(
            self.net, self.trees, self.groups, self.records, self.partners, self.step_links, steps, limits
        )

    def prune(self) -> None:
        """Remove redundant links, last pair first, until there are none."""
        us, vs = self.links()
        order = np.lexsort((vs, us))[::-1]
        prune(self.net, self.groups, us[order], vs[order], len(self))
        self.steps_left = 0

    def links(self) -> tuple[Ids, Ids]:
        """Return both ends of every link, the smaller one first."""
        us, vs = _ids(len(self)), _ids(len(self))
        list_links(self.net, self.records.near, us, vs)
        return us, vs

    def overlay(self, links: tuple[Ids, Ids] | None = None) -> Overlay:
        """Return the overlay of the links as they are now, or of the links given, in the order of pairs."""
        u, v = self.links() if links is None else links
        order = np.lexsort((v, u))
        u, v = u[order], v[order]
        return unchecked_overlay(self.interest, u, v, contributions(self.interest, u, v))


def _allocate_net(overlay: Overlay, seed: int) -> Net:
    """Return the arrays of an overlay without its links, with room for half as many again."""
    interest = overlay.interest
    links = len(overlay) + len(overlay) // 2 + 64
    chunks = int(chunks_for(links, interest.num_nodes))
    tally = np.zeros(SHARED, dtype=np.int64)
    tally[SPARE], tally[CHANCE] = chunks, seed % 2**63
    net = Net(
        node_ptr=interest.node_ptr,
        node_topics=interest.node_topics,
        topic_ptr=interest.topic_ptr,
        topic_nodes=interest.topic_nodes,
        bits=_bits(interest.num_nodes, interest.num_topics),
        holders=bit_rows(interest.num_topics, interest.num_nodes),
        near_first=_ids(interest.num_nodes, -1),
        degree=_ids(interest.num_nodes),
        entries=allocate_chunks(chunks),
        spare=np.arange(chunks - 1, -1, -1, dtype=np.int32),
        tally=tally,
    )
    fill_bits(net.bits, net.holders, net.node_ptr, net.node_topics)
    return net


def _allocate_memory(interest: Interest, ruin: int) -> tuple[Groups, FragmentRecords, StepLinks]:
    nodes, topics, slots = interest.num_nodes, interest.num_topics, interest.num_subscriptions
    # With `lowering`, a step may add more links than it removes.
    ends = 2 * (ruin + MOST_MORE)
    records = FragmentRecords(
        slot=_ids(MOST_RECORDS),
        node=_ids(MOST_RECORDS),
        topic=_ids(MOST_RECORDS),
        next_of_node=_ids(MOST_RECORDS),
        next_of_topic=_ids(MOST_RECORDS),
        label=_ids(slots),
        node_first=_ids(nodes, -1),
        topic_first=_ids(topics, UNTOUCHED),
        loose=_ids(nodes),
        touched=_ids(topics),
        alone=_bits(ends, topics),
        near=_ids(nodes),
        tally=np.zeros(4, dtype=np.int64),
    )
    links = StepLinks(lost=_ids(ends), made=_ids(ends), excess=np.zeros(1, dtype=np.int64))
    return allocate_groups(nodes, ends), records, links


def _allocate_trees(net: Net, ruin: int) -> TopicTrees:
    topics, words = net.holders.shape
    # A lost link is cut out of the tree of each topic once at most.
    cuts = (ruin + 1) * topics
    trees = TopicTrees(
        parent=_ids(len(net.topic_nodes), -1),
        root=_ids(topics, -1),
        before=np.zeros((topics, words), dtype=np.int32),
        first_cut=_ids(topics, -1),
        next_cut=_ids(cuts),
        topic=_ids(cuts),
        lower=_ids(cuts),
        upper=_ids(cuts),
        end=_ids(cuts),
        tally=np.zeros(1, dtype=np.int64),
    )
    count_before(net, trees)
    return trees


def _allocate_partners(interest: Interest) -> Partners:
    nodes, topics = interest.num_nodes, interest.num_topics
    rows = bit_rows(3, nodes)
    return Partners(
        barred=rows[:2],
        carry=rows[2],
        slices=bit_rows(topics.bit_length(), nodes),
        gain=_ids(nodes),
        partner=_ids(nodes),
        fresh=_ids(nodes),
        forbidden=_ids(2, -1),
    )


def _ids(size: int, value: int = 0) -> Ids:
    return np.full(size, value, dtype=np.int32)


def _bits(rows: int, topics: int) -> Bits:
    return np.zeros((rows, -(-topics // WORD)), dtype=np.uint64)
