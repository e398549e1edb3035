"""The kernels, compiled or loaded before they are needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meshwright.progress import Progress

LONGEST = "descent"
"""It runs all the others, so when its kernels are kept, all are."""


def prepare(algorithm: str, progress: Progress | None = None) -> None:
    """Compile the kernels of an algorithm, or load them where they are kept; no part of its time."""
    from meshwright.jit import compiler

    name = LONGEST if algorithm == "exact" else algorithm
    all_of_them = name == LONGEST or compiler.is_kept("content")
    kernels = "content" if all_of_them else f"content/{name}"
    compiler.announce(kernels, progress)
    _prepare_once(name, kernels)


@cache
def _prepare_once(name: str, kernels: str) -> None:
    """Let an algorithm put some users on two brokers, and work out what a plan tells of it."""
    from meshwright.content.assignment.broker_tree import broker_tree
    from meshwright.content.assignment.cost import cost
    from meshwright.content.assignment.packing import random
    from meshwright.content.assignment.registry import find
    from meshwright.content.model.synthetic import synthetic
    from meshwright.jit import compiler

    some = synthetic(6, 2, 2, capacity=4.0)
    broker_of, _ = find(name).make(some, seed=0, progress=None)
    random(some, seed=0)
    known = cost(some, broker_of)
    broker_tree(known)
    known.of_link  # noqa: B018  (worked out when asked for)
    compiler.keep(kernels)
