"""Users on brokers at least cost: the content-based half."""

from meshwright.content.cost import Cost, cost
from meshwright.content.places import Places
from meshwright.content.plan import ContentPlan, assign
from meshwright.content.registry import ALGORITHMS
from meshwright.content.running import RunningCost
from meshwright.content.synthetic import synthetic
from meshwright.content.workload import Workload

__all__ = [
    "ALGORITHMS",
    "ContentPlan",
    "Cost",
    "Places",
    "RunningCost",
    "Workload",
    "assign",
    "cost",
    "synthetic",
]
