"""Choose, by estimated costs, which levels are swept and which are listed from the index.

Both paths add the same links, so an estimate that is wrong costs time only. The measured crossover is in
`docs/engine.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meshwright.arrays import Floats, Ids
from meshwright.greedy.candidates import Candidates
from meshwright.greedy.layout import Tuning
from meshwright.greedy.rules import Rule
from meshwright.interest import Interest

EVERY_LEVEL = 2**31 - 1
"""What `highest_level` returns if the sweep is not needed at all."""
LISTED = 3
"""The highest level that can be listed when it is reached; those above must be listed before any link."""
LOWEST = 2
"""The levels from here down can be listed after a sweep of those above."""
WORD_SECONDS = 0.28e-9
"""How long the sweep takes for a word of a bit row."""
LEAST_SECONDS = 0.25
"""A run that the sweep finishes sooner is left to it: the index is not worth compiling for."""
LEAST_GAIN = 0.2
"""A level that the sweep finishes in fewer seconds is left to it: deciding and listing take half of that."""
PHASES_SWEPT, PHASES_LISTED = 2, 8
"""How many times longer the sweep and the index take under a rule with phases."""
MARGIN = 1.5
"""How many times longer the sweep must take for the index to be chosen: both are estimates."""
MOST_DRAWN, ENOUGH_COUNTED = 256, 2_000_000
"""How many nodes are drawn at most to estimate how many topics pairs share, and after how many subscribers of
their topics it is enough: about a hundredth of a second."""


@dataclass(frozen=True, eq=False)
class Task:
    """What a run links."""

    interest: Interest
    """Only the topics that count."""
    rule: Rule
    candidates: Candidates
    max_degree: int | None
    tuning: Tuning

    @cached_property
    def shared_topics(self) -> Floats:
        """About how many pairs of nodes share each number of topics."""
        return count_shared_topics(self.interest)

    @property
    def shared_twos(self) -> float:
        """About how many pairs of nodes share two topics, each counted once for each set of two."""
        return float(self.shared_topics @ choose_two(np.arange(len(self.shared_topics), dtype=np.float64)))

    @property
    def shared_threes(self) -> float:
        """About how many pairs of nodes share three topics, each counted once for each set of three."""
        return float(self.shared_topics @ choose_three(np.arange(len(self.shared_topics), dtype=np.float64)))


def may_list(task: Task) -> bool:
    """Return whether levels may be listed at all, and the run is long enough to compile that for.

    The index lists pairs of any open nodes, but knows no excluded pairs.
    """
    candidates, tuned = task.candidates, task.tuning.index
    if candidates.pairs is not None or candidates.excluded is not None or not task.interest.num_subscriptions:
        return False
    if tuned is not None:
        return tuned != 0
    return has_few_phases(task.rule) and sweep_seconds(task) >= LEAST_SECONDS


def has_few_phases(rule: Rule) -> bool:
    """Return whether a rule takes sparing links of level 1 before links of level 2 that raise the degree.

    Otherwise, as Low-ODA with k near 1, it ends at a much higher maximum degree, in one phase for each.
    """
    return rule.k is None or rule.lowest_sparing(LOWEST) == 1


def may_list_below(task: Task) -> bool:
    """Return whether low levels may be listed after a sweep of those above; under other rules, never."""
    return task.rule.k is None and task.max_degree is None and may_list(task)


def highest_level(task: Task) -> int:
    """Return the highest level to list from the index: `EVERY_LEVEL` for all, 0 for none or not known yet."""
    if not may_list(task):
        return 0
    if task.tuning.index is None:
        most = sweep_seconds(task) / MARGIN
        # Most runs are decided by sizes alone, and need no sample.
        return EVERY_LEVEL if most >= bucket_seconds(task) and most >= index_seconds(task) else 0
    if task.tuning.index > LISTED:
        return EVERY_LEVEL
    return task.tuning.index if may_list_below(task) else 0


def may_pay(work: float) -> bool:
    """Return whether a sweep has so much work left at a level that listing the level may save time."""
    return WORD_SECONDS * work >= LEAST_GAIN


def listing_pays(work: float, topics: Ids, level: int) -> bool:
    """Return whether to list a level, 2 or 1, that a sweep has reached.

    `work` is the work of rebuilding the rows that the sweep needs there, `topics` how many open topics each
    node has. Level 2 takes about two passes, 16 ns for each two topics of a node; level 1 looks at each
    subscription a few times, 12 ns in total.
    """
    each = topics.astype(np.float64)
    seconds = 2 * 16e-9 * float(choose_two(each).sum()) if level == 2 else 12e-9 * float(each.sum())
    return WORD_SECONDS * work >= MARGIN * seconds


def sweep_seconds(task: Task) -> float:
    """Return about how long the level sweep takes on one core.

    It rebuilds a row about once for each link, a link merges about three topics, and a rebuild reads half of
    a bit row for each topic of the row and for selecting its best pairs: 0.28 ns a word.
    """
    interest, times = task.interest, 1 if task.rule.k is None else PHASES_SWEPT
    sizes = np.diff(interest.node_ptr).astype(np.float64)
    return float(times * (sizes / 3 * (sizes + 16)).sum() * interest.num_nodes / 128 * WORD_SECONDS)


def bucket_seconds(task: Task) -> float:
    """Return about how long the index path takes on one core before it lists a pair, from the sizes of nodes.

    Buckets of three topics take 12 ns for each three topics of a node, buckets of two 16 ns for each two, in
    three passes. Under a rule with phases, each one lists again.
    """
    sizes = np.diff(task.interest.node_ptr).astype(np.float64)
    seconds = 12e-9 * choose_three(sizes).sum() + 3 * 16e-9 * choose_two(sizes).sum()
    return float(seconds * (1 if task.rule.k is None else PHASES_LISTED))


def index_seconds(task: Task) -> float:
    """Return about how long the index path takes on one core.

    Listing, sorting and checking a pair costs 50 ns for each three topics that it shares. Where nodes close,
    at the end of a phase or at a limit, topics may stay split until late, so pairs that share two topics must
    be listed, too.
    """
    listed = task.shared_threes * (1 if task.rule.k is None else PHASES_LISTED)
    if task.rule.k is not None or task.max_degree is not None:
        listed += task.shared_twos
    return bucket_seconds(task) + 50e-9 * listed


def count_shared_topics(interest: Interest) -> Floats:
    """Estimate, for each number of topics, how many pairs of nodes share that number.

    Nodes are drawn until enough subscribers of their topics were counted. What they share with all others is
    scaled up, so topics may be chosen together: in groups of nodes with the same topics, say.
    """
    from meshwright.greedy.kernels.row_windows import count_shared

    nodes, node_ptr, topic_ptr = interest.num_nodes, interest.node_ptr, interest.topic_ptr
    drawn = np.random.default_rng(0).choice(nodes, min(nodes, MOST_DRAWN), replace=False).astype(np.int32)
    subscribers = np.diff(topic_ptr)
    counted = [subscribers[interest.node_topics[node_ptr[u] : node_ptr[u + 1]]].sum() for u in drawn]
    drawn = drawn[: np.searchsorted(np.cumsum(counted), ENOUGH_COUNTED) + 1]
    pairs = np.zeros(int(np.diff(node_ptr).max(initial=0)) + 1, dtype=np.int64)
    shared, met = (np.zeros(nodes, dtype=np.int32) for _ in range(2))
    count_shared(node_ptr, topic_ptr, interest.node_topics, interest.topic_nodes, drawn, shared, met, pairs)
    # Each pair has two ends that may be drawn.
    estimated: Floats = pairs.astype(np.float64) * (nodes / max(len(drawn), 1) / 2)
    return estimated


def listing_twice_pays(task: Task) -> bool:
    """Return whether to list most of level 3 when it is reached, rather than before any link.

    Far fewer pairs still contribute 3 then. A second pass over the buckets costs as much as sorting and
    checking a pair for every third step.
    """
    steps = choose_three(np.diff(task.interest.node_ptr).astype(np.float64)).sum()
    return task.shared_threes > float(steps) / 3


def choose_two(sizes: Floats) -> Floats:
    """Return how many sets of two there are, for each size."""
    return sizes * (sizes - 1) / 2


def choose_three(sizes: Floats) -> Floats:
    """Return how many sets of three there are, for each size."""
    return choose_two(sizes) * np.maximum(sizes - 2, 0) / 3
