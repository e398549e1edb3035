"""The one greedy engine: `grow`, its rules, its candidate sets and its tuning."""

from meshwright.greedy import candidates, rules
from meshwright.greedy.engine import Progress, grow, needs_more, prepare, prepare_more
from meshwright.greedy.tuning import Tuning

__all__ = ["Progress", "Tuning", "candidates", "grow", "needs_more", "prepare", "prepare_more", "rules"]
