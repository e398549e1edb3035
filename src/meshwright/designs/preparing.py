"""Compiling the kernels of the designs that do not run on the engine, before anything is timed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from meshwright.designs import cd, cdmax, randoma, spidercast
from meshwright.interest import Interest

if TYPE_CHECKING:
    from meshwright.greedy import Progress


def prepare(progress: Progress | None = None) -> None:
    """Compile the kernels of these designs, or load them where they are kept."""
    from meshwright import compiling

    compiling.announce("designs", progress)
    _prepare_once()


@cache
def _prepare_once() -> None:
    """Run the designs, one for each kernel, on the smallest of interests."""
    from meshwright import compiling

    pair = Interest.from_dict({"a": {"t"}, "b": {"t"}})
    cd.cd(pair)
    cdmax.cdmax(pair)
    spidercast.spidercast(pair)
    randoma.randoma(pair, max_edges=1)
    compiling.keep("designs")
