"""podc07: Greedy Merge, against a ring per topic (Chockler, Melamed, Tock, Vitenberg; PODC 2007)."""

from meshwright.experiments.paper import Paper
from meshwright.experiments.podc07 import evaluation, lemmas, set_cover, steps

PAPER = Paper(
    "podc07",
    "Constructing Scalable Overlays for Pub-Sub with Many Topics",
    "Chockler, Melamed, Tock, Vitenberg (PODC 2007)",
    (
        evaluation.AVERAGE_DEGREE,
        steps.STEPS,
        evaluation.RINGS_BY_NODES,
        evaluation.RINGS_BY_TOPICS,
        lemmas.BOUNDS,
        lemmas.CUBOID,
        set_cover.SET_COVER,
        lemmas.ROUNDS,
    ),
)
