"""icdcs16: partial overlays under a budget of links or of degree (Chen, Tock, Jacobsen; ICDCS 2016)."""

from meshwright.experiments.icdcs16 import budgets, ratios, samples, social
from meshwright.experiments.paper import Paper

PAPER = Paper(
    "icdcs16",
    "Overlay Design for Topic-based Publish/Subscribe under Node Degree Constraints",
    "Chen, Tock, Jacobsen (ICDCS 2016)",
    (
        samples.DISTRIBUTIONS,
        social.FACEBOOK,
        social.TWITTER,
        social.TABLE_1,
        social.HOTSPOTS,
        budgets.BY_NODES,
        budgets.BY_TOPICS,
        budgets.BY_SIZE,
        ratios.BY_RATIO,
        ratios.GUARANTEES,
    ),
)
