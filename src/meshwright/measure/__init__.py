"""Measures of an overlay, computed from its edges alone and never from the state that grew it.

They take an overlay or a plan.

>>> import meshwright as mw
>>> mw.measure.degrees(mw.design({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, "gm")).maximum
2
"""

from meshwright.measure.connectivity import (
    Components,
    Degrees,
    Merges,
    WeakTopics,
    components,
    contributions,
    degrees,
    merges,
    redundant_edges,
    support,
    support_curve,
    weak_topics,
)
from meshwright.measure.routing_cost import (
    Diameters,
    FilteringCosts,
    SocAnswer,
    diameters,
    filtering_costs,
    soc,
)

__all__ = [
    "Components",
    "Degrees",
    "Diameters",
    "FilteringCosts",
    "Merges",
    "SocAnswer",
    "WeakTopics",
    "components",
    "contributions",
    "degrees",
    "diameters",
    "filtering_costs",
    "merges",
    "redundant_edges",
    "soc",
    "support",
    "support_curve",
    "weak_topics",
]
