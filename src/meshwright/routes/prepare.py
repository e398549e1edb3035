"""Compiling the kernels of routes, before anything is timed."""

from __future__ import annotations

import numpy as np

from meshwright.jit.prepare import prepares


@prepares("routes")
def prepare() -> None:
    """Compile the kernels, or load them where they are kept; routing does so when first used."""
    # Route and measure the smallest overlay that needs a relay.
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay
    from meshwright.routes.choose import route
    from meshwright.routes.figures import figures, stretch

    interest = Interest.from_dict({"a": ["t"], "b": ["s"], "c": ["t"]})
    ends = np.arange(2, dtype=np.int32)
    trees = route(Overlay(interest, ends, ends + 1, ends), "load")
    figures(trees)
    stretch(trees)
