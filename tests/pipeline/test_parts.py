"""Plans in parts: they do not depend on where the parts are planned, and state what they lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pytest

import meshwright as mw
from calls import triples
from meshwright.errors import InputError
from meshwright.greedy import rules
from meshwright.interest import Interest
from meshwright.pipeline.plans.parts import divide, plan_in_parts
from meshwright.verify import verify_overlay
from meshwright.workloads import zipf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def interest() -> Interest:
    """Return subscriptions that take several levels and phases."""
    return zipf(400, 60, min_size=2, max_size=20, seed=5)


@pytest.mark.parametrize("rule", [rules.gm, rules.minmax, rules.low(3)], ids=lambda rule: rule.name)
def test_parts_on_a_cluster_are_those_of_one_process(
    spark: SparkSession, interest: Interest, rule: rules.Rule
) -> None:
    """Divided plans do not depend on where the parts are planned, and they are topic-connected."""
    done = plan_in_parts(interest, rule.name, lambda: spark, parts=3, coverage=2, seed=4)
    here = divide(interest, rule, parts=3, coverage=2, seed=4)
    assert triples(done.plan.overlay) == triples(here)
    assert verify_overlay(done.plan.overlay).connected
    assert done.plan.stated_parameters == {"parts": 3, "coverage": 2}
    # The sample has all nodes here.
    assert done.loss.divided == len(here)
    assert done.loss.exact == len(mw.design(interest, rule.name).overlay)


def never() -> NoReturn:
    """Fail, because no session may start."""
    raise AssertionError("a session was started for nothing")


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        ("ring", {}, "ring cannot be planned in parts: use gm, minmax or low"),
        ("gm", {"parts": 0}, "parts is 0"),
        ("gm", {"coverage": 0}, "coverage is 0"),
        ("gpa", {"parameters": {"max_edges": 9}}, "gpa cannot be planned in parts"),
        ("gm", {"parameters": {"rounds": 2}}, "rounds cannot be planned in parts"),
        ("low", {"parameters": {"k": 0.5}}, "at least 1"),
    ],
)
def test_what_cannot_be_planned_in_parts(
    interest: Interest, algorithm: str, options: dict[str, Any], message: str
) -> None:
    """Other designs, and budgets in parts, are refused before a session starts."""
    with pytest.raises(InputError, match=message):
        plan_in_parts(interest, algorithm, never, **{"parts": 2, **options})
