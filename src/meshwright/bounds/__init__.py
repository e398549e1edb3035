"""How many links are needed at least: prices that prove it."""

from meshwright.bounds.improve import EFFORTS, prepare, prices
from meshwright.bounds.pairs import TightPairs, pair_topics, tight_pairs
from meshwright.bounds.prices import Prices

__all__ = ["EFFORTS", "Prices", "TightPairs", "pair_topics", "prepare", "prices", "tight_pairs"]
