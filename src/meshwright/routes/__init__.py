"""Routes: one dissemination tree per topic inside the overlay, so that every message arrives once.

>>> import meshwright as mw
>>> trees = mw.route(mw.design({"a": {"x"}, "b": {"x"}, "c": {"x"}}, "gm"))
>>> mw.routes.hops(trees).most
2
"""

from meshwright.routes.choose import OBJECTIVES, route
from meshwright.routes.trees import Hops, Loads, Stretch, Trees, figures, hops, loads, stretch

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
