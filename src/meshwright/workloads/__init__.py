"""Workloads: synthetic interests, social graphs, and the hard cases of the papers.

>>> import meshwright as mw
>>> mw.workloads.zipf(200, 40, size=6, seed=1)
Interest(200 nodes, 40 topics, 1,200 subscriptions)
"""

from meshwright.workloads.distributions import (
    Sizes,
    exponential_popularity,
    uniform_popularity,
    zipf_popularity,
)
from meshwright.workloads.hard_cases import (
    cover_copies,
    cuboid,
    lemma1,
    single_node_copies,
    single_node_cover,
)
from meshwright.workloads.synthetic import WORKLOADS, expo, social, synthetic, unif, write_raw_events, zipf

__all__ = [
    "WORKLOADS",
    "Sizes",
    "cover_copies",
    "cuboid",
    "expo",
    "exponential_popularity",
    "lemma1",
    "single_node_copies",
    "single_node_cover",
    "social",
    "synthetic",
    "unif",
    "uniform_popularity",
    "write_raw_events",
    "zipf",
    "zipf_popularity",
]
