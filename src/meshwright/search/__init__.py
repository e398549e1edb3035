"""Local search on overlays: pruning, ruining a part to make it again, and greedy growth by prices."""

from meshwright.search.pricing import price_greedy
from meshwright.search.remaking import Remaking, prepare

__all__ = ["Remaking", "prepare", "price_greedy"]
