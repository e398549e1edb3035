"""Compiling the kernels of measures, before anything is timed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Measure: TypeAlias = Literal["contributions", "diameter", "filtering", "redundancy", "resilience"]


def prepare(
    progress: Callable[[int, float, str], None] | None = None, measure: Measure = "contributions"
) -> None:
    """Compile the kernels behind a measure, or load them where they are kept."""
    from meshwright.jit import compiler

    kernels = "measure" if measure == "contributions" else f"measure/{measure}"
    compiler.announce(kernels, progress)
    _prepare_once(measure, kernels)


@cache
def _prepare_once(measure: Measure, kernels: str) -> None:
    """Measure the smallest of overlays, in every way that needs a kernel of its own."""
    from meshwright.interest import Interest
    from meshwright.jit import compiler
    from meshwright.measure.contribution import contributions
    from meshwright.measure.diameter import diameters
    from meshwright.measure.filtering import filtering_costs
    from meshwright.measure.robustness import redundant_edges, weak_topics
    from meshwright.overlay import Overlay

    nothing = Overlay.empty(Interest.from_dict({}))
    if measure == "contributions":
        contributions(nothing.interest, nothing.u, nothing.v)
    elif measure == "diameter":
        diameters(nothing, scope="whole")
        diameters(nothing)
    elif measure == "filtering":
        filtering_costs(nothing)
    elif measure == "redundancy":
        redundant_edges(nothing)
    else:
        weak_topics(nothing)
    compiler.keep(kernels)
