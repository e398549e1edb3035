"""Meshwright plans the overlays of publish/subscribe systems.

>>> import meshwright as mw
>>> plan = mw.design({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, "gm")
>>> plan.overlay.edges
[('a', 'b'), ('a', 'c')]

The public names, in groups:

- subscriptions: `Interest`, `load`, `save`, `profile`, `workloads`, `pipeline`
- a plan: `design`, `compare`, `advise` (with `Wishes`), `certify`, `verify`, `plot`
- what results: `Plan`, `Overlay`, `Comparison`, `Advice`, `measure`, and proofs: `bounds`
- the way of messages: `route`, `routes`, `Trees`
- change: `LiveOverlay`, `churn`
- users on brokers: `content`
- costs of links: `LinkCosts`, `load_costs`
- the engine: `grow`, `rules`, `candidates`
- files: `load_interest`, `write_dataset`, `read_plan`, `write_plan`, `read_trees`, `write_trees`
- charts and tables: `report`
- errors: `MeshwrightError`
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from meshwright import bounds, churn, content, measure, pipeline, routes, workloads
    from meshwright.actions.advise import advise
    from meshwright.actions.compare import compare
    from meshwright.actions.load_save import load, save
    from meshwright.actions.plan import design
    from meshwright.actions.report import plot
    from meshwright.churn import LiveOverlay
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.advice import Advice, Wishes
    from meshwright.designs.design import Comparison
    from meshwright.designs.plan import Plan
    from meshwright.designs.proofs import certify
    from meshwright.errors import MeshwrightError
    from meshwright.greedy import candidates, grow, rules
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.pipeline.dataset.profile import profile
    from meshwright.routes import Trees, route
    from meshwright.store.costs import load_costs
    from meshwright.store.datasets import write_dataset
    from meshwright.store.interest_files import load_interest
    from meshwright.store.plan_writer import write_plan
    from meshwright.store.plans import read_plan
    from meshwright.store.trees import read_trees, write_trees
    from meshwright.verify.claims import PlanReport

    class _VerifyRoom(ModuleType):
        def __call__(
            self, plan: Plan | str | Path, interest: Any = None, *, k: int | None = None
        ) -> PlanReport: ...

    class _ReportRoom(ModuleType):
        def __call__(
            self,
            plan: Plan | str | Path,
            path: str | Path | None = None,
            *,
            interest: Any = None,
            today: Any = None,
            costs: LinkCosts | None = None,
        ) -> Path: ...

    # Type checkers would see plain modules, which cannot be called.
    verify: _VerifyRoom
    report: _ReportRoom
    __version__: str

__all__ = [
    "Advice",
    "Comparison",
    "Interest",
    "LinkCosts",
    "LiveOverlay",
    "MeshwrightError",
    "Overlay",
    "Plan",
    "Trees",
    "Wishes",
    "__version__",
    "advise",
    "bounds",
    "candidates",
    "certify",
    "churn",
    "compare",
    "content",
    "design",
    "grow",
    "load",
    "load_costs",
    "load_interest",
    "measure",
    "pipeline",
    "plot",
    "profile",
    "read_plan",
    "read_trees",
    "report",
    "route",
    "routes",
    "rules",
    "save",
    "verify",
    "workloads",
    "write_dataset",
    "write_plan",
    "write_trees",
]

_ROOMS = {
    "Advice": "designs.advice",
    "Comparison": "designs.design",
    "Interest": "interest",
    "LinkCosts": "costs.link_costs",
    "LiveOverlay": "churn",
    "MeshwrightError": "errors",
    "Overlay": "overlay",
    "Plan": "designs.plan",
    "Trees": "routes",
    "Wishes": "designs.advice",
    "advise": "actions.advise",
    "candidates": "greedy",
    "certify": "designs.proofs",
    "compare": "actions.compare",
    "design": "actions.plan",
    "grow": "greedy",
    "load": "actions.load_save",
    "load_costs": "store.costs",
    "load_interest": "store.interest_files",
    "plot": "actions.report",
    "profile": "pipeline.dataset.profile",
    "read_plan": "store.plans",
    "read_trees": "store.trees",
    "route": "routes",
    "rules": "greedy",
    "save": "actions.load_save",
    "write_dataset": "store.datasets",
    "write_plan": "store.plan_writer",
    "write_trees": "store.trees",
}
"""The room of each public name that is not a room itself."""


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `meshwright --help` answers at once."""
    if name == "__version__":
        from importlib.metadata import version

        return version("meshwright")
    if name in _ROOMS:
        return getattr(import_module(f"meshwright.{_ROOMS[name]}"), name)
    if name in __all__:
        return import_module(f"meshwright.{name}")
    raise AttributeError(f"module 'meshwright' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, so that Tab completion and `dir` show them before their first use."""
    return sorted(__all__)


class CallableRoom(ModuleType):
    """A room that is also a function, which is imported when it is called: `mw.verify(plan)` checks a plan.

    Python puts a package's sub-packages among its names. So `meshwright.verify` is the room, whatever else
    this package defines, and the room itself must be what can be called.
    """

    called: str
    """The module and the name of the function."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function of the room."""
        module, _, name = self.called.rpartition(".")
        return getattr(import_module(module), name)(*arguments, **named)


def make_callable(room: str, function: str) -> None:
    """Let the room of this name, which is being imported, be called like a function."""
    module = sys.modules[room]
    module.__class__ = CallableRoom
    module.called = function  # type: ignore[attr-defined]
