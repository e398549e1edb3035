"""Reading and writing: datasets, plans, and the plain files that interests come in."""

from meshwright.store.content.content_plans import StoredContentPlan, read_content_plan, write_content_plan
from meshwright.store.content.workloads import read_workload, write_workload
from meshwright.store.costs import load_costs
from meshwright.store.datasets import read_dataset, write_dataset
from meshwright.store.interest_files import load_interest
from meshwright.store.plans import StoredPlan, read_plan, write_plan
from meshwright.store.runs import read_trace, write_churn, write_trace
from meshwright.store.trees import StoredTrees, read_trees, write_trees

__all__ = [
    "StoredContentPlan",
    "StoredPlan",
    "StoredTrees",
    "load_costs",
    "load_interest",
    "read_content_plan",
    "read_dataset",
    "read_plan",
    "read_trace",
    "read_trees",
    "read_workload",
    "write_churn",
    "write_content_plan",
    "write_dataset",
    "write_plan",
    "write_trace",
    "write_trees",
    "write_workload",
]
