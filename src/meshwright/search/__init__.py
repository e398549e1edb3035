"""Local search on overlays: pruning, and ruining a part to make it again with fewer links."""

from meshwright.search.remaking import Remaking, prepare

__all__ = ["Remaking", "prepare"]
