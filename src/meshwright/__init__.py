"""Meshwright plans the overlays of publish/subscribe systems.

>>> import meshwright as mw
>>> interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
>>> mw.design(interest, "gm").overlay.edges
[('a', 'b'), ('a', 'c')]
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meshwright import churn, content, measure, pipeline, routes, verify, workloads
    from meshwright.churn import LiveOverlay
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs import Plan, design
    from meshwright.errors import MeshwrightError
    from meshwright.greedy import candidates, grow, rules
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.pipeline.dataset.profile import profile
    from meshwright.routes import route
    from meshwright.store import (
        load_costs,
        load_interest,
        read_plan,
        read_trees,
        write_dataset,
        write_plan,
        write_trees,
    )

__all__ = [
    "Interest",
    "LinkCosts",
    "LiveOverlay",
    "MeshwrightError",
    "Overlay",
    "Plan",
    "candidates",
    "churn",
    "content",
    "design",
    "grow",
    "load_costs",
    "load_interest",
    "measure",
    "pipeline",
    "profile",
    "read_plan",
    "read_trees",
    "route",
    "routes",
    "rules",
    "verify",
    "workloads",
    "write_dataset",
    "write_plan",
    "write_trees",
]

_ROOMS = {
    "Interest": "interest",
    "LinkCosts": "costs",
    "LiveOverlay": "churn",
    "MeshwrightError": "errors",
    "Overlay": "overlay",
    "Plan": "designs",
    "candidates": "greedy",
    "design": "designs",
    "grow": "greedy",
    "load_costs": "store",
    "load_interest": "store",
    "profile": "pipeline.dataset.profile",
    "read_plan": "store",
    "read_trees": "store",
    "route": "routes",
    "rules": "greedy",
    "write_dataset": "store",
    "write_plan": "store",
    "write_trees": "store",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `meshwright --help` answers at once."""
    if name in ("churn", "content", "measure", "pipeline", "routes", "verify", "workloads"):
        return import_module(f"meshwright.{name}")
    if name in _ROOMS:
        return getattr(import_module(f"meshwright.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'meshwright' has no attribute {name!r}")
