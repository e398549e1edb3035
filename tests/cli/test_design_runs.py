"""Options of designs: those that fit are taken, and each that does not has its own line."""

from __future__ import annotations

from typing import Any

import pytest

import meshwright as mw
from meshwright.cli.plans.design_runs import (
    add_certificate,
    check_parameters,
    ratio_reference,
    split_algorithms,
    split_names,
)
from meshwright.cli.plans.spark_runs import check_on_spark
from meshwright.errors import InputError


@pytest.mark.parametrize(
    ("names", "given", "complaint"),
    [
        (["gpm"], {}, "gpm needs --max-degree, .*, or --ratio: give it"),
        (["gpm"], {"ratio": 0.2, "max_degree": 3}, "--ratio and --max-degree both set the budget of gpm"),
        (["ring"], {"max_degree": 3}, "ring takes no --max-degree: leave it out, or take gm or "),
        (["ring", "cd"], {"max_degree": 3}, "ring, cd take no --max-degree"),
        (["gpm"], {"ratio": 1.1}, "--ratio is 1.1: give a number from 0 to 1"),
        (["gpm"], {"ratio": -0.1}, "--ratio is -0.1: give a number from 0 to 1"),
        (["low"], {"strict": True, "costs": "c"}, "--strict and --costs cannot be combined"),
        (["best"], {"seconds": 1.0, "steps": 5}, "--seconds and --steps both limit the search"),
        (["best"], {"k": 2.0, "objective": "edges"}, "--k applies to best only with --objective balanced"),
    ],
)
def test_options_that_do_not_fit(names: list[str], given: dict[str, Any], complaint: str) -> None:
    """Each combination that means nothing is refused."""
    with pytest.raises(InputError, match=complaint):
        check_parameters(names, given)


def test_only_commands_of_several_designs_say_add() -> None:
    """`compare` can add a design that takes the option; `plan` has to take another one."""
    for several, said in ((True, "leave it out, or add gm"), (False, "leave it out, or take gm")):
        with pytest.raises(InputError, match=said):
            check_parameters(["ring"], {"max_degree": 3}, several=several)


@pytest.mark.parametrize(
    ("names", "given"),
    [
        (["gm"], {}),
        (["gpm"], {"max_degree": 3}),
        (["gpm"], {"ratio": 0.0}),
        (["gpm"], {"ratio": 1}),
        (["gm", "gpm"], {"max_degree": 3}),
        (["best"], {"k": 2.0, "objective": "balanced", "steps": 5}),
        (["low", "best"], {"k": 2.0}),
    ],
)
def test_options_that_fit(names: list[str], given: dict[str, Any]) -> None:
    """An option is fine if one of the designs takes it."""
    check_parameters(names, given)


def test_settings_of_spark_are_checked_where_it_may_not_run() -> None:
    """A small plan needs no session, which would check them."""
    check_on_spark("gm", {}, None, None, None, ["spark.executor.memory=4g"])
    with pytest.raises(InputError, match="--conf memory is not KEY=VALUE"):
        check_on_spark("gm", {}, None, None, None, ["memory"])


def test_lists_of_names() -> None:
    """Names are separated by commas, each once; algorithms must be known."""
    assert split_names(" a, b,,c ", "--of", "x") == ["a", "b", "c"]
    with pytest.raises(InputError, match="--of ' , ' names nothing: name at least one, such as --of x"):
        split_names(" , ", "--of", "x")
    with pytest.raises(InputError, match="--of a,b,a names one twice"):
        split_names("a,b,a", "--of", "x")
    assert split_algorithms("gm, low") == ["gm", "low"]
    with pytest.raises(InputError, match="gmm"):
        split_algorithms("gm,gmm")


def test_certificates_and_references() -> None:
    """A certificate adds bounds to a plan; a ratio, and only a ratio, refers to the literal MinMax-ODA."""
    interest = mw.workloads.zipf(12, 6, size=3, seed=1)
    plan = add_certificate(mw.design(interest, "gm"), 1, progress=False)
    assert plan.figures["lower_bound"] <= len(plan.overlay)
    assert ratio_reference(interest, {"ratio": None}, threads=1, progress=False) is None
    found = ratio_reference(interest, {"ratio": 0.5}, threads=1, progress=False)
    assert found is not None
    assert found.edges == mw.design(interest, "minmax", literal=True).overlay.edges
