"""The seconds of an assignment are those of its algorithm, not of the compiler."""

from __future__ import annotations

import pytest

from compiling import Seconds, compile_something
from meshwright import content
from meshwright.jit.compiler import config


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
def test_an_assignment_does_not_count_compilation() -> None:
    """Compiling during an assignment does not count in its seconds."""
    users = content.synthetic(30, 3, 4, seed=1)
    content.assign(users, "descent", steps=2000)
    with Seconds() as seconds:
        plan = content.assign(users, "descent", steps=2000, progress=compile_something)
    assert seconds.compiled > 0
    assert 0 < plan.seconds <= seconds.took - seconds.compiled
