"""The named designs, listed in the registry."""

from typing import TYPE_CHECKING

from meshwright.lazy import export_lazily

if TYPE_CHECKING:
    from meshwright.designs.advice import Advice, Wishes, advise
    from meshwright.designs.front import front
    from meshwright.designs.plan import Plan
    from meshwright.designs.registry import DESIGNS, Design, design, find

__all__ = [
    "DESIGNS",
    "Advice",
    "Design",
    "Plan",
    "Wishes",
    "advise",
    "design",
    "find",
    "front",
]

export_lazily(
    __name__,
    {
        "advice": ["Advice", "Wishes", "advise"],
        "front": ["front"],
        "plan": ["Plan"],
        "registry": ["DESIGNS", "Design", "design", "find"],
    },
)
