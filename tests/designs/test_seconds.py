"""The seconds of a plan are those of its algorithm, not of the compiler."""

from __future__ import annotations

import pytest

from compiling import Seconds, compile_something
from meshwright import Interest
from meshwright.designs.advice import advise
from meshwright.designs.design import design
from meshwright.designs.front import front
from meshwright.designs.proofs import Timing
from meshwright.jit import announce
from meshwright.jit.announce import working_seconds
from meshwright.jit.compiler import config
from meshwright.workloads import social


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to compile")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_design_does_not_count_compilation(threads: int) -> None:
    """Compiling during a design does not count in the plan's seconds, on any number of threads."""
    interest = Interest.from_dict({f"v{v}": {f"t{(v * i) % 9}" for i in range(5)} for v in range(80)})
    design(interest, threads=threads)
    with Seconds() as seconds:
        plan = design(interest, threads=threads, progress=compile_something)
    assert seconds.compiled > 0
    assert 0 < plan.seconds <= seconds.took - seconds.compiled


def test_a_search_shares_its_seconds_with_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices, search and the proof of degrees share the seconds; without seconds there is no limit."""
    now = 100.0
    with monkeypatch.context() as patch:
        patch.setattr(announce, "working_seconds", lambda: now)
        timing = Timing("best", {"seconds": 10.0, "objective": "degree"})
        for gone in (0.0, 4.0, 9.0, 11.0):
            now = 100.0 + gone
            assert timing.for_prices == 4.0
            assert timing.for_search == {"seconds": max(0.0, 8.5 - gone)}
            assert timing.for_degrees == max(0.0, 10.0 - gone)
        for other in (Timing("best", {"steps": 5}), Timing("minmax", {})):
            assert (other.for_prices, other.for_search, other.for_degrees) == (None, {}, None)
    plan = design(social(60, size=5, seed=0), "best", objective="degree", seconds=0.2, certify=True)
    assert plan.parameters["seconds"] == 0.2
    assert plan.degree_proof is not None


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["edges", "degree"])
def test_search_and_certificate_keep_the_budget(objective: str) -> None:
    """On a social graph with half a million subscriptions, S seconds with a certificate take 1.2·S + 2."""
    graph = social(6400, min_size=30, max_size=400, exponent=1.8, seed=0)
    assert graph.num_subscriptions > 440_000
    design(graph, "best", objective=objective, seconds=0.1, certify=True)
    began = working_seconds()
    phases: set[str] = set()
    plan = design(
        graph,
        "best",
        objective=objective,
        seconds=15.0,
        certify=True,
        progress=lambda count, share, phase: phases.add(phase.split(",")[0]),
    )
    took = working_seconds() - began
    print(f"\n{objective}: {took:.1f} s for 15, {plan!r}, at least {plan.figures['lower_bound']:,}")
    assert took <= 1.2 * 15 + 2
    assert {"linking", "improving", "needed at least"} <= phases


@pytest.mark.slow
def test_a_front_and_its_certificates_keep_the_budget() -> None:
    """On the same graph all plans of a front, each with its proof, take 1.2·S + 2, kernels compiled."""
    graph = social(6400, min_size=30, max_size=400, exponent=1.8, seed=0)
    front(social(400, size=10, seed=0), seconds=0.5, certify=True)
    began = working_seconds()
    plans = front(graph, seconds=15.0, certify=True)
    took = working_seconds() - began
    print(f"\n{took:.1f} s for 15, {len(plans)} plans")
    assert took <= 1.2 * 15 + 2
    assert len(plans) > 1
    assert all(plan.degree_proof is not None for plan in plans)


@pytest.mark.slow
def test_advice_keeps_the_budget() -> None:
    """On the same graph two searches and all proofs take 1.2·3·S + 4, kernels compiled."""
    graph = social(6400, min_size=30, max_size=400, exponent=1.8, seed=0)
    advise(social(400, size=10, seed=0), seconds=0.5)
    began = working_seconds()
    advice = advise(graph, seconds=8.0)
    took = working_seconds() - began
    print(f"\n{took:.1f} s for 3 · 8, {advice!r}")
    assert took <= 1.2 * 3 * 8 + 4
    assert all(own.plan.prices is not None for own in advice.tried)
