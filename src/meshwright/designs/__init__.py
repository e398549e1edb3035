"""The named designs: one file each, listed in the registry."""

from meshwright.designs.plan import Plan
from meshwright.designs.registry import DESIGNS, Design, design, find

__all__ = ["DESIGNS", "Design", "Plan", "design", "find"]
