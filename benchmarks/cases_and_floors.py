"""What is measured, and the floors that must hold: data only.

A case is a workload with some tasks. Each task of each case runs in its own process. A floor is the value
that a measured ratio must reach (≥) or must not exceed (≤).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meshwright.interest import Interest
from meshwright.workloads import WORKLOADS, social

# Tasks
ENGINE = "engine"
"""Time and memory of GM."""
RULES = "rules"
"""Time of the other greedy rules."""
PAPER = "paper"
"""Time and memory of GM as the paper prints it."""
PRODUCT = "product"
"""Time of one sparse product A·Aᵀ."""
PATHS = "paths"
"""Time of GM by the level sweep alone, and by the path that the engine chooses; memory of the latter."""
RULE_PATHS = "rule-paths"
"""The same as `paths`, for MinMax-ODA and Low-ODA(3)."""
THREADS = "threads"
"""Wall time of GM on one thread and on two."""
DESIGNS = "designs"
"""Time of the designs that do not use the greedy engine."""
BEST = "best"
"""Links that `best` saves, for each objective, and the proven gap to the optimum."""
WORKLOAD = "workload"
"""Time to generate the workload."""
BOUND = "bound"
"""Time of the lower bound on links, next to GM."""
CHURN = "churn"
"""Time of repairs, next to a rebuild."""
TIDY = "tidy"
"""Degrees after many rounds of churn."""
ROUTES = "routes"
"""Time of trees for all topics, next to scipy."""
GROUPING = "grouping"
"""Time to find the overlap groups of as many MQTT filters as the case has topics."""
FILTERS = "filters"
"""Time of GM on groups of filters, next to GM on as many plain topics."""
SPARK = "spark"
"""Verification on Spark, next to the same work without Spark."""
DATA = "data"
"""Ingest and profile on Spark, next to DuckDB."""
LIMITS = "limits"
"""Every command on Spark with a driver that may receive little."""
SMALL = "small"
"""Ingest of a small file, next to starting Spark for one job."""
STARTUP = "startup"
"""CPU time of short commands, next to importing the libraries they need."""
COMPILATION = "compilation"
"""CPU time of the first plan with an empty kernel cache."""
CONTENT = "content"
"""Content-based assignment, next to numpy. In content cases, nodes are users, topics are channels, popularity
is the cost model, and sizes are subscriptions per user and (for `content-memory`) the number of brokers."""
CONTENT_EVALUATION = "content-evaluation"
"""The evaluation of the content-based paper."""
CONTENT_MEMORY = "content-memory"
"""Memory of content-based assignment with many users."""

SEEDS = (0, 1, 2)
"""Seeds of the workloads that `best` is measured on."""
NETWORKS = range(10)
"""Seeds of the networks that content-based `descent` is measured on."""


@dataclass(frozen=True)
class Case:
    """A workload, the tasks to run on it, and its floors (None: only report the value)."""

    popularity: str
    nodes: int
    topics: int
    sizes: tuple[int, int]
    alpha: float = 0.5
    tasks: tuple[str, ...] = (ENGINE,)
    paper_over_engine: float | None = None
    engine_over_product: float | None = None
    memory_mb: float | None = None
    minmax_over_gm: float | None = 2.5
    low_over_gm: float | None = 3.0
    two_threads_gain: float | None = 1.3
    swept_over_chosen: float | None = 0.95
    rules_swept_over_chosen: float | None = 0.95
    chosen_memory_mb: float | None = None
    only_chosen: bool = False
    """Whether the level sweep alone would take too long or too much memory to be measured."""
    rules_only_chosen: bool = False
    """The same for the rules that look at degrees."""
    index_too: bool = False
    """Whether the index alone is measured, too: near the crossover, where the engine may choose the sweep."""
    communities: int | None = None
    """How many groups of nodes share topics: `sizes` are how many of them, and how many with a node's own."""
    design_over_gm: float | None = 2.0
    best_seconds: float = 20.0
    best_saves: tuple[float | None, float | None, float | None] = (None, None, None)
    """Minimum share of links that `best` saves, by objective: edges, degree, balanced."""
    best_gap: float | None = None
    """Maximum proven gap between `best` and the fewest possible links, for each objective."""
    best_gap_at_degree: tuple[float | None, float | None] = (None, None)
    """Maximum proven gap to the fewest links possible at its maximum degree: degree, balanced."""
    spark_over_kernel: float | None = None
    join_percent: float | None = None
    leave_percent: float | None = None
    rounds: int = 1000
    """Rounds of churn; for content cases, networks per row; for start-up cases, runs per command."""
    encode_over_duckdb: float | None = None
    csv_over_duckdb: float | None = None
    events_over_duckdb: float | None = None
    json_over_duckdb: float | None = None
    profile_over_duckdb: float | None = None
    small_over_bare: float | None = None
    driver_mb: float | None = None
    plain_over_routes: float | None = None
    load_over_hops: float | None = None
    content_floors: bool = False
    command_over_import: float | None = None
    compilation_seconds: float | None = None
    grouping_seconds: float | None = None
    groups_over_plain: float | None = None

    @property
    def name(self) -> str:
        """For example `10000x200x10-zipf0.5`: nodes, topics, subscriptions per node, popularity."""
        low, high = self.sizes
        law = f"zipf{self.alpha:g}" if self.popularity == "zipf" else self.popularity
        if self.communities is not None:
            law = f"groups{self.communities}"
        return f"{self.nodes}x{self.topics}x{low if low == high else f'{low}-{high}'}-{law}"

    def workload(self, *, seed: int = 0, most_nodes: int | None = None) -> Interest:
        """Generate the interest, with at most `most_nodes` nodes."""
        nodes = self.nodes if most_nodes is None else min(self.nodes, most_nodes)
        low, high = self.sizes
        if self.communities is not None:
            return _communities(nodes, self.topics, self.communities, low, high - low, seed)
        if self.popularity == "social":
            return social(nodes, min_size=low, max_size=high, alpha=self.alpha, seed=seed)
        shape = {"alpha": self.alpha} if self.popularity == "zipf" else {}
        return WORKLOADS[self.popularity](nodes, self.topics, min_size=low, max_size=high, seed=seed, **shape)


