"""Users on brokers at least cost: the content-based half of Meshwright.

`workload` says who publishes and wants what, and what links cost; `algorithms` decide which user goes to
which broker; in `migration`, brokers improve an assignment by themselves, by messages.

>>> import meshwright as mw
>>> mw.content.synthetic(users=20, brokers=3, seed=1)
Workload(20 users, 3 brokers, 100 channels)
"""

from meshwright.content.algorithms import ALGORITHMS, ContentPlan, assign
from meshwright.content.cost import Cost, RunningCost, cost
from meshwright.content.parts import Places
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
