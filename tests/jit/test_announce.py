"""Compilation is announced once, to those who ask, and the clock for work stands still meanwhile."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Barrier
from typing import Any

import numba
import pytest

from compiling import Seconds
from meshwright.jit import cache
from meshwright.jit.announce import QUIET, _listener, announce, working_seconds
from meshwright.jit.compiler import config

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")

FIRST = "compiling kernels, first run of this kind only (about 15 s)"
MODULE = "from meshwright.jit.compiler import compiled\n\n@compiled\ndef twice(x):\n    return 2 * x\n"


def new_kernel() -> Callable[[int], int]:
    """Return a function that is compiled when it is called, in no cache."""
    decorate: Any = numba.njit

    def twice(x: int) -> int:
        return 2 * x

    made: Callable[[int], int] = decorate(twice)
    return made


def imported(file: Path) -> Any:
    """Import a file as a new module, whether or not it was imported before."""
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def test_the_first_kernel_of_a_block_is_announced() -> None:
    """Several kernels are announced by one line, before the first is compiled; later ones by none."""
    lines: list[str] = []
    with announce(lines.append):
        assert lines == []
        assert new_kernel()(1) == 2
        assert lines == [FIRST]
        new_kernel()(1)
    new_kernel()(1)
    assert lines == [FIRST]


@pytest.mark.parametrize("quiet", [False, True])
def test_python_says_on_stderr_that_it_compiles(
    quiet: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a callback the first kernel of a process makes one line on stderr; a variable turns it off."""
    monkeypatch.setattr(_listener, "told", False)
    monkeypatch.delenv(QUIET, raising=False)
    if quiet:
        monkeypatch.setenv(QUIET, "1")
    new_kernel()(1)
    new_kernel()(1)
    said = "" if quiet else f"meshwright: {FIRST}; {QUIET}=1 turns this line off\n"
    assert capsys.readouterr() == ("", said)


def test_a_compiled_kernel_is_not_announced() -> None:
    """Calling a kernel again says nothing."""
    lines: list[str] = []
    kernel = new_kernel()
    kernel(1)
    with announce(lines.append):
        kernel(2)
    assert lines == []


def test_a_kernel_from_the_cache_is_not_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cold cache a kernel is compiled and announced; with a warm one it is loaded in silence."""
    monkeypatch.setattr(cache, "lasting_folder", lambda: tmp_path)
    source = tmp_path / "cached_kernel.py"
    source.write_text(MODULE, encoding="utf-8")
    for expected in ([FIRST], []):
        lines: list[str] = []
        kernel = imported(source).twice
        with announce(lines.append):
            assert kernel(21) == 42
        assert lines == expected
        assert sum(kernel.stats.cache_hits.values()) == (0 if expected else 1)


def test_without_a_cache_the_line_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no folder can be written, compilation is announced as something that every run does."""
    monkeypatch.setattr(cache, "lasting_folder", lambda: None)
    lines: list[str] = []
    with announce(lines.append):
        new_kernel()(1)
    assert lines == [
        "compiling kernels, as in every run: set NUMBA_CACHE_DIR to a folder that can be written"
    ]


def test_every_open_block_is_notified_once() -> None:
    """Blocks inside each other each get the line, in any order of their ends."""
    outer: list[str] = []
    inner: list[str] = []
    with announce(outer.append):
        with announce(inner.append):
            new_kernel()(1)
        new_kernel()(1)
    assert (outer, inner) == ([FIRST], [FIRST])


def test_what_the_callback_raises_comes_out() -> None:
    """An exception from the callback ends the call, and a later call compiles as usual."""

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt(line)

    kernel = new_kernel()
    with announce(interrupt), pytest.raises(KeyboardInterrupt, match="compiling kernels"):
        kernel(1)
    assert kernel(1) == 2


def test_threads_that_need_one_kernel_announce_it_once() -> None:
    """Four threads that need one kernel wait for one compilation: one line, and the clock stands still."""
    lines: list[str] = []
    kernel, together = new_kernel(), Barrier(4)

    def call(x: int) -> int:
        together.wait()
        return kernel(x)

    with announce(lines.append), Seconds() as seconds, ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, range(4))) == [0, 2, 4, 6]
    assert lines == [FIRST]
    assert seconds.compiled > 0
    assert 0 <= seconds.worked <= seconds.took - seconds.compiled


def test_the_clock_stands_still_while_numba_compiles() -> None:
    """The time of compilation is not working time, however kernels call each other; other time is."""
    inner = new_kernel()
    decorate: Any = numba.njit
    outer = decorate(lambda x: inner(x) + inner(x))
    with Seconds() as seconds:
        outer(1)
    assert seconds.compiled > 0
    assert 0 <= seconds.worked <= seconds.took - seconds.compiled
    working = working_seconds()
    time.sleep(0.05)
    assert working_seconds() - working >= 0.05
