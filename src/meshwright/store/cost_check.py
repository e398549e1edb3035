"""What a stored plan states of its links' costs, and what they cost indeed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.errors import InputError
from meshwright.store.header import PLAN, damaged

if TYPE_CHECKING:
    from meshwright.overlay import Overlay
    from meshwright.store.plans import StoredPlan
    from meshwright.weighted import LinkCosts


def stated_cost_of(stored: StoredPlan) -> float | None:
    """Return the total cost that a plan states; one that weighed costs must state it."""
    stated = stored.figures.get("total_cost")
    if stated is None and "costs" not in stored.metadata["parameters"]:
        return None
    if type(stated) not in (int, float):
        raise damaged(stored.path / PLAN.file, "figure 'total_cost' is no number")
    return stated


def cost_found(stored: StoredPlan, overlay: Overlay, costs: LinkCosts | None) -> float | None:
    """Return what a plan's links cost in all, if it is said what each one costs.

    Raises
    ------
    InputError
        If the plan was made with other costs.
    """
    if costs is None:
        return None
    from meshwright.weighted import total_cost

    made_with = stored.metadata["parameters"].get("costs", costs.description)
    if made_with != costs.description:
        raise InputError(
            f"plan {stored.path} was made with other link costs ({made_with}, these are "
            f"{costs.description}): give those"
        )
    return total_cost(overlay, costs)
