"""The one greedy engine: `grow`, its rules, its candidate sets and its tuning."""

from meshwright.greedy.engine import grow, needs_more, prepare, prepare_more
from meshwright.greedy.layout import Tuning

__all__ = ["Tuning", "candidates", "grow", "needs_more", "prepare", "prepare_more", "rules"]