def _communities(nodes: int, topics: int, groups: int, shared: int, own: int, seed: int) -> Interest:
    """Return an interest whose nodes have all topics of one of some groups, and some topics of their own."""
    group = WORKLOADS["unif"](groups, topics, size=shared, seed=seed).node_topics.reshape(groups, shared)
    random = np.random.default_rng(seed)
    held = np.concatenate(
        [group[np.arange(nodes) % groups], random.integers(topics, size=(nodes, own))], axis=1
    )
    return Interest.from_pairs(np.repeat(np.arange(nodes), shared + own), held.ravel())


def _each_popularity(case: Case, *, uniform: Case | None = None) -> list[Case]:
    """Return a Zipf case, and the same case with exponential and with uniform popularity."""
    return [case, replace(case, popularity="expo"), replace(uniform or case, popularity="unif")]


def _with_savings(cases: list[Case], *floors: tuple[float | None, float | None, float | None]) -> list[Case]:
    """Return the cases with their floors for `best`."""
    return [replace(case, best_saves=floor) for case, floor in zip(cases, floors, strict=True)]


def _with_gaps(cases: list[Case], *floors: tuple[float, float]) -> list[Case]:
    """Return the cases with their floors for the gaps of `best` at its degree."""
    return [replace(case, best_gap_at_degree=floor) for case, floor in zip(cases, floors, strict=True)]


