"""Meshwright plans the overlays of publish/subscribe systems.

>>> import meshwright as mw
>>> interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}})
>>> mw.design(interest, "gm").overlay.edges
[('a', 'b'), ('a', 'c')]
"""

from typing import TYPE_CHECKING

from meshwright.lazy import export_lazily

if TYPE_CHECKING:
    from meshwright import churn, content, measure, routes, verify, workloads
    from meshwright.churn import LiveOverlay
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs import Plan, design
    from meshwright.errors import MeshwrightError
    from meshwright.greedy import candidates, grow, rules
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.routes import route
    from meshwright.store.costs import load_costs
    from meshwright.store.datasets import write_dataset
    from meshwright.store.interest_files import load_interest
    from meshwright.store.plans import read_plan, write_plan
    from meshwright.store.trees import read_trees, write_trees

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

export_lazily(
    __name__,
    {
        "churn": ["LiveOverlay"],
        "costs.link_costs": ["LinkCosts"],
        "designs": ["Plan", "design"],
        "errors": ["MeshwrightError"],
        "greedy": ["candidates", "grow", "rules"],
        "interest": ["Interest"],
        "overlay": ["Overlay"],
        "routes": ["route"],
        "store.costs": ["load_costs"],
        "store.datasets": ["write_dataset"],
        "store.interest_files": ["load_interest"],
        "store.plans": ["read_plan", "write_plan"],
        "store.trees": ["read_trees", "write_trees"],
    },
    modules=("churn", "content", "measure", "routes", "verify", "workloads"),
)
