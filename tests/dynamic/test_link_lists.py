"""Links as lists of neighbours in chunks, against Python sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import examples
from meshwright import Interest, Overlay
from meshwright.dynamic.mutable_overlay import (
    CHUNK,
    FULL,
    LINKS,
    NONE,
    SPARE,
    add_links,
    chunks_for,
    list_links,
    list_neighbours,
    remove_link,
)
from meshwright.search.ruin_and_recreate import RuinAndRecreate

NODES = 30
MOST = 64
"""How many links there is room for, in addition to those of the overlay at first."""

hub_pairs = st.tuples(st.integers(0, 1), st.integers(2, NODES - 1))
any_pairs = st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)).filter(
    lambda pair: pair[0] != pair[1]
)


@settings(max_examples=examples(80, 25), deadline=None)
@given(st.lists(st.one_of(hub_pairs, any_pairs), max_size=250))
def test_links_come_and_go(pairs: list[tuple[int, int]]) -> None:
    """Each pair is linked, or unlinked if it was linked: neighbours, links and chunks are those of sets."""
    interest = Interest.from_dict({v: {0} for v in range(NODES)})
    net = RuinAndRecreate(Overlay.empty(interest)).net
    twin: list[set[int]] = [set() for _ in range(NODES)]
    out = np.empty(NODES, dtype=np.int32)
    chunks = len(net.spare)
    for u, v in pairs:
        if v in twin[u]:
            remove_link(net, u, v)
        elif sum(map(len, twin)) // 2 < MOST:
            add_links(net, np.array([u], dtype=np.int32), np.array([v], dtype=np.int32))
        else:
            continue
        twin[u] ^= {v}
        twin[v] ^= {u}
        for x in (u, v):
            near = out[: list_neighbours(net, x, out)].tolist()
            assert len(near) == net.degree[x] == len(twin[x])
            assert set(near) == twin[x]
        assert chunks - net.tally[SPARE] == sum(-(-len(near) // FULL) for near in twin)
    links = sum(map(len, twin)) // 2
    us, vs = np.empty(links, dtype=np.int32), np.empty(links, dtype=np.int32)
    assert list_links(net, out, us, vs) == net.tally[LINKS] == links
    listed = set(zip(us.tolist(), vs.tolist(), strict=True))
    assert listed == {(u, v) for u in range(NODES) for v in twin[u] if u < v}
    held = net.spare[: net.tally[SPARE]].tolist()
    for chunk in net.near_first.tolist():
        while chunk != NONE:
            held.append(chunk)
            chunk = int(net.entries[chunk * CHUNK + FULL])  # noqa: PLW2901
    assert sorted(held) == list(range(chunks))


@settings(max_examples=examples(80, 25))
@given(st.lists(st.integers(0, 40), max_size=12))
def test_room_is_enough_however_links_are_spread(new: list[int]) -> None:
    """However new neighbours are spread over nodes, the chunks are enough; the bound can be reached."""
    if sum(new) % 2:
        new = [*new, 1]
    asked = int(chunks_for(sum(new) // 2, len(new)))
    assert sum(-(-count // FULL) for count in new) <= asked
    alike = [FULL * count + 1 for count in new]
    if sum(alike) % 2 == 0:
        assert sum(-(-count // FULL) for count in alike) == chunks_for(sum(alike) // 2, len(alike))