_COMPARED = (ENGINE, RULES, PAPER, PRODUCT, PATHS)
_TINY = Case("zipf", 1_000, 100, (10, 10), 0.5, (*_COMPARED, BEST), best_gap=0.07)
_SMALL = Case(
    "zipf", 10_000, 200, (10, 10), 0.5, (*_COMPARED, DESIGNS, BEST, BOUND, ROUTES), 20.0, 0.10, 100.0,
    best_seconds=60.0, best_gap=0.07, plain_over_routes=30.0, load_over_hops=1.0,
)  # fmt: skip
_MIXED = Case(
    "zipf", 2_000, 200, (10, 90), 2.0, (*_COMPARED, BEST, CHURN, TIDY),
    join_percent=0.2, leave_percent=0.4, rounds=10_000,
)  # fmt: skip
_MANY_NODES = Case("unif", 20_000, 200, (10, 90), tasks=(CHURN,))
_WIDE = Case("zipf", 2_000, 1_000, (20, 600), 2.0, _COMPARED, 4.0)
_LARGE = Case(
    "zipf", 10_000, 1_000, (20, 600), 2.0, (*_COMPARED, ROUTES), 15.0, 0.7, 100.0, load_over_hops=0.75
)
_MANY_TOPICS = Case("zipf", 10_000, 10_000, (20, 600), 2.0, (ENGINE, RULES, PRODUCT, PATHS), None, 1.8, 100.0)
_BASE = Case("zipf", 10_000, 1_000, (10, 50), 0.5, (ENGINE, RULES, PATHS), memory_mb=100.0, index_too=True)
_TENFOLD = Case("zipf", 100_000, 1_000, (10, 50), 0.5, (ENGINE, PATHS), memory_mb=250.0)
_FEW_TOPICS_EACH = Case(
    "zipf", 100_000, 1_000, (10, 10), tasks=(PATHS,), swept_over_chosen=2.0, index_too=True
)
_MILLION = Case(
    "unif", 1_000_000, 1_000, (10, 10), tasks=(WORKLOAD, ENGINE, PATHS, RULE_PATHS, THREADS, SPARK),
    memory_mb=1536.0,
    spark_over_kernel=3.0,
    swept_over_chosen=6.0, chosen_memory_mb=1228.8, rules_only_chosen=True,
)  # fmt: skip
_TEN_MILLION = Case(  # ten million subscriptions
    "social",
    430_000,
    430_000,
    (5, 150),
    1.0,
    (DATA,),
    encode_over_duckdb=3.0,
    csv_over_duckdb=4.0,
    events_over_duckdb=6.0,
    json_over_duckdb=8.0,
    profile_over_duckdb=2.0,
)
_FIFTY_MILLION = replace(_TEN_MILLION, nodes=5 * _TEN_MILLION.nodes, topics=5 * _TEN_MILLION.topics)
_THREE_ROWS = Case("unif", 3, 2, (1, 1), tasks=(STARTUP, COMPILATION), rounds=7)

