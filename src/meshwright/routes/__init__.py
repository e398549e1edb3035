"""One dissemination tree for each topic, inside the overlay: every message once, by interested brokers."""

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
