"""The one greedy engine: `grow`, its rules and its candidate sets."""

from meshwright.greedy import candidates, rules
from meshwright.greedy.engine import Progress, grow

__all__ = ["Progress", "candidates", "grow", "rules"]
