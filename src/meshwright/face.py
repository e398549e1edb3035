"""The functions of `import meshwright as mw` that need several rooms: load, save, plot and verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from meshwright.designs.plan import Plan
from meshwright.errors import InputError
from meshwright.files.header import PLAN
from meshwright.interest import Interest
from meshwright.routes.trees import Trees

if TYPE_CHECKING:
    from meshwright.verify.claims import PlanReport


@overload
def load(path: Any, *, node: str = ..., topic: str = ...) -> Interest: ...
@overload
def load(path: str | Path, interest: Any) -> Plan: ...
def load(path: Any, interest: Any = None, *, node: str = "node", topic: str = "topic") -> Interest | Plan:
    """Load the subscriptions of a dataset or file, or a plan with the subscriptions that it was made for.

    Parameters
    ----------
    path
        A dataset folder; a file ending in .csv, .csv.gz, .jsonl, .ndjson or .parquet; or a plan folder.
    interest
        For a plan: what it was made for.
    node, topic
        The columns of a file.

    Examples
    --------
    >>> import tempfile
    >>> import meshwright as mw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     interest = mw.Interest.of({"a": {"x"}, "b": {"x"}})
    ...     path = mw.design(interest, "gm").save(f"{folder}/plan")
    ...     mw.load(path, interest)
    Plan(gm: 1 links over 2 nodes)
    """
    from meshwright.store.interest_files import load_interest

    is_plan = isinstance(path, (str, Path)) and (Path(path) / PLAN.file).is_file()
    if interest is None:
        if is_plan:
            raise InputError(
                f"{path} is a plan: give what it was made for too, mw.load({str(path)!r}, interest)"
            )
        return load_interest(path, node=node, topic=topic)
    return _load_plan(path, load_interest(interest))


def _load_plan(path: str | Path, interest: Interest) -> Plan:
    from meshwright.bounds import Prices
    from meshwright.store.plans import prices_on, read_plan

    stored = read_plan(path)
    overlay, figures = stored.overlay_on(interest), stored.figures
    prices = None
    if figures.get("lower_bound") is not None:
        prices = Prices(interest, prices_on(stored, interest), int(figures["lower_bound"]))
    known = stored.metadata
    seed, seconds = int(known.get("seed", 0)), float(figures["seconds"])
    return Plan(overlay, known["algorithm"], known["parameters"], seed, seconds, prices=prices)


def save(thing: Interest | Plan | Trees, path: str | Path) -> Path:
    """Write subscriptions as a dataset, a plan as a folder, or trees into the folder of their plan.

    >>> import tempfile
    >>> import meshwright as mw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mw.save(mw.Interest.of({"a": {"x"}}), f"{folder}/dataset").name
    'dataset'
    """
    from meshwright import store

    if isinstance(thing, Interest):
        return store.write_dataset(thing, path)
    if isinstance(thing, Plan):
        return store.write_plan(thing, path)
    if isinstance(thing, Trees):
        return store.write_trees(thing, path)
    raise InputError(f"cannot save {type(thing).__name__}: give an Interest, a Plan or Trees")


def plot(*plans: Plan, path: str | Path | None = None) -> Any:
    """Draw degrees and support of one or more plans, and return the matplotlib figure.

    >>> import meshwright as mw
    >>> mw.plot(mw.design({"a": {"x"}, "b": {"x"}}, "gm"))
    <Figure size 1260x600 with 2 Axes>
    """
    from meshwright.report.charts import degree_and_support

    return degree_and_support(plans, path)


def verify(plan: Plan | str | Path, interest: Any = None, *, k: int | None = None) -> PlanReport:
    """Recompute everything that a plan states, by code that shares nothing with what made it.

    Parameters
    ----------
    plan
        A plan, or the path of one.
    interest
        What a stored plan was made for.
    k
        Every topic must be k-connected, 1 or 2; by default what the plan claims.

    Examples
    --------
    >>> import meshwright as mw
    >>> mw.verify(mw.design({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, "gm")).passed
    True
    """
    if isinstance(plan, Plan):
        from meshwright.store.plans import price_table
        from meshwright.verify.claims import PlanClaims, PlanProofs, verify_plan

        claims = PlanClaims(repr(plan), plan.algorithm, plan.stated_parameters, plan.figures)
        proofs = PlanProofs(None if plan.prices is None else price_table(plan.prices))
        return verify_plan(claims, plan.overlay, proofs, k=k, costs=plan.costs)
    if interest is None:
        raise InputError("a stored plan needs what it was made for: mw.verify(path, interest)")
    from meshwright.store.interest_files import load_interest
    from meshwright.store.plan_check import verify_stored_plan

    return verify_stored_plan(plan, load_interest(interest), k=k)
