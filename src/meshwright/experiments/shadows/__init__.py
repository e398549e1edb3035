"""shadows: overlays under churn, repaired among neighbours and backups (Chen, Jacobsen, Vitenberg)."""

from meshwright.experiments.paper import Paper
from meshwright.experiments.shadows import backup_sets, evolution, repairs

PAPER = Paper(
    "shadows",
    "Reinforce Your Overlay with Shadows: Efficient Dynamic Maintenance of Robust Low Fan-out Overlays for "
    "Topic-based Publish/Subscribe under Churn",
    "Chen, Jacobsen, Vitenberg",
    (
        backup_sets.GREEDY,
        backup_sets.PRIMAL_DUAL,
        evolution.BACKUPS,
        evolution.COVERAGE,
        evolution.DEGREES,
        repairs.TIMES,
        repairs.RATIOS,
        backup_sets.CHOICES,
    ),
)
