"""A clock for kernels: the time of one step inside a compiled call."""

from __future__ import annotations

import sys
import time
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from meshwright.jit.compiler import config

MONOTONIC = 6 if sys.platform == "darwin" else 1
"""CLOCK_MONOTONIC in C, which Python's perf_counter reads too."""

if config.DISABLE_JIT or sys.platform == "win32":
    nanoseconds = time.perf_counter_ns
else:

    @intrinsic
    def nanoseconds(typingctx: Any) -> Any:
        """Return the nanoseconds of a clock that never goes back; only differences mean something."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            # clock_gettime of libc fills in seconds and nanoseconds. It is found by name when the code is
            # loaded, so that compiled code can be cached.
            number, two = ir.IntType(64), ir.ArrayType(ir.IntType(64), 2)
            wanted = ir.FunctionType(ir.IntType(32), [ir.IntType(32), two.as_pointer()])
            read = builder.module.globals.get("clock_gettime") or ir.Function(
                builder.module, wanted, "clock_gettime"
            )
            place = builder.alloca(two)
            builder.call(read, [ir.Constant(ir.IntType(32), MONOTONIC), place])
            seconds = builder.extract_value(builder.load(place), 0)
            rest = builder.extract_value(builder.load(place), 1)
            return builder.add(builder.mul(seconds, ir.Constant(number, 1_000_000_000)), rest)

        return types.int64(), generate
