"""Lay out the arrays of the state and of the level sweep for an interest, and the tuning that sizes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import BLOCK, Bits, Ids, bit_rows, row_words, settled
from meshwright.errors import InputError
from meshwright.greedy.candidates import Candidates, everything
from meshwright.greedy.kernels.state import FREE_ROWS, FRESH, NO_STOP, Scratch, State, Sweep
from meshwright.greedy.rules import Rule
from meshwright.interest import Interest, unchecked_interest


@dataclass(frozen=True)
class Tuning:
    """Sizes of the engine's arrays, which change its speed only; None: chosen by the size of the interest."""

    window: int | None = None
    """How many of its best pairs a row keeps."""
    heavy: int | None = None
    """The number of subscribers from which a topic has a bit row."""
    large: int | None = None
    """The size from which a component has a bit row."""
    giant: int = 8
    """The size from which a component may be its topic's giant."""
    node_bits: bool | None = None
    """Whether contributions are counted by bits of topics, or by lists."""
    counted: int | None = None
    """The number of subscribers below which a topic is counted for each pair of nodes; 0: not at all."""
    index: int | None = None
    """The highest level whose pairs are listed from the index; 0: none, 4 or more: all levels.

    Where degrees count, all levels are listed or none: 1 to 3 are as 0.
    """
    room: int | None = None
    """How many listed pairs there is room for."""

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise InputError(f"a window of {self.window} pairs: give at least 1")
        if self.room is not None and self.room < 1:
            raise InputError(f"room for {self.room} pairs: give at least 1")


WORD = 64


