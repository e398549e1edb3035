"""Optimise each kernel once: as a whole, together with the functions that it calls.

By default numba optimises every compiled function and makes machine code of it. It then links the function's
code into each caller, and optimises it there again, level by level. Python never calls the inner functions of
a kernel, so for them all but the last time is wasted.

- `LinkOnlyCompiler` stops after LLVM code: nothing is optimised, there is no machine code, and nothing to
  cache.
- `KernelCompiler`, for what Python calls, optimises all that was linked, in numba's own passes over a whole
  library. It leaves out the passes over single functions that come before.

Both change how numba fills a *library*, the LLVM code of a function with all that it calls, and nothing else.
`KernelFlags` changes only how fast numba compares its settings.
"""

from __future__ import annotations

from typing import Any, cast

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags


class KernelLibrary(JITCodeLibrary):
    """A library that is optimised once, when all code is linked."""

    def _optimize_functions(self, module: Any) -> None:
        """Prepare a function's code for linking; numba optimises it here."""
        module.data_layout = self._codegen._data_layout


class LinkOnlyLibrary(KernelLibrary):
    """A library that only serves to be linked into others."""

    def _optimize_final_module(self) -> None:
        """Leave the code to the libraries that link it."""

    def _finalize_final_module(self) -> None:
        """Accept no more code; numba makes machine code here."""
        self._finalized = True


class KernelFlags(Flags):
    """numba's flags, with quick comparisons.

    For every operator that numba types, it looks dozens of implementations up by the flags, and compares them
    option by option each time: a tenth of all compiling. Flags with the same settings are equal at once here;
    all others are compared as before.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        """Return the same as numba's flags: a hash of the options' names."""
        return NAMES_OF_OPTIONS

    def __eq__(self, other: object) -> bool:
        """Return whether all options have the same values."""
        same = isinstance(other, KernelFlags) and self._values == other._values
        return same or bool(super().__eq__(other))  # type: ignore[no-untyped-call]


NAMES_OF_OPTIONS = hash(Flags())  # type: ignore[no-untyped-call]


class QuickCompiler(Compiler):
    """numba's compiler with `KernelFlags`."""

    def __init__(
        self,
        typingctx: Any,
        targetctx: Any,
        library: Any,
        args: Any,
        return_type: Any,
        flags: Flags,
        locals: Any,  # noqa: A002  (numba's name)
    ) -> None:
        flags = KernelFlags(flags)  # type: ignore[no-untyped-call]
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)  # type: ignore[no-untyped-call]


class KernelCompiler(QuickCompiler):
    """The same with a `KernelLibrary`."""

    library_class: type[KernelLibrary] = KernelLibrary

    def define_pipelines(self) -> Any:
        """Return numba's own passes; they put the code into our library, as it is there already."""
        state = self.state
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()  # type: ignore[no-untyped-call]


class LinkOnlyCompiler(KernelCompiler):
    """numba's compiler for functions that only kernels call."""

    library_class = LinkOnlyLibrary

    def define_pipelines(self) -> Any:
        """Return numba's own passes; the last one does not look for machine code."""
        self.state.targetctx = self.state.targetctx.subtarget(get_executable=_no_way_in)
        return super().define_pipelines()


def _no_way_in(library: Any, function: Any, environment: Any) -> Any:
    """Finish a library, and return the function object that numba wants to keep; calling it would crash."""
    library._ensure_finalized()
    name, functions = function.qualname.split(".")[-1], cast("Any", numba)._dynfunc
    return functions.make_function(function.lookup_module(), name, "", 0, environment, (library,))
