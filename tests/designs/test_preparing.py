"""Kernels of designs beside the engine are compiled before anything is timed, and that is told."""

from __future__ import annotations

from typing import Any

import pytest

from meshwright import Interest
from meshwright.designs import DESIGNS, design, prepare_kernels, registry
from meshwright.greedy import engine
from meshwright.jit import compiler

ALONE = [name for name, known in DESIGNS.items() if known.prepare is prepare_kernels.prepare]


@pytest.mark.parametrize("kept", [True, False])
def test_compiling_is_told_when_it_happens(monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
    """Who waits for a compiler knows it; who does not is not bothered."""
    monkeypatch.setattr(compiler, "is_kept", lambda room: kept or room != "designs")
    told: list[str] = []
    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    design(interest, "cd", progress=lambda links, support, what: told.append(what))
    assert told == ([] if kept else [compiler.announcement("designs")])


def test_everything_with_kernels_of_its_own_is_prepared() -> None:
    """Stars, coverage and chance: the designs that share these kernels name what compiles them."""
    assert ALONE == ["cd", "cd1", "cd2", "cdmax", "spidercast", "spidercastm", "randoma", "randomm"]


def test_preparing_compiles_all_that_is_needed() -> None:
    """After `prepare`, no design compiles anything more, whatever the interest."""
    if compiler.config.DISABLE_JIT:
        pytest.skip("there is nothing to compile")
    from numba.core import event

    prepare_kernels.prepare()
    interest = Interest.from_dict({f"v{v}": {f"t{(v * i) % 9}" for i in range(5)} for v in range(80)})
    budgets = {"spidercastm": {"max_degree": 3}, "randoma": {"max_edges": 9}, "randomm": {"max_degree": 3}}
    with event.install_recorder("numba:compile") as recorder:
        for name in ALONE:
            DESIGNS[name].build(interest, **budgets.get(name, {}))
    assert not recorder.buffer


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [
        ("gm", {}),
        ("gm", {"max_edges": 1}),
        ("gm", {"rounds": 2}),
        ("gpa", {"max_edges": 1}),
        ("resilient", {"k": 1}),
        ("minmax", {}),
        ("low", {}),
        ("gpm", {"max_degree": 1}),
    ],
)
def test_no_more_of_the_engine_is_prepared_than_is_used(
    monkeypatch: pytest.MonkeyPatch, algorithm: str, parameters: dict[str, Any], threads: int
) -> None:
    """Before it is timed a design prepares what its runs ask for, and for GM's rule nothing beyond it."""
    before: list[str] = []
    used: list[str] = []
    monkeypatch.setattr(registry, "prepare_more", lambda progress: before.append("more"))
    monkeypatch.setattr(engine, "prepare_more", lambda progress: used.append("more"))
    interest = Interest.from_dict({"a": {"x", "y"}, "b": {"x"}, "c": {"x", "y"}})
    design(interest, algorithm, threads=threads, **parameters)
    assert bool(before) == bool(used)
    assert bool(before) == (threads > 1 or algorithm in ("minmax", "low", "gpm"))
