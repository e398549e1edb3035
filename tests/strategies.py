"""What hypothesis draws from: small interests and overlays of every shape, and names of every kind."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from meshwright.interest import Interest
from meshwright.overlay import Overlay, unchecked_overlay

wild_names = st.one_of(
    st.sampled_from(
        ["007", "7", "1e3", "a,b", 'say "hi"', "line\nbreak", "tab\there", "🌧️", "ß", "NULL", "nan"]
    ),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(str.strip),
)
"""Names that files are known to spoil: number-like, with commas, quotes, newlines, emoji, or like a null."""


def _some_of(pairs: list[tuple[int, int]]) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Draw any part of some pairs, sparse or dense, in any order."""
    if not pairs:
        return st.just([])
    sizes = st.integers(0, len(pairs))
    return sizes.flatmap(lambda least: st.lists(st.sampled_from(pairs), min_size=least, unique=True))


@st.composite
def interests(draw: st.DrawFn, most_nodes: int = 8, most_topics: int = 4) -> Interest:
    """Draw an interest in dense ids: nodes without topics and topics without subscribers occur."""
    nodes = draw(st.integers(0, most_nodes))
    topics = draw(st.integers(0, most_topics))
    pairs = draw(_some_of(list(product(range(nodes), range(topics)))))
    node_ids, topic_ids = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Interest.from_ids(pa.array(np.arange(nodes)), pa.array(np.arange(topics)), node_ids, topic_ids)


@st.composite
def overlays(draw: st.DrawFn, most_nodes: int = 8, most_topics: int = 4) -> Overlay:
    """Draw an interest and some edges over it, in any order; the contributions that it states are all 0."""
    interest = draw(interests(most_nodes, most_topics))
    edges = draw(_some_of(list(combinations(range(interest.num_nodes), 2))))
    u, v = np.array(edges, dtype=np.int32).reshape(-1, 2).T.copy()
    return unchecked_overlay(interest, u, v, np.zeros(len(u), dtype=np.int32))


wild_interests: st.SearchStrategy[Interest] = st.dictionaries(
    wild_names, st.sets(wild_names, max_size=4), max_size=6
).map(Interest.from_dict)
"""Interests whose names are wild."""
