"""The trade-off between links and highest degree as a folder: a plan for each point, and a chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import InputError
from meshwright.report.trade_off import trade_off
from meshwright.store.atomic import new_folder
from meshwright.store.header import FRONT, write_header
from meshwright.store.plans import write_plan

if TYPE_CHECKING:
    from meshwright.designs import Plan

CHART = "front.png"


def write_front(plans: Sequence[Plan], path: str | Path, *, title: str | None = None) -> Path:
    """Write plans as folders `degree-N`, with a chart, whole or not at all; an older front is replaced.

    Raises
    ------
    InputError
        If there are no plans.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the place cannot be written.
    """
    if not plans:
        raise InputError("no plans for a front: give at least one")
    with new_folder(path, FRONT) as folder:
        points = []
        for plan in plans:
            name = f"degree-{plan.figures['max_degree']}"
            write_plan(plan, folder / name)
            points.append({"plan": name, **plan.figures})
        trade_off(folder / CHART, front=plans, title=title)
        write_header(folder, FRONT, {"dataset": plans[0].overlay.interest.fingerprint, "points": points})
    return Path(path)
