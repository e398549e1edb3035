"""The seconds of a plan are those of its algorithm, not of the compiler."""

from __future__ import annotations

import time
from typing import Any

import numba
import pytest

from meshwright import Interest, content
from meshwright.designs import design
from meshwright.jit.compiler import config


class Compiling:
    """A progress callback that compiles a new kernel each time, and knows how long that took."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, done: int, share: float, phase: str) -> None:
        """Compile something."""
        began = time.perf_counter()
        decorate: Any = numba.njit
        decorate(lambda x: x + done)(1)
        self.seconds += time.perf_counter() - began


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_design_does_not_count_compilation(threads: int) -> None:
    """Compiling during a design does not count in the plan's seconds, on any number of threads."""
    interest = Interest.from_dict({f"v{v}": {f"t{(v * i) % 9}" for i in range(5)} for v in range(80)})
    design(interest, threads=threads)
    compiling = Compiling()
    began = time.perf_counter()
    plan = design(interest, threads=threads, progress=compiling)
    took = time.perf_counter() - began
    assert compiling.seconds > 0
    assert 0 < plan.seconds < took - 0.8 * compiling.seconds


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
def test_an_assignment_does_not_count_compilation() -> None:
    """The same holds for assignments of users to brokers, and for their time limits."""
    users = content.synthetic(30, 3, 4, seed=1)
    content.assign(users, "descent", steps=2000)
    compiling = Compiling()
    began = time.perf_counter()
    plan = content.assign(users, "descent", steps=2000, progress=compiling)
    took = time.perf_counter() - began
    assert compiling.seconds > 0
    assert 0 < plan.seconds < took - 0.8 * compiling.seconds
