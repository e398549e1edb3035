"""With `MESHWRIGHT_CHECK=1`, kernels raise where an index is beyond the end of an array, or negative."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = """
import numpy as np
from meshwright.jit.compiler import inner, kernel

@inner
def take(values, at):
    return values[at]

@kernel
def read(values, at):
    return take(values, at)

@kernel
def write(rows, at):
    rows[at, 0] = 1

print(read(np.arange(3), 2))
for call in (
    lambda: read(np.arange(3), 3), lambda: read(np.arange(3), -1), lambda: write(np.zeros((2, 2)), -1),
    lambda: write(np.zeros((2, 2)), 2),
):
    try:
        call()
    except IndexError as error:
        print(error)
"""


@pytest.mark.parametrize("checked", ["1", "0"])
def test_indices_out_of_bounds_are_found(tmp_path: Path, checked: str) -> None:
    """Indices beyond the end and negative ones raise where they are checked; without, they do not."""
    file = tmp_path / "kernels.py"
    calls = KERNEL if checked == "1" else KERNEL.partition("for call")[0]
    file.write_text(calls)
    environment = os.environ | {"MESHWRIGHT_CHECK": checked}
    done = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True, check=True)
    found = ["2", *["index is out of bounds"] * 4] if checked == "1" else ["2"]
    assert done.stdout.splitlines() == found
