"""The kernels, compiled or loaded before they are needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meshwright.content.plan import Progress

LONGEST = "descent"
"""It runs all the others, so when its kernels are kept, all are."""


def prepare(algorithm: str, progress: Progress | None = None) -> None:
    """Compile the kernels of an algorithm, or load them where they are kept; no part of its time."""
    name = LONGEST if algorithm == "exact" else algorithm
    if name == LONGEST:
        from meshwright import compiling

        compiling.announce("content", progress)
    _prepare_once(name)


@cache
def _prepare_once(name: str) -> None:
    """Let an algorithm put some users on two brokers."""
    from meshwright import compiling
    from meshwright.content.cost import cost
    from meshwright.content.registry import find
    from meshwright.content.synthetic import synthetic

    some = synthetic(6, 2, 2, capacity=4.0)
    broker_of, _ = find(name).make(some, seed=0, progress=None)
    assert cost(some, broker_of).of_link.shape == (2, 2)
    if name == LONGEST:
        compiling.keep("content")
