"""The kernels, compiled or loaded before they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meshwright.jit.prepare import prepares

if TYPE_CHECKING:
    from meshwright.overlay import Overlay
    from meshwright.progress import Progress


@prepares("churn")
def prepare() -> None:
    """Compile the kernels, or load them where they are kept; a live overlay does so when first used."""
    # Let every kind of change happen once in the smallest of overlays.
    from meshwright.churn.live import LiveOverlay

    for policy in ("tidy", "rebuild"):
        live = LiveOverlay(_pair(), policy)
        live.join("c", ["t", "s"])
        live.subscribe("a", ["s"])
        live.unsubscribe("c", ["t"])
        live.leave("b")
        live.neighbours("a"), live.backups("a")


def prepare_chaos(progress: Progress | None = None) -> None:
    """Compile what `chaos` needs, the kernels of live overlays and its own, or load them."""
    prepare(progress)
    _prepare_chaos(progress)


@prepares("churn/chaos")
def _prepare_chaos() -> None:
    """Let one of two nodes fail."""
    from meshwright.churn.chaos import chaos

    chaos(_pair(), most=1, samples=1, policies=())


def _pair() -> Overlay:
    """Return the smallest overlay with a link."""
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay

    end = np.zeros(1, dtype=np.int32)
    return Overlay(Interest.from_dict({"a": ["t"], "b": ["t"]}), end, end + 1, end + 1)
