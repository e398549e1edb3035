"""icdcs10: MinMax-ODA, Low-ODA and overlays of constant diameter (Onus, Richa; ICDCS 2010)."""

from meshwright.experiments.icdcs10 import constant_diameter, low_degree
from meshwright.experiments.paper import Paper

PAPER = Paper(
    "icdcs10",
    "Parameterized Maximum and Average Degree Approximation in Topic-based Publish-Subscribe Overlay Network "
    "Design",
    "Onus, Richa (ICDCS 2010)",
    (
        low_degree.LEMMA_1,
        low_degree.MAXIMUM_BY_NODES,
        low_degree.AVERAGE_BY_NODES,
        low_degree.MAXIMUM_BY_K,
        low_degree.AVERAGE_BY_K,
        constant_diameter.DIAMETER_2,
    ),
)
