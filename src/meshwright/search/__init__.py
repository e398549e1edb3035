"""Local search on overlays: pruning, ruining a part to make it again, and greedy growth by prices."""

from meshwright.greedy.priced import price_greedy
from meshwright.search.ruin_and_recreate import Remaking

__all__ = ["Remaking", "price_greedy"]
