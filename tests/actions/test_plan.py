"""Planning a dataset or file: what is refused before long work, and what is written."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshwright as mw
from meshwright.actions.plan import DesignChoice, Parts, plan
from meshwright.actions.sources import Source
from meshwright.actions.spark import SparkOptions
from meshwright.errors import InputError, OutputError


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a small dataset."""
    return Source(str(mw.save(mw.workloads.zipf(12, 6, size=3, seed=1), tmp_path / "dataset")))


def test_settings_of_spark_are_checked_where_it_may_not_run(source: Source, tmp_path: Path) -> None:
    """A plan on this machine needs no session, which would check them."""
    out = str(tmp_path / "plan")
    good = Parts(spark=SparkOptions(conf=["spark.executor.memory=4g"]))
    made = plan(source, out, DesignChoice(), parts=good)
    assert made.to_dict()["way"] == "driver"
    with pytest.raises(InputError, match="--conf memory is not KEY=VALUE"):
        plan(source, out, DesignChoice(), parts=Parts(spark=SparkOptions(conf=["memory"])))


def test_parts_that_do_not_fit() -> None:
    """Options that mean nothing together are refused before anything is read."""
    with pytest.raises(InputError, match="--costs and --parts cannot be combined"):
        plan(Source("nowhere.csv"), "plan", DesignChoice(), costs=Path("costs.csv"), parts=Parts(2))


def test_parts_are_named_in_one_text() -> None:
    """A number of parts, and with a comma how often each covers a topic; all else is refused."""
    assert Parts.named(None, SparkOptions()) == Parts()
    assert Parts.named("8", SparkOptions()) == Parts(8)
    assert Parts.named("8,3", SparkOptions()) == Parts(8, 3)
    for wrong in ("0", "8,0", "8,", ",3", "8,3,2", "-1", "²", "all"):
        with pytest.raises(InputError, match="is not P or P,N"):
            Parts.named(wrong, SparkOptions())


def test_a_plan_is_what_python_designs(source: Source, tmp_path: Path) -> None:
    """The plan is on disk, with its certificate; lost parts of the plan before it are noted."""
    out, phases = str(tmp_path / "plan"), dict[str, None]()
    made = plan(
        source, out, DesignChoice("low", {"k": 2.0}, certify=True),
        progress=lambda done, share, phase: phases.setdefault(phase.partition(":")[0]),
    )  # fmt: skip
    assert made.plan.overlay.edges == mw.design(mw.load(source.path), "low", k=2.0).overlay.edges
    assert mw.verify(out, source.path).passed
    assert made.to_dict() == {**made.plan.to_dict(), "plan": out}
    assert next(iter(phases)) == f"reading {source.path}"
    with pytest.raises(OutputError, match=r"in certificate: .* replace it, with its certificate, with"):
        plan(source, out, DesignChoice("low", {"k": 2.0}))
    again = plan(source, out, DesignChoice("low", {"k": 2.0}), force=True)
    assert again.notes == (
        f"the plan that was in {out} had a certificate, and this one does not: use --certify",
    )
    with pytest.raises(OutputError, match="differs in algorithm"):
        plan(source, out, DesignChoice())
    assert plan(source, out, DesignChoice(), force=True).plan.algorithm == "gm"
