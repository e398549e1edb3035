"""The kernels, compiled or loaded before they are needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from meshwright.greedy import Progress
    from meshwright.overlay import Overlay


def prepare(progress: Progress | None = None) -> None:
    """Compile the kernels, or load them where they are kept; a live overlay does so when first used."""
    from meshwright import compiling

    compiling.announce("churn", progress)
    _prepare_once()


def prepare_chaos(progress: Progress | None = None) -> None:
    """Compile what `chaos` needs, the kernels of live overlays and its own, or load them."""
    from meshwright import compiling

    prepare(progress)
    compiling.announce("churn/chaos", progress)
    _prepare_chaos_once()


@cache
def _prepare_once() -> None:
    """Let every kind of change happen once in the smallest of overlays."""
    from meshwright import compiling
    from meshwright.churn.live import LiveOverlay

    for policy in ("tidy", "rebuild"):
        live = LiveOverlay(_pair(), policy)
        live.join("c", ["t", "s"])
        live.subscribe("a", ["s"])
        live.unsubscribe("c", ["t"])
        live.leave("b")
        live.neighbours("a"), live.backups("a")
    compiling.keep("churn")


@cache
def _prepare_chaos_once() -> None:
    """Let one of two nodes fail."""
    from meshwright import compiling
    from meshwright.churn.chaos import chaos

    chaos(_pair(), most=1, samples=1, policies=())
    compiling.keep("churn/chaos")


def _pair() -> Overlay:
    """Return the smallest overlay with a link."""
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay

    end = np.zeros(1, dtype=np.int32)
    return Overlay(Interest.from_dict({"a": ["t"], "b": ["t"]}), end, end + 1, end + 1)
