"""Writing a plan: a different one is replaced only on request, and an equal one stays with all it has."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from meshwright.errors import InputError, OutputError
from meshwright.files.atomic import new_folder, one_writer
from meshwright.files.header import PLAN, check_digests, header_text, read_description, write_header
from meshwright.files.urls import names_in
from meshwright.plan_tables import GROUPS
from meshwright.store.plan_parts import (
    DEGREE_PRICES_FILE,
    EDGES_FILE,
    GROUPS_FILE,
    HOLDERS_FILE,
    PRICES_FILE,
    degree_price_table,
    edge_table,
    price_table,
)
from meshwright.store.plans import StoredPlan, holder_table, read_plan
from meshwright.store.tables import table_digest, write_table

if TYPE_CHECKING:
    from meshwright.designs.plan import Plan

FURTHER_PARTS = {"prices.parquet": "certificate", "trees.parquet": "trees", "report.html": "page"}
"""Parts of a plan that not every plan has, by file."""
OF_TREES = ("trees.parquet", "roles.parquet")


def write_plan(plan: Plan, path: str | Path, *, finish: Callable[[Path], object] | None = None) -> Path:
    """Write a plan as a folder, whole or not at all; it replaces a plan that is already there.

    An equal plan stays as it is, with its trees and its page. `finish` is called with the new folder before
    it takes its place, to add files; if it fails, nothing is written.

    >>> import tempfile
    >>> import meshwright as mw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_plan(mw.design({"a": {"x"}, "b": {"x"}}, "gm"), f"{folder}/plan").name
    'plan'

    Raises
    ------
    InputError
        If the plan was made with link costs, and has none: its total cost is not known.
    """
    if plan.costs is None and "costs" in plan.parameters:
        raise InputError(
            "the plan was made with link costs, but was loaded without them: load it with costs=… to save it"
        )
    content, tables = _stored_form(plan)
    if _differences(path, content, tables) == []:
        return Path(path)
    with new_folder(path, PLAN) as folder:
        for name, table in tables.items():
            write_table(table, folder / name)
        write_header(folder, PLAN, content)
        if finish is not None:
            finish(folder)
    return Path(path)


def write_certificate(plan: Plan, path: str | Path) -> Path:
    """Replace the certificate of a stored plan; links and trees stay, and the page, which shows it, goes."""
    names = (
        "lower_bound",
        "gap",
        "bound_rising",
        "at_degree",
        "bound_at_degree",
        "gap_at_degree",
        "degree_bound",
    )
    with one_writer(path), new_folder(path, PLAN) as folder:
        stored = read_plan(path)
        _, tables = _stored_form(plan)
        for file in stored.path.iterdir():
            if PLAN.owns(file.name) and file.suffix == ".parquet":
                shutil.copy2(file, folder)
        for name in (PRICES_FILE, DEGREE_PRICES_FILE):
            if name in tables:
                write_table(tables[name], folder / name)
        left_out = ("format", "schema", "files")
        content = {name: value for name, value in stored.metadata.items() if name not in left_out}
        figures = {name: value for name, value in stored.figures.items() if name not in names}
        figures |= {name: value for name, value in plan.figures.items() if name in names}
        write_header(folder, PLAN, {**content, "figures": figures})
    return Path(path)


def check_replaced(
    path: str | Path, dataset: str, algorithm: str, plan: Plan | None = None, *, by_clock: bool = False
) -> None:
    """Refuse to replace a different plan; before the new one is made, as far as that is known.

    `by_clock` says that the new plan depends on the speed of the machine.

    Raises
    ------
    OutputError
        If the plan that is there differs: the message names what would go.
    """
    if plan is not None:
        other = _differences(path, *_stored_form(plan)) or []
    else:
        there = read_description(path, PLAN)
        wanted = {"dataset": dataset, "algorithm": algorithm}
        other = [name for name, value in wanted.items() if there and there.get(name) != value]
        if there and not other and by_clock:
            other = ["links: a search by the clock may find others (with --steps it finds the same)"]
    if other:
        lost = [part for file, part in FURTHER_PARTS.items() if file in names_in(str(path))]
        also = f", with its {' and its '.join(lost)}," if lost else ""
        raise OutputError(
            f"{path} holds a plan that differs in {' and '.join(other)}: choose another path, or "
            f"replace it{also} with --force"
        )


def _stored_form(plan: Plan) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """Return what `plan.json` states of a plan, and its tables by file."""
    tables = {EDGES_FILE: edge_table(plan.overlay)}
    if plan.prices is not None:
        tables[PRICES_FILE] = price_table(plan.prices)
    if plan.degree_proof is not None:
        tables[DEGREE_PRICES_FILE] = degree_price_table(plan.degree_proof)
    content = {
        "algorithm": plan.algorithm,
        "parameters": plan.stated_parameters,
        "seed": plan.seed,
        "dataset": plan.overlay.interest.fingerprint,
        "figures": plan.figures,
    }
    if plan.filters is not None:
        filters = plan.filters
        tables[GROUPS_FILE], tables[HOLDERS_FILE] = filters.table().cast(GROUPS), holder_table(filters)
        content |= {
            "dataset": filters.source.fingerprint,
            "planned": filters.groups.fingerprint,
            "held": filters.held.fingerprint,
            "topics": {"kind": "mqtt", **filters.choice.to_dict()},
        }
    return content, tables


def _differences(
    path: str | Path, content: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> list[str] | None:
    """Return in what the plan that is there differs; None if there is none, or one that is damaged."""
    there = read_description(path, PLAN)
    stored = StoredPlan(path, there)  # a copy of one at a URL lives as long as this
    try:
        listed = dict(there["files"])
        check_digests(stored.path, PLAN, there)
    except (KeyError, TypeError, ValueError):
        return None
    new = json.loads(header_text(PLAN, dict(content)))
    names = ("dataset", "algorithm", "parameters", "seed", "topics")
    differing = [name for name in names if there.get(name) != new.get(name)]
    if differing:
        return differing
    digests = {name: table_digest(table) for name, table in tables.items()}
    if listed.get(EDGES_FILE) != digests[EDGES_FILE]:
        return ["links"]
    kept = {name: known for name, known in listed.items() if name not in OF_TREES}
    figures = [{**one["figures"], "seconds": 0} for one in (there, new)]
    return [] if kept == digests and figures[0] == figures[1] else ["certificate"]
