"""Check whether a plan is what it states: recompute everything, by other code than made it.

Nothing here imports, directly or indirectly, a module that designs, grows, repairs, searches, routes or
proves bounds. The functions take plain data and return reports; `meshwright.store` reads the folders.
`meshwright.verify(plan)` calls `meshwright.actions.verify.verify`, which hands over what the plan states.

>>> import meshwright as mw
>>> mw.verify(mw.design({"a": {"x"}, "b": {"x"}}, "gm"))
PlanReport(passed: 1 link over 2 nodes)
"""

from meshwright import make_callable
from meshwright.verify.certificate import (
    CertificateError,
    DegreeProofs,
    check_degree_prices,
    check_degree_table,
    check_price_table,
    check_prices,
    gap,
)
from meshwright.verify.claims import PlanClaims, PlanProofs, PlanReport, verify_plan
from meshwright.verify.overlay_check import Verification, verify_overlay
from meshwright.verify.tree_check import tree_faults

__all__ = [
    "CertificateError",
    "DegreeProofs",
    "PlanClaims",
    "PlanProofs",
    "PlanReport",
    "Verification",
    "check_degree_prices",
    "check_degree_table",
    "check_price_table",
    "check_prices",
    "gap",
    "tree_faults",
    "verify_overlay",
    "verify_plan",
]

make_callable(__name__, "meshwright.actions.verify.verify")
