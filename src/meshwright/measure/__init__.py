"""What is true of an overlay, found from its edges alone and never from what the engine knew."""

from meshwright.measure.certificate import check_prices, gap
from meshwright.measure.connectivity import Components, components, support
from meshwright.measure.contribution import contributions, support_curve
from meshwright.measure.degree import Degrees, degrees
from meshwright.measure.diameter import Diameters, diameters
from meshwright.measure.filtering import FilteringCosts, filtering_costs
from meshwright.measure.preparing import prepare
from meshwright.measure.redundancy import redundant_edges
from meshwright.measure.resilience import WeakTopics, weak_topics
from meshwright.measure.scalability import SocAnswer, soc
from meshwright.measure.verification import Verification, verify

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
    "prepare",
    "redundant_edges",
    "soc",
    "support",
    "support_curve",
    "verify",
    "weak_topics",
]
