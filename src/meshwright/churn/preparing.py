"""The kernels, compiled or loaded before they are needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meshwright.greedy import Progress


def prepare(progress: Progress | None = None) -> None:
    """Compile the kernels, or load them where they are kept; a live overlay does so when first used."""
    from meshwright import compiling

    compiling.announce("churn", progress)
    _prepare_once()


@cache
def _prepare_once() -> None:
    """Let every kind of change happen once in the smallest of overlays."""
    from meshwright import compiling
    from meshwright.churn.live import LiveOverlay
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay

    pair = Interest.from_dict({"a": ["t"], "b": ["t"]})
    for policy in ("tidy", "rebuild"):
        live = LiveOverlay(Overlay(pair, [0], [1], [1]), policy)  # type: ignore[arg-type]
        live.join("c", ["t", "s"])
        live.subscribe("a", ["s"])
        live.unsubscribe("c", ["t"])
        live.leave("b")
        live.neighbours("a"), live.backups("a")
    compiling.keep("churn")
