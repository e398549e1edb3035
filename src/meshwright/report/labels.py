"""How designs are named for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshwright.designs import DESIGNS

if TYPE_CHECKING:
    from meshwright.designs import Plan
    from meshwright.designs.plan import Parameter


def name_of(plan: Plan) -> str:
    """Return a design's title with its parameters, such as 'Low-ODA (k = 5)'."""
    known = DESIGNS.get(plan.algorithm)
    title = known.title if known else plan.algorithm
    told = ", ".join(_spelled(name, value) for name, value in plan.parameters.items())
    return f"{title} ({told})" if told else title


def _spelled(name: str, value: Parameter) -> str:
    if name == "costs":
        return "by cost"
    return f"{name.replace('_', ' ')} = {value:,}" if isinstance(value, int) else f"{name} = {value}"
