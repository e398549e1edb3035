"""Local search on overlays: ruin and recreate. All files but `ruin_and_recreate` are kernels."""

from meshwright.search.ruin_and_recreate import RuinAndRecreate

__all__ = ["RuinAndRecreate"]
