"""Ruin and recreate as a thing that runs for a while and can be asked for its overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from meshwright.arrays import bit_rows, frozen
from meshwright.greedy.driver import limit_of
from meshwright.greedy.priced import price_greedy
from meshwright.interest import Interest
from meshwright.jit.prepare import prepares
from meshwright.measure import contributions
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.arrays import Ids
    from meshwright.dynamic.fragments import Groups
    from meshwright.dynamic.net import Bits, Net
    from meshwright.search.kernels.best_partner import Partners
    from meshwright.search.kernels.pieces import Pieces
    from meshwright.search.kernels.recreate import Desk

WORD = 64
MOST_RECORDS = 4096
"""Beyond so many loose nodes and topics a ruin is too large to be worth a try."""


class Remaking:
    """An overlay under improvement: every topic stays connected, and links do not get more unasked.

    A step takes up to `ruin` links away, at a node and at some that are like it, links the fragments again
    greedily, and keeps that if it took no more links than before. The same seed gives the same steps.
    """

    def __init__(self, overlay: Overlay, *, seed: int = 0, ruin: int = 3) -> None:
        from meshwright.dynamic import link_lists, net

        self.interest, self.ruin = overlay.interest, ruin
        self.net = _lay_out_net(overlay, seed)
        net.fill_bits(self.net)
        link_lists.add_links(self.net, overlay.u, overlay.v)
        self.groups, self.pieces, self.desk = _lay_out_memory(self.interest, ruin)
        self.partners = _lay_out_partners(self.interest)

    def __len__(self) -> int:
        """How many links there are."""
        from meshwright.dynamic.net import LINKS

        return int(self.net.tally[LINKS])

    @property
    def max_degree(self) -> int:
        """The largest number of links of a node."""
        return int(self.net.degree.max(initial=0))

    def run(self, steps: int, *, max_degree: int | None = None, lowering: bool = False) -> None:
        """Try so many steps; no node gets more links than `max_degree`.

        When `lowering`, a step that brings a node with more links than that down may take one link more.
        """
        from meshwright.search.kernels.recreate import remake

        if not len(self):
            return
        cap = limit_of(max_degree)
        remake(self.net, self.groups, self.pieces, self.partners, self.desk, steps, self.ruin, cap, lowering)

    def prune(self) -> None:
        """Take away, last link first, what no topic needs."""
        from meshwright.search.kernels.recreate import prune

        overlay = self.overlay()
        prune(self.net, self.groups, self.desk, overlay.u[::-1].copy(), overlay.v[::-1].copy())

    def links(self) -> tuple[Ids, Ids]:
        """Return both ends of every link as it is now, the smaller first."""
        from meshwright.dynamic.link_lists import list_links

        us, vs = _ids(len(self)), _ids(len(self))
        list_links(self.net, self.pieces.near, us, vs)
        return us, vs

    def overlay(self, links: tuple[Ids, Ids] | None = None) -> Overlay:
        """Return the overlay as it is now, or as it was with these links, in the order of its pairs."""
        u, v = self.links() if links is None else links
        order = np.lexsort((v, u))
        u, v = u[order], v[order]
        return Overlay(self.interest, u, v, contributions(self.interest, u, v))


@prepares("search")
def prepare() -> None:
    """Compile the kernels, or load them where they are kept."""
    pair = Interest.from_ids(pa.array(["a", "b"]), pa.array(["t"]), np.array([0, 1]), np.array([0, 0]))
    remaking = Remaking(Overlay(pair, np.array([0]), np.array([1]), np.array([1])))
    remaking.prune()
    remaking.run(1)
    price_greedy(pair, np.array([[0, 1]]), np.ones(2))


def _lay_out_net(overlay: Overlay, seed: int) -> Net:
    from meshwright.dynamic.link_lists import chunk_room, chunks_for
    from meshwright.dynamic.net import CHANCE, SPARE, Net

    interest = overlay.interest
    links = len(overlay) + len(overlay) // 2 + 64
    chunks = int(chunks_for(links, interest.num_nodes))
    tally = np.zeros(5, dtype=np.int64)
    tally[SPARE], tally[CHANCE] = chunks, seed % 2**63
    return Net(
        node_ptr=frozen(interest.node_ptr, np.int64),
        node_topics=frozen(interest.node_topics, np.int32),
        topic_ptr=frozen(interest.topic_ptr, np.int64),
        topic_nodes=frozen(interest.topic_nodes, np.int32),
        bits=_bits(interest.num_nodes, -(-interest.num_topics // WORD)),
        holders=bit_rows(interest.num_topics, interest.num_nodes),
        near_first=_ids(interest.num_nodes, -1),
        degree=_ids(interest.num_nodes),
        entries=chunk_room(chunks),
        spare=np.arange(chunks - 1, -1, -1, dtype=np.int32),
        tally=tally,
    )


def _lay_out_memory(interest: Interest, ruin: int) -> tuple[Groups, Pieces, Desk]:
    from meshwright.dynamic.fragments import Groups
    from meshwright.search.kernels.pieces import UNTOUCHED, Pieces
    from meshwright.search.kernels.recreate import Desk

    nodes, topics, slots = interest.num_nodes, interest.num_topics, interest.num_subscriptions
    ends = 2 * ruin + 2

    groups = Groups(
        mark=_ids(nodes, -1),
        queued=_ids(nodes),
        seen=_ids(nodes),
        parent=_ids(ends),
        first=_ids(ends),
        last=_ids(ends),
        size=_ids(ends),
    )
    pieces = Pieces(
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
        ends=_ids(ends),
        bridged=_bits(ends // 2, -(-topics // WORD)),
        near=_ids(nodes),
        far=_ids(nodes),
        tally=np.zeros(4, dtype=np.int64),
    )
    desk = Desk(
        lost=_ids(ends),
        made=_ids(ends),
        pair=_ids(2),
    )
    return groups, pieces, desk


def _lay_out_partners(interest: Interest) -> Partners:
    from meshwright.search.kernels.best_partner import Partners

    nodes, topics = interest.num_nodes, interest.num_topics
    barred, carry = bit_rows(2, nodes)
    return Partners(
        barred=barred,
        carry=carry,
        slices=bit_rows(topics.bit_length(), nodes),
        gain=_ids(nodes),
        partner=_ids(nodes),
        fresh=_ids(nodes),
        forbidden=_ids(2, -1),
    )


def _ids(size: int, value: int = 0) -> Ids:
    return np.full(size, value, dtype=np.int32)


def _bits(*shape: int) -> Bits:
    return np.zeros(shape, dtype=np.uint64)
