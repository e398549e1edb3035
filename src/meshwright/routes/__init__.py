"""Routes: one dissemination tree per topic inside the overlay, so that every message arrives once."""

from meshwright.routes.choose import OBJECTIVES, route
from meshwright.routes.figures import Hops, Loads, Stretch, figures, hops, loads, stretch
from meshwright.routes.trees import Trees

__all__ = [
    "OBJECTIVES",
    "Hops",
    "Loads",
    "Stretch",
    "Trees",
    "figures",
    "hops",
    "loads",
    "route",
    "stretch",
]
