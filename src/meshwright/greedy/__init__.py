"""The one greedy engine: `grow`, its rules, its candidate sets and its tuning."""

from meshwright.greedy.engine import grow
from meshwright.greedy.layout import Tuning

__all__ = ["Tuning", "candidates", "grow", "rules"]
