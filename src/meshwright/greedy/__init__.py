"""Greedy growth: one state, one driver, and the pickers that decide which pair is linked next."""

from meshwright.greedy.engine import grow
from meshwright.greedy.layout import Tuning

__all__ = ["Tuning", "candidates", "grow", "rules"]
