"""The named designs, listed in the registry."""

from meshwright.designs.advice import Advice, Wishes, advise
from meshwright.designs.certified import certify
from meshwright.designs.comparison import Comparison, compare
from meshwright.designs.front import front
from meshwright.designs.plan import Plan
from meshwright.designs.registry import DESIGNS, Design, design, find

__all__ = [
    "DESIGNS",
    "Advice",
    "Comparison",
    "Design",
    "Plan",
    "Wishes",
    "advise",
    "certify",
    "compare",
    "design",
    "find",
    "front",
]
