"""Compiling the kernels of the designs that do not run on the engine, before anything is timed."""

from __future__ import annotations

from meshwright.designs import cdmax, coverage, random, stars
from meshwright.interest import Interest
from meshwright.jit.prepare import prepares


@prepares("designs")
def prepare() -> None:
    """Compile the kernels of these designs, or load them where they are kept."""
    # Run the designs, one for each kernel, on the smallest of interests.
    pair = Interest.from_dict({"a": {"t"}, "b": {"t"}})
    stars.cd(pair)
    cdmax.cdmax(pair)
    coverage.spidercast(pair)
    random.randoma(pair, max_edges=1)
