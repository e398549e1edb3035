"""Options of designs: those that fit are taken, and each that does not has its own line."""

from __future__ import annotations

import pytest

import meshwright as mw
from meshwright.cli.plans.design_runs import (
    add_certificate,
    ratio_reference,
    split_algorithms,
    split_names,
)
from meshwright.cli.plans.spark_runs import check_on_spark
from meshwright.errors import InputError


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
