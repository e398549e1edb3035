"""cbps: users on brokers at least cost, by packing, clustering and Steiner mixing (Zhao, Wu)."""

from meshwright.experiments.cbps import cost_reduction, migration, multicast_trees, running_time
from meshwright.experiments.paper import Paper

PAPER = Paper(
    "cbps",
    "On the Construction of the Minimum Cost Content-Based Publish/Subscribe Overlays",
    "Zhao, Wu",
    (
        multicast_trees.TREES,
        cost_reduction.BY_USERS,
        cost_reduction.BY_RATIO,
        running_time.TIMES,
        migration.MIGRATION,
    ),
)
