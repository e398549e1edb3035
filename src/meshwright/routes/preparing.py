"""Compiling the kernels of routes, before anything is timed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from meshwright.greedy import Progress


def prepare(progress: Progress | None = None) -> None:
    """Compile the kernels, or load them where they are kept; routing does so when first used."""
    from meshwright import compiling

    compiling.announce("routes", progress)
    _prepare_once()


@cache
def _prepare_once() -> None:
    """Route and measure the smallest overlay that needs a relay."""
    from meshwright import compiling
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.routes.choosing import route
    from meshwright.routes.figures import figures, stretch

    interest = Interest.from_dict({"a": ["t"], "b": ["s"], "c": ["t"]})
    ends = np.arange(2, dtype=np.int32)
    trees = route(Overlay(interest, ends, ends + 1, ends), "load")
    figures(trees)
    stretch(trees)
    compiling.keep("routes")