FULL: list[Case] = [
    *_with_savings(_each_popularity(_TINY), (0.08, 0.10, 0.10), (0.17, 0.18, 0.18), (0.045, 0.07, 0.07)),
    *_with_savings(
        _each_popularity(_SMALL, uniform=replace(_SMALL, paper_over_engine=15.0)),
        (0.07, None, None),
        (0.14, None, None),
        (0.035, None, None),
    ),
    *_with_gaps(
        _with_savings(_each_popularity(_MIXED), (0.03, None, None), (0.05, None, None), (0.01, None, None)),
        (0.19, 0.12), (0.15, 0.17), (0.47, 0.38),
    ),
    Case("expo", 1_000, 1_000, (20, 600), tasks=(BEST,), best_saves=(0.06, None, None)),
    *_each_popularity(_WIDE, uniform=replace(_WIDE, paper_over_engine=2.5)),
    *_each_popularity(_LARGE),
    *_each_popularity(_MANY_TOPICS),
    *_each_popularity(_BASE),
    *_each_popularity(_TENFOLD, uniform=replace(_TENFOLD, tasks=(ENGINE, PATHS, THREADS))),
    Case("unif", 10_000, 1_000, (10, 10), tasks=(PATHS,), index_too=True),
    Case("unif", 100_000, 1_000, (8, 10), tasks=(PATHS,), communities=50),
    Case("unif", 100_000, 1_000, (6, 10), tasks=(PATHS,), communities=1_000),
    _FEW_TOPICS_EACH,
    replace(_FEW_TOPICS_EACH, popularity="expo", swept_over_chosen=0.95),
    replace(_FEW_TOPICS_EACH, popularity="unif", tasks=(PATHS, RULE_PATHS, SPARK)),
    Case(
        "unif", 300_000, 1_000, (10, 10), tasks=(PATHS, RULE_PATHS, SPARK),
        swept_over_chosen=4.0, rules_swept_over_chosen=2.5,
    ),
    _MILLION,
    Case(
        "unif", 4_000_000, 4_000, (10, 10), tasks=(PATHS,), chosen_memory_mb=8192.0, only_chosen=True
    ),
    Case("zipf", 1_000_000, 1_000, (10, 10), tasks=(WORKLOAD,)),
    Case("unif", 20_000, 1_000, (10, 90), tasks=(CHURN,), join_percent=0.02, leave_percent=0.05),
    _MANY_NODES,
    _TEN_MILLION,
    _FIFTY_MILLION,
    Case("uniform", 10_000, 100, (1, 1), tasks=(CONTENT, CONTENT_EVALUATION), rounds=3, content_floors=True),
    Case("plane", 10_000, 100, (1, 1), tasks=(CONTENT, CONTENT_EVALUATION), rounds=3, content_floors=True),
    Case("plane", 100_000, 100, (1, 300), tasks=(CONTENT_MEMORY,), content_floors=True),
    replace(_THREE_ROWS, command_over_import=2.5, compilation_seconds=15.0),
    Case("unif", 3_000_000, 200_000, (1, 1), tasks=(LIMITS,), driver_mb=400.0),
    Case("unif", 1_000, 100, (5, 5), tasks=(SMALL,), rounds=3, small_over_bare=1.8),
    Case("unif", 1, 1_000_000, (1, 1), tasks=(GROUPING,), grouping_seconds=10.0),
    Case("zipf", 5_000, 5_000, (10, 50), tasks=(FILTERS,), groups_over_plain=1.1),
]  # fmt: skip

_QUICK = Case(
    "zipf", 300, 60, (5, 20),
    minmax_over_gm=None, low_over_gm=None, two_threads_gain=None, design_over_gm=None, swept_over_chosen=None,
    rules_swept_over_chosen=None,
)  # fmt: skip

QUICK: list[Case] = [
    replace(
        _QUICK,
        tasks=(*_COMPARED, RULE_PATHS, THREADS, DESIGNS, BEST, WORKLOAD, BOUND, CHURN, TIDY, ROUTES),
        best_seconds=0.2,
        rounds=20,
    ),
    replace(_QUICK, popularity="expo"),
    replace(_QUICK, popularity="unif", tasks=(ENGINE, PAPER, SPARK, DATA)),
    Case("plane", 200, 20, (1, 2), tasks=(CONTENT, CONTENT_EVALUATION, CONTENT_MEMORY), rounds=1),
    replace(_THREE_ROWS, nodes=4, rounds=1),
    Case("zipf", 100, 1_000, (5, 20), tasks=(GROUPING, FILTERS)),
]
"""Small cases that show that every task runs. They are too small for floors."""

GROWTH = [
    (small.name, large.name)
    for small, large in zip(_each_popularity(_BASE), _each_popularity(_TENFOLD), strict=True)
]
"""Pairs of cases, the second with ten times the nodes. Their times give the exponent of growth."""
LISTED_GROWTH = (replace(_FEW_TOPICS_EACH, popularity="unif").name, _MILLION.name)
"""A pair of cases whose pairs are listed from the index, the second with ten times the nodes."""
MOST_LISTED_GROWTH = 1.45
"""Maximum exponent of growth for these."""
DAMAGE = (replace(_MIXED, popularity="unif").name, _MANY_NODES.name)
"""Same topics and sizes, ten times the nodes: the median time of a leave must not grow with them."""
DATA_GROWTH = (_TEN_MILLION.name, _FIFTY_MILLION.name)
"""A pair of cases, the second with five times the rows."""
MOST_DATA_GROWTH = 6.0
"""Maximum ratio of CPU times for five times the rows."""
MOST_DRIVER_GROWTH = 1.3
"""Maximum ratio of the driver's peak memory for five times the rows and names."""
