"""Users on brokers at least cost: the content-based half of Meshwright.

It holds three ideas: `model` (who publishes and wants what, and what links cost), `assignment` (which user
goes to which broker) and `migration` (brokers that improve an assignment by themselves, by messages).

>>> import meshwright as mw
>>> mw.content.synthetic(users=20, brokers=3, seed=1)
Workload(20 users, 3 brokers, 100 channels)
"""

from meshwright.content.assignment.algorithms import ALGORITHMS, ContentPlan, assign
from meshwright.content.assignment.cost import Cost, cost
from meshwright.content.assignment.incremental_cost import RunningCost
from meshwright.content.model.parts import Places
from meshwright.content.model.synthetic import synthetic
from meshwright.content.model.workload import Workload

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
