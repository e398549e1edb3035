"""Local search on overlays: ruin and recreate, and greedy growth by prices."""

from meshwright.greedy.priced import price_greedy
from meshwright.search.ruin_and_recreate import RuinAndRecreate

__all__ = ["RuinAndRecreate", "price_greedy"]
