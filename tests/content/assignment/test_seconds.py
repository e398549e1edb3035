"""The seconds of an assignment are those of its algorithm, not of the compiler."""

from __future__ import annotations

import time

import pytest

from compiling import Compiling
from meshwright import content
from meshwright.jit.compiler import config


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
def test_an_assignment_does_not_count_compilation() -> None:
    """Compiling during an assignment does not count in its seconds."""
    users = content.synthetic(30, 3, 4, seed=1)
    content.assign(users, "descent", steps=2000)
    compiling = Compiling()
    began = time.perf_counter()
    plan = content.assign(users, "descent", steps=2000, progress=compiling)
    took = time.perf_counter() - began
    assert compiling.seconds > 0
    assert 0 < plan.seconds < took - 0.8 * compiling.seconds
