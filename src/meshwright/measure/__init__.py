"""What is true of an overlay, found from its edges alone and never from what the engine knew."""

from meshwright.measure.connectivity import Components, components, support
from meshwright.measure.contribution import contributions, support_curve
from meshwright.measure.degree import Degrees, degrees
from meshwright.measure.diameter import Diameters, diameters
from meshwright.measure.filtering import FilteringCosts, filtering_costs
from meshwright.measure.robustness import WeakTopics, redundant_edges, weak_topics
from meshwright.measure.scalability import SocAnswer, soc
from meshwright.verify.certificate import check_prices, gap
from meshwright.verify.overlay import Verification, verify

__all__ = [
    "Components",
    "Degrees",
    "Diameters",
    "FilteringCosts",
    "SocAnswer",
    "Verification",
    "WeakTopics",
    "check_prices",
    "components",
    "contributions",
    "degrees",
    "diameters",
    "filtering_costs",
    "gap",
    "redundant_edges",
    "soc",
    "support",
    "support_curve",
    "verify",
    "weak_topics",
]