def lay_out_state(
    interest: Interest, candidates: Candidates, max_degree: int, tuning: Tuning, counted: int = 0
) -> State:
    """Return the state before any link, its bit rows and the counts of pairs still empty.

    With `counted`, topics with fewer subscribers than that are counted for each pair; the topics of the
    interest must then be in order of popularity.
    """
    nodes, topics, slots = interest.num_nodes, interest.num_topics, interest.num_subscriptions
    popularity = np.diff(interest.topic_ptr)
    large = np.maximum(popularity // 8, 8) if tuning.large is None else np.full(topics, tuning.large)
    few = nodes // 400 if tuning.heavy is None else tuning.heavy
    is_heavy = popularity >= max(2, counted or few)
    if candidates.pairs is not None:
        # Windows that are never rebuilt need no bit rows.
        is_heavy[:] = False
    heavy = int(is_heavy.sum())
    topic_row = np.full(topics, -1, dtype=np.int32)
    topic_row[is_heavy] = np.arange(1, heavy + 1)
    # A row takes memory only once it is touched, when a component becomes large.
    spare = min(int((popularity // large)[is_heavy].sum()), 2 * heavy + 16)
    slot_numbers = np.arange(slots, dtype=np.int32)
    node_label = np.empty(slots, dtype=np.int32)
    node_label[interest.topic_slots] = slot_numbers
    covered = heavy if counted else topics if _bits_fit(interest, tuning) else 0
    topic_words = -(-covered // WORD)
    pair_begin, num_pairs = _rows_of_pairs(nodes if counted else 0)
    barred = np.zeros((0, 2), dtype=np.int32) if candidates.excluded is None else candidates.excluded
    tally = np.zeros(7, dtype=np.int64)
    tally[FREE_ROWS] = spare
    return State(
        node_ptr=interest.node_ptr,
        node_topics=interest.node_topics,
        topic_ptr=interest.topic_ptr,
        topic_nodes=interest.topic_nodes,
        node_label=node_label,
        node_row=np.where(popularity > 1, topic_row, np.int32(0))[interest.node_topics],
        entry=interest.topic_slots,
        following=slot_numbers,
        size=np.ones(slots, dtype=np.int32),
        components=popularity.astype(np.int32),
        giant=np.full(topics, -1, dtype=np.int32),
        giant_size=tuning.giant,
        covered=covered,
        node_bits=np.zeros((nodes, 3 * topic_words), dtype=np.uint64),
        rank=np.zeros((nodes, topic_words + 1), dtype=np.uint16),
        bits=bit_rows(1 + heavy + spare, nodes),
        topic_row=topic_row,
        free_rows=np.arange(heavy + spare, heavy, -1, dtype=np.int32),
        held=np.zeros(max(spare, 1), dtype=np.int32),
        large=large.astype(np.int32),
        outside=np.zeros(0, dtype=np.int32),
        noted=np.full(topics, -1, dtype=np.int32),
        pairs=np.zeros(num_pairs, dtype=np.uint8),
        pair_begin=pair_begin,
        limit=np.diff(interest.node_ptr).astype(np.int32),
        degree=np.zeros(nodes, dtype=np.int32),
        max_degree=max_degree,
        allowed_nodes=_allowed(candidates, nodes),
        barred_ptr=np.searchsorted(barred[:, 0], np.arange(nodes + 1)).astype(np.int64),
        barred=np.ascontiguousarray(barred[:, 1]),
        tally=tally,
    )


def lay_out_components(interest: Interest, max_degree: int, *, node_bits: bool | None = False) -> State:
    """Return the state before any link, without bit rows: for pickers that count subscriber by subscriber.

    With `node_bits`, or None and where they fit, contributions are counted by bits of topics.
    """
    from meshwright.greedy.kernels.components import fill_bits

    tuning = Tuning(heavy=interest.num_nodes + 1, node_bits=node_bits)
    state = lay_out_state(interest, everything, max_degree, tuning)
    if state.covered:
        fill_bits(state, 0, interest.num_nodes, 0, interest.num_topics)
    return state


def lay_out_sweep(
    interest: Interest, candidates: Candidates, state: State, tuning: Tuning, *, sparing: bool
) -> Sweep:
    """Return a sweep before its first row: each row is bounded by its number of topics.

    With candidate pairs, the windows hold exactly these.
    """
    window = _window(interest) if tuning.window is None else tuning.window
    nodes, sizes = interest.num_nodes, np.diff(interest.node_ptr).astype(np.int32)
    cursor = np.array([sizes.max(initial=0), 0, FRESH, 0, NO_STOP], dtype=np.int64)
    fixed = candidates.pairs is not None
    if candidates.pairs is not None:
        u, v = candidates.pairs[:, 0], np.ascontiguousarray(candidates.pairs[:, 1])
        window_ptr = np.searchsorted(u, np.arange(nodes + 1)).astype(np.int64)
        counts, bound = _numbers(len(v)), _numbers(nodes)
        np.minimum(sizes[u], sizes[v], out=counts)
        np.maximum.at(bound, u, counts)
        threshold, length = np.zeros(nodes, dtype=np.int32), np.diff(window_ptr).astype(np.int32)
    else:
        v, counts, bound = np.empty(nodes * window, dtype=np.int32), _numbers(nodes * window), _numbers(nodes)
        bound[:] = sizes
        window_ptr = np.arange(nodes + 1, dtype=np.int64) * window
        threshold, length = sizes + np.int32(1), np.zeros(nodes, dtype=np.int32)
    built = np.zeros(nodes, dtype=np.int32)
    open_nodes = bit_rows(1, nodes)[0]
    open_nodes[:] = state.allowed_nodes
    return Sweep(
        bound=bound,
        threshold=threshold,
        built=built,
        window_ptr=window_ptr,
        length=length,
        window_node=v,
        window_count=counts,
        open_nodes=open_nodes,
        cursor=cursor,
        fixed=fixed,
        sparing=sparing,
    )


def no_sweep() -> Sweep:
    """Return a sweep without rows: the sparing sweep of a rule that does not look at degrees."""
    empty = np.zeros(0, dtype=np.int32)
    return Sweep(
        bound=empty,
        threshold=empty,
        built=empty,
        window_ptr=np.zeros(1, dtype=np.int64),
        length=empty,
        window_node=empty,
        window_count=empty,
        open_nodes=np.zeros(0, dtype=np.uint64),
        cursor=np.zeros(5, dtype=np.int64),
        fixed=False,
        sparing=True,
    )


def lay_out_scratch(state: State, sweep: Sweep) -> Scratch:
    """Return the working memory of one thread."""
    nodes, most = len(state.degree), int(np.diff(state.node_ptr).max(initial=0))
    mask, above, allowed = bit_rows(3, nodes)
    slices, rows = bit_rows(max(4, most.bit_length() + 1), nodes), np.zeros(most + 8, dtype=np.uint32)
    window = int(np.diff(sweep.window_ptr).max(initial=0))
    marked = np.zeros(window + BLOCK, dtype=np.int32)
    return Scratch(slices=slices, mask=mask, above=above, allowed=allowed, rows=rows, marked=marked)


def _numbers(count: int) -> Ids:
    """Return zeros that kernels may read sixteen at a time, from any place: there is room after the end."""
    from meshwright.jit.simd import SIXTEEN

    return np.zeros(count + int(SIXTEEN), dtype=np.int32)[:count]


def _allowed(candidates: Candidates, nodes: int) -> Bits:
    flags: NDArray[Any] = np.zeros(row_words(nodes) * WORD, dtype=bool)
    flags[slice(nodes) if candidates.nodes is None else candidates.nodes] = True
    return np.packbits(flags, bitorder="little").view(np.uint64)


def _window(interest: Interest) -> int:
    """Return how many pairs a row keeps: fewer where rows are short or have few topics, and rebuilt soon."""
    quick = max(16 * interest.num_nodes, 500_000)
    return 16 if interest.num_subscriptions <= quick else 32


def _rows_of_pairs(nodes: int) -> tuple[Bits, int]:
    """Return where each row of the counts of pairs would begin if it had all columns, and how many there are.

    Row u begins at the word of node u + 1; what lies before that column is not stored.
    """
    first = np.arange(1, nodes + 1) // WORD * WORD
    ends = np.cumsum(row_words(nodes) * WORD - first)
    return (ends - row_words(nodes) * WORD).astype(np.uint64), int(ends[-1]) if nodes else 0


def _bits_fit(interest: Interest, tuning: Tuning) -> bool:
    """Return whether three bits and a rank per node and topic take no more than lists, or under 64 MiB."""
    # Ranks have 16 bits.
    if np.diff(interest.node_ptr).max(initial=0) > np.iinfo(np.uint16).max:
        return False
    if tuning.node_bits is not None:
        return tuning.node_bits
    needed = interest.num_nodes * -(-interest.num_topics // WORD) * (3 * 8 + 2)
    return needed <= max(16 * interest.num_subscriptions, 64 * 2**20)


MOST_PAIRS = 2**26
"""Count pairs, at a byte each, up to this many of them: some 11,000 nodes."""
FEWEST_TOPICS = 2048
"""Counting pairs gains little with fewer topics than this."""


def counted_below(interest: Interest, rule: Rule, candidates: Candidates, tuning: Tuning) -> int:
    """Return the number of subscribers below which topics are counted for each pair; 0 if that does not pay.

    It pays for rules that look at degrees, where there are about as many topics with few subscribers as
    nodes: more topics mean more phases, and fewer subscribers mean fewer pairs to count.
    """
    # Rows are never rebuilt, or a node has too many topics for ranks of 16 bits.
    if candidates.pairs is not None or np.diff(interest.node_ptr).max(initial=0) > np.iinfo(np.uint16).max:
        return 0
    if tuning.counted is not None:
        return tuning.counted
    nodes = interest.num_nodes
    if rule.k is None or nodes**2 // 2 > MOST_PAIRS:
        return 0
    few = max(nodes // 25, 2)
    light = int((_popularity(interest) < few).sum())
    return few if light >= max(0.75 * nodes, FEWEST_TOPICS) else 0


def popular_first(interest: Interest) -> Interest:
    """Return the interest with its topics in order of their number of subscribers, the most popular first."""
    from scipy.sparse import csr_array

    order = np.argsort(-_popularity(interest), kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    unused = np.zeros(interest.num_subscriptions, dtype=np.uint8)
    shape = (interest.num_nodes, interest.num_topics)
    rows = csr_array((unused, rank[interest.node_topics], interest.node_ptr), shape=shape)
    rows.sort_indices()
    names = interest.topic_names.take(order)
    return unchecked_interest(interest.node_names, names, interest.node_ptr, settled(rows.indices))


def _popularity(interest: Interest) -> NDArray[np.int64]:
    """Return how many subscribers each topic has, without building the interest's topic index."""
    return np.bincount(interest.node_topics, minlength=interest.num_topics)
