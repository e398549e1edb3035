"""Plans on a cluster: exact plans have the same edges as without it, and the size decides the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

import meshwright as mw
from calls import triples
from meshwright.errors import InputError
from meshwright.greedy import rules, waves
from meshwright.interest import Interest
from meshwright.pipeline.planning.construct import (
    Choice,
    choose,
    construct,
    engine_bytes,
    first_wave,
    free_memory,
)
from meshwright.pipeline.planning.divide import divide
from meshwright.pipeline.planning.executors import hand_of
from meshwright.verify import verify_overlay
from meshwright.workloads import unif, zipf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAVES = Choice("waves", "a test asks for it")


@pytest.fixture(scope="module")
def interest() -> Interest:
    """Return subscriptions that take several levels and phases."""
    return zipf(400, 60, min_size=2, max_size=20, seed=5)


@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [
        ("gm", {}),
        ("gm", {"rounds": 2}),
        ("minmax", {}),
        ("low", {"k": 2.0}),
        ("gpa", {"max_edges": 300}),
        ("gpm", {"max_degree": 5}),
    ],
    ids=str,
)
def test_exact_plans_are_those_of_the_engine(
    spark: SparkSession,
    interest: Interest,
    algorithm: str,
    parameters: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With waves on executors, edges and contributions equal those of the local engine."""
    monkeypatch.setattr(waves, "LEAST_WORK", 5_000)
    done = construct(interest, algorithm, lambda: spark, choice=WAVES, parameters=parameters)
    here = mw.design(interest, algorithm, **parameters)
    assert triples(done.plan.overlay) == triples(here.overlay)
    assert done.plan.parameters == here.parameters
    assert done.waves[0] == interest.num_nodes


@pytest.mark.parametrize("rule", [rules.gm, rules.minmax, rules.low(3)], ids=lambda rule: rule.name)
def test_parts_on_a_cluster_are_those_of_one_process(
    spark: SparkSession, interest: Interest, rule: rules.Rule
) -> None:
    """Divided plans do not depend on where the parts are planned, and they are topic-connected."""
    done = construct(interest, rule.name, lambda: spark, parts=3, coverage=2, seed=4)
    here = divide(interest, rule, parts=3, coverage=2, seed=4)
    assert triples(done.plan.overlay) == triples(here)
    assert verify_overlay(done.plan.overlay).connected
    assert done.plan.stated_parameters == {"parts": 3, "coverage": 2}
    assert done.choice.way == "parts"
    assert done.loss is not None
    # The sample has all nodes here.
    assert done.loss.divided == len(here)
    assert done.loss.exact == len(mw.design(interest, rule.name).overlay)


def never() -> NoReturn:
    """Fail, because no session may start."""
    raise AssertionError("a session was started for nothing")


def test_small_plans_need_no_cluster(interest: Interest) -> None:
    """A small plan starts no session, and says why."""
    done = construct(interest, "gm", never)
    assert triples(done.plan.overlay) == triples(mw.design(interest, "gm").overlay)
    assert (done.choice.way, done.waves, done.loss) == ("driver", (), None)
    assert "too little to send away" in done.choice.why


def test_the_work_of_the_first_wave() -> None:
    """A row costs its topics plus 16, for each word of 64 nodes from its own on."""
    small = zipf(150, 20, min_size=1, max_size=9, seed=2)
    sizes = np.diff(small.node_ptr).tolist()
    assert first_wave(small) == sum((size + 16) * (3 - node // 64) for node, size in enumerate(sizes))


def test_the_way_is_chosen_by_size() -> None:
    """Large plans go to executors; plans that exceed the memory are divided until the parts fit."""
    large = unif(100_000, 200, size=10, seed=1)
    assert first_wave(large) >= waves.LEAST_WORK
    assert choose(large, rules.gm).way == "waves"
    needed = engine_bytes(large, sparing=False)
    cramped = choose(large, rules.gm, free=needed // 4)
    assert cramped.way == "parts"
    assert cramped.parts >= 4
    assert "MiB" in cramped.why
    # minmax needs more memory than gm.
    assert choose(large, rules.minmax, free=needed * 6 // 5).way == "parts"
    assert choose(large, rules.gm, 7).parts == 7
    # With more topics, pairs that share three are few.
    sparse = choose(unif(100_000, 2000, size=6, seed=1), rules.gm)
    assert sparse.way == "driver"
    assert "from the index" in sparse.why
    assert 2**20 < free_memory() < 2**50


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        ("ring", {}, "ring does not run on a cluster: .* gm, gpa"),
        ("gm", {"parts": 0}, "parts is 0"),
        ("gm", {"coverage": 0}, "coverage is 0"),
        ("gpa", {"parts": 2, "parameters": {"max_edges": 9}}, "gpa cannot be planned in parts"),
        ("gm", {"parts": 2, "parameters": {"rounds": 2}}, "rounds cannot be planned in parts"),
        ("low", {"parameters": {"k": 0.5}}, "at least 1"),
    ],
)
def test_what_does_not_run_on_a_cluster(
    interest: Interest, algorithm: str, options: dict[str, Any], message: str
) -> None:
    """Other designs, and budgets in parts, are refused before a session starts."""
    with pytest.raises(InputError, match=message):
        construct(interest, algorithm, never, **options)


def test_hands_are_all_the_rows() -> None:
    """Every row of a wave is in one hand, and no hand is much larger than another."""
    rows = np.arange(3, 50_003, dtype=np.int32)
    hands = [hand_of(rows, hand, 64) for hand in range(64)]
    assert sorted(np.concatenate(hands).tolist()) == rows.tolist()
    assert max(map(len, hands)) - min(map(len, hands)) <= 64
