"""How many links are needed at least: prices that prove it."""

from meshwright.bounds.bound import EFFORTS, TightPairs, pair_topics, prices, tight_pairs
from meshwright.bounds.prices import Prices

__all__ = ["EFFORTS", "Prices", "TightPairs", "pair_topics", "prices", "tight_pairs"]
