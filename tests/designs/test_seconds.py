"""The seconds of a plan are those of its algorithm, not of the compiler."""

from __future__ import annotations

import time

import pytest

from compiling import Compiling
from meshwright import Interest
from meshwright.designs import design
from meshwright.jit.compiler import config


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
