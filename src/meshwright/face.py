"""The functions of `import meshwright as mw` that need several rooms: load, save, plot, verify, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from meshwright.designs.plan import Plan
from meshwright.errors import InputError
from meshwright.files.header import PLAN
from meshwright.interest import Interest
from meshwright.names import PLAIN
from meshwright.routes.trees import Trees

if TYPE_CHECKING:
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.names import TopicKind
    from meshwright.verify.claims import PlanReport


@overload
def load(
    path: Any,
    *,
    node: str = ...,
    topic: str = ...,
    delimiter: str | None = ...,
    header: bool = ...,
    kind: TopicKind | None = ...,
) -> Interest: ...
@overload
def load(path: str | Path, interest: Any, *, costs: LinkCosts | None = ...) -> Plan: ...
def load(
    path: Any,
    interest: Any = None,
    *,
    node: str = "node",
    topic: str = "topic",
    delimiter: str | None = None,
    header: bool = True,
    kind: TopicKind | None = None,
    costs: LinkCosts | None = None,
) -> Interest | Plan:
    """Load the subscriptions of a dataset or file, or a plan with the subscriptions that it was made for.

    Parameters
    ----------
    path
        A dataset folder; a file ending in .csv, .csv.gz, .jsonl, .ndjson or .parquet; or a plan folder.
    interest
        For a plan: what it was made for.
    node, topic, delimiter, header
        The columns of a file, what separates them, and whether its first line names them.
    kind
        For subscriptions: whether topics are `mqtt` filters or `plain` names; by default as a dataset states,
        and otherwise filters if some topic has a wildcard.
    costs
        For a plan: the link costs that it was made with. A plan made with costs has no total cost without
        them, and cannot be saved.

    Examples
    --------
    >>> import tempfile
    >>> import meshwright as mw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     interest = mw.Interest.of({"a": {"x"}, "b": {"x"}})
    ...     path = mw.design(interest, "gm").save(f"{folder}/plan")
    ...     mw.load(path, interest)
    Plan(gm: 1 link over 2 nodes)
    """
    from meshwright.store.interest_files import load_interest

    is_plan = isinstance(path, (str, Path)) and (Path(path) / PLAN.file).is_file()
    if interest is None:
        if is_plan:
            raise InputError(
                f"{path} is a plan: give what it was made for too, mw.load({str(path)!r}, interest)"
            )
        return load_interest(path, node=node, topic=topic, delimiter=delimiter, header=header, kind=kind)
    return _load_plan(path, load_interest(interest), costs)


def _load_plan(path: str | Path, interest: Interest, costs: LinkCosts | None) -> Plan:
    from meshwright.bounds import Prices
    from meshwright.store.plan_check import degree_proof_on, prices_on
    from meshwright.store.plans import read_plan

    stored = read_plan(path)
    filters = stored.planned_filters(interest)
    planned = interest.with_kind(PLAIN) if filters is None else filters.groups
    overlay, figures = stored.overlay_on(planned), stored.figures
    prices = None
    if figures.get("lower_bound") is not None:
        prices = Prices(planned, prices_on(stored, planned), int(figures["lower_bound"]), checked=False)
    known, bound = stored.metadata, figures.get("solver_bound")
    if costs is not None:
        costs = costs.rebase(planned)
        costs.check_made(str(path), known["parameters"].get("costs"))
    seed, seconds = int(known.get("seed", 0)), float(figures["seconds"])
    proof = degree_proof_on(stored, planned) if figures.get("degree_bound") is not None else None
    return Plan(
        overlay, known["algorithm"], known["parameters"], seed, seconds, costs, prices=prices,
        degree_proof=proof, solver_bound=None if bound is None else int(bound), filters=filters,
    )  # fmt: skip


def save(thing: Interest | Plan | Trees, path: str | Path) -> Path:
    """Write subscriptions as a dataset, a plan as a folder, or trees into the folder of their plan.

    >>> import tempfile
    >>> import meshwright as mw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mw.save(mw.Interest.of({"a": {"x"}}), f"{folder}/dataset").name
    'dataset'
    """
    if isinstance(thing, Interest):
        from meshwright.store.datasets import write_dataset

        return write_dataset(thing, path)
    if isinstance(thing, Plan):
        from meshwright.store.plans import write_plan

        return write_plan(thing, path)
    if isinstance(thing, Trees):
        from meshwright.store.trees import write_trees

        return write_trees(thing, path)
    raise InputError(f"cannot save {type(thing).__name__}: give an Interest, a Plan or Trees")


def plot(*plans: Plan, path: str | Path | None = None) -> Any:
    """Draw degrees and support of one or more plans, and return the matplotlib figure.

    >>> import meshwright as mw
    >>> mw.plot(mw.design({"a": {"x"}, "b": {"x"}}, "gm"))
    <Figure size 1260x600 with 2 Axes>
    """
    from meshwright.report.charts import degree_and_support

    for plan in plans:
        if not isinstance(plan, Plan):
            raise InputError(f"{type(plan).__name__} is not a plan: give what mw.design returns")
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
    from meshwright.store.plan_check import verify_made_plan, verify_stored_plan

    if isinstance(plan, Plan):
        return verify_made_plan(plan, k=k)
    if interest is None:
        raise InputError("a stored plan needs what it was made for: mw.verify(path, interest)")
    from meshwright.store.interest_files import load_interest

    return verify_stored_plan(plan, load_interest(interest), k=k)


REPORT = "report.html"
"""The page of a plan, in its folder."""


def report(
    plan: Plan | str | Path,
    path: str | Path | None = None,
    *,
    interest: Any = None,
    today: Any = None,
    costs: LinkCosts | None = None,
) -> Path:
    """Write the page of a plan: one HTML file with its figures, verdict, charts, trees and graph.

    Parameters
    ----------
    plan
        A plan, or the path of one.
    path
        The file to write: `report.html` in the folder of a stored plan by default, or in the current folder.
    interest
        What a stored plan was made for.
    today
        The bridges of today, to compare with: pairs of brokers, a table or a file with columns u and v, or
        the folder of a plan.
    costs
        The link costs of a stored plan, to check its total cost.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import meshwright as mw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan = mw.design({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}, "gm")
    ...     mw.report(plan, f"{folder}/report.html", today=[("a", "b"), ("b", "c")]).name
    'report.html'
    """
    from meshwright.files.urls import inside
    from meshwright.report.plan_facts import facts_of_plan, facts_of_stored_plan
    from meshwright.report.plan_page import write_plan_page
    from meshwright.report.sheet import check_matplotlib
    from meshwright.store.bridges import load_bridges
    from meshwright.store.interest_files import load_interest

    check_matplotlib()
    if isinstance(plan, Plan):
        bridges = None if today is None else load_bridges(today, plan.overlay.interest)
        return write_plan_page(facts_of_plan(plan, today=bridges), path or REPORT)
    if interest is None:
        raise InputError("a stored plan needs what it was made for: mw.report(path, interest=interest)")
    held = load_interest(interest)
    bridges = None if today is None else load_bridges(today, held)
    facts = facts_of_stored_plan(plan, held, today=bridges, costs=costs)
    return write_plan_page(facts, path or inside(plan, REPORT))
