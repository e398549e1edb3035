"""Lower bounds on the number of links and on the maximum degree: prices that prove them.

>>> import meshwright as mw
>>> prices = mw.bounds.prices(mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}))
>>> prices.bound, mw.bounds.lowest_degree(prices).bound
(2, 2)
"""

from meshwright.bounds.bound import EFFORTS, TightPairs, pair_topics, prices, tight_pairs
from meshwright.bounds.degree_limits import (
    DegreeProof,
    NodePrices,
    links_at_degree,
    lowest_degree,
    prove_degrees,
)
from meshwright.bounds.prices import Prices, gap

__all__ = [
    "EFFORTS",
    "DegreeProof",
    "NodePrices",
    "Prices",
    "TightPairs",
    "gap",
    "links_at_degree",
    "lowest_degree",
    "pair_topics",
    "prices",
    "prove_degrees",
    "tight_pairs",
]
