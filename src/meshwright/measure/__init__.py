"""Measures of an overlay, computed from its edges alone and never from the state that grew it."""

from meshwright.measure.connectivity import Components, components, support
from meshwright.measure.contribution import contributions, support_curve
from meshwright.measure.degree import Degrees, degrees
from meshwright.measure.diameter import Diameters, diameters
from meshwright.measure.filtering import FilteringCosts, filtering_costs
from meshwright.measure.robustness import WeakTopics, redundant_edges, weak_topics
from meshwright.measure.scalability import SocAnswer, soc

__all__ = [
    "Components",
    "Degrees",
    "Diameters",
    "FilteringCosts",
    "SocAnswer",
    "WeakTopics",
    "components",
    "contributions",
    "degrees",
    "diameters",
    "filtering_costs",
    "redundant_edges",
    "soc",
    "support",
    "support_curve",
    "weak_topics",
]
