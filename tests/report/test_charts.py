"""Charts: whole files, the same for the same plans, or a clear refusal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import meshwright as mw
from meshwright.designs import Plan
from meshwright.errors import InputError, MissingDependencyError, OutputError
from meshwright.report import degree_and_support
from meshwright.report.sheet import KINDS
from meshwright.workloads import zipf

BEGINNINGS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    interest = zipf(30, 10, size=4, seed=3)
    return [mw.design(interest, name) for name in ("gm", "minmax", "ring")]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_plans_give_the_same_bytes(plans: list[Plan], tmp_path: Path, kind: str) -> None:
    """A chart is of the kind that its name says, and drawing it twice gives equal files and no others."""
    first = degree_and_support(plans, tmp_path / f"first{kind}", title="some").read_bytes()
    second = degree_and_support(plans, tmp_path / f"second{kind}", title="some").read_bytes()
    assert first.startswith(BEGINNINGS[kind])
    assert first == second
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"first{kind}", f"second{kind}"]


def test_the_readers_settings_do_not_matter(plans: list[Plan], tmp_path: Path) -> None:
    """Matplotlib settings made elsewhere neither change the chart nor are changed by it."""
    from matplotlib import rc_context, rcParams

    plain = degree_and_support(plans, tmp_path / "plain.png").read_bytes()
    with rc_context({"lines.linewidth": 9.0, "font.size": 20.0}):
        assert degree_and_support(plans, tmp_path / "styled.png").read_bytes() == plain
        assert rcParams["lines.linewidth"] == 9.0


def test_other_plans_give_another_chart(plans: list[Plan], tmp_path: Path) -> None:
    """The chart depends on each plan that it shows."""
    both = degree_and_support(plans[:2], tmp_path / "both.png").read_bytes()
    assert degree_and_support(plans[:1], tmp_path / "one.png").read_bytes() != both


def test_an_overlay_without_links_can_be_drawn(tmp_path: Path) -> None:
    """One broker alone has nothing to show on logarithmic axes, and that is no error."""
    alone = mw.design(mw.Interest.from_dict({"a": {"x"}}), "gm")
    assert degree_and_support([alone], tmp_path / "alone.png").stat().st_size > 0


def test_a_failed_write_leaves_the_old_chart(
    plans: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When writing fails half-way, the file that was there is still there, and no other."""
    from matplotlib.figure import Figure

    def fail(self: Figure, target: str, **_: object) -> None:
        Path(target).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    chart = tmp_path / "chart.png"
    chart.write_bytes(b"old")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OutputError, match="No space left"):
        degree_and_support(plans, chart)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"chart.png": b"old"}


def test_refusals(plans: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No plans, an unknown ending, a missing folder, a folder in the way, no matplotlib: each is said."""
    with pytest.raises(InputError, match="no plans"):
        degree_and_support([], tmp_path / "chart.png")
    with pytest.raises(InputError, match=r"\.png or \.svg or \.pdf"):
        degree_and_support(plans, tmp_path / "chart.gif")
    with pytest.raises(OutputError, match="no folder"):
        degree_and_support(plans, tmp_path / "nowhere" / "chart.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        degree_and_support(plans, tmp_path / "folder.png")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'meshwright\[charts\]'"):
        degree_and_support(plans, tmp_path / "chart.png")
