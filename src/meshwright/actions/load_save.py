"""Load and save: subscriptions, plans and trees as Python objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.costs.link_costs import LinkCosts
    from meshwright.designs.plan import Plan
    from meshwright.interest import Interest
    from meshwright.names import TopicKind
    from meshwright.routes.trees import Trees


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
    from meshwright.files.header import PLAN
    from meshwright.store.interest_files import load_interest

    is_plan = isinstance(path, (str, Path)) and (Path(path) / PLAN.file).is_file()
    if interest is None:
        if is_plan:
            raise InputError(
                f"{path} is a plan: give what it was made for too, mw.load({str(path)!r}, interest)"
            )
        return load_interest(path, node=node, topic=topic, delimiter=delimiter, header=header, kind=kind)
    return load_stored(path, load_interest(interest), costs)


def load_stored(path: str | Path, interest: Interest, costs: LinkCosts | None = None) -> Plan:
    """Load a stored plan over what was planned of the interest that it was made for."""
    from meshwright.bounds import Prices
    from meshwright.designs.plan import Plan
    from meshwright.names import PLAIN
    from meshwright.store.plan_check import degree_proof_on, prices_on
    from meshwright.store.plans import read_plan

    stored = read_plan(path)
    filters = stored.planned_filters(interest)
    planned = interest.with_kind(PLAIN) if filters is None else filters.groups
    overlay, figures = stored.overlay_on(planned), stored.figures
    prices = None
    if figures.get("lower_bound") is not None:
        prices = Prices(
            planned,
            prices_on(stored, planned),
            int(figures["lower_bound"]),
            checked=False,
            rising=figures.get("bound_rising"),
        )
    known = stored.metadata
    by_solver = {name: figures.get(name) for name in ("solver_bound", "solver_bound_at_degree")}
    if costs is not None:
        costs = costs.rebase(planned)
        costs.check_made(str(path), known["parameters"].get("costs"))
    seed, seconds = int(known.get("seed", 0)), float(figures["seconds"])
    proof = degree_proof_on(stored, planned) if figures.get("degree_bound") is not None else None
    return Plan(
        overlay, known["algorithm"], known["parameters"], seed, seconds, costs, prices=prices,
        degree_proof=proof, filters=filters,
        **{name: None if bound is None else int(bound) for name, bound in by_solver.items()},
    )  # fmt: skip


def save(thing: Interest | Plan | Trees, path: str | Path) -> Path:
    """Write subscriptions as a dataset, a plan as a folder, or trees into the folder of their plan.

    >>> import tempfile
    >>> import meshwright as mw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mw.save(mw.Interest.of({"a": {"x"}}), f"{folder}/dataset").name
    'dataset'
    """
    from meshwright.designs.plan import Plan
    from meshwright.interest import Interest
    from meshwright.routes.trees import Trees

    if isinstance(thing, Interest):
        from meshwright.store.datasets import write_dataset

        return write_dataset(thing, path)
    if isinstance(thing, Plan):
        from meshwright.store.plan_writer import write_plan

        return write_plan(thing, path)
    if isinstance(thing, Trees):
        from meshwright.store.trees import write_trees

        return write_trees(thing, path)
    raise InputError(f"cannot save {type(thing).__name__}: give an Interest, a Plan or Trees")
