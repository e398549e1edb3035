"""Lower bounds on the number of links: prices that prove them."""

from meshwright.bounds.bound import EFFORTS, TightPairs, pair_topics, prices, tight_pairs
from meshwright.bounds.prices import Prices, gap

__all__ = ["EFFORTS", "Prices", "TightPairs", "gap", "pair_topics", "prices", "tight_pairs"]
