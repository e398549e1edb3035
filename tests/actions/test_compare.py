"""Comparing designs of a dataset or file."""

from __future__ import annotations

from pathlib import Path

import pytest

import meshwright as mw
from meshwright.actions.compare import compare_designs, split_names
from meshwright.actions.plan import DesignChoice
from meshwright.actions.sources import Source
from meshwright.errors import InputError


def test_lists_of_names() -> None:
    """Names are separated by commas, each once."""
    assert split_names(" a, b,,c ", "--of", "x") == ["a", "b", "c"]
    with pytest.raises(InputError, match="--of ' , ' names nothing: name at least one, such as --of x"):
        split_names(" , ", "--of", "x")
    with pytest.raises(InputError, match="--of a,b,a names one twice"):
        split_names("a,b,a", "--of", "x")


def test_designs_of_a_file_are_those_of_its_interest(tmp_path: Path) -> None:
    """Each design takes its parameters; a ratio, and only a ratio, refers to the literal MinMax-ODA."""
    interest = mw.workloads.zipf(12, 6, size=3, seed=1)
    source = Source(str(mw.save(interest, tmp_path / "dataset")))
    with pytest.raises(InputError, match="gmm"):
        compare_designs(source, "gm,gmm", DesignChoice())
    made = compare_designs(source, "gm, gpm", DesignChoice(parameters={"ratio": 0.5}), certify=False)
    reference = mw.design(interest, "minmax", literal=True)
    most = reference.figures["max_degree"] // 2
    assert made.comparison["gpm"].parameters == {"max_degree": most, "ratio": 0.5}
    assert made.comparison["gm"].overlay.edges == mw.design(interest, "gm").overlay.edges
    assert "lower_bound" not in made.comparison["gm"].figures
    proven = compare_designs(source, "gm,low", DesignChoice())
    assert {"lower_bound", "gap"} <= proven.comparison["low"].figures.keys()
    assert proven.to_dict()["plans"][0] == proven.comparison["gm"].to_dict()
