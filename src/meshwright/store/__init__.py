"""Reading and writing: datasets, plans, and the plain files that interests come in."""

from meshwright.store.churn_runs import write_churn
from meshwright.store.costs import load_costs
from meshwright.store.datasets import read_dataset, write_dataset
from meshwright.store.files import load_interest
from meshwright.store.plans import StoredPlan, read_plan, write_plan
from meshwright.store.routes import StoredTrees, read_trees, write_trees
from meshwright.store.traces import read_trace, write_trace
from meshwright.store.verification import PlanReport, verify_plan

__all__ = [
    "PlanReport",
    "StoredPlan",
    "StoredTrees",
    "load_costs",
    "load_interest",
    "read_dataset",
    "read_plan",
    "read_trace",
    "read_trees",
    "verify_plan",
    "write_churn",
    "write_dataset",
    "write_plan",
    "write_trace",
    "write_trees",
]
