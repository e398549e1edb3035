"""Charts: complete files, equal for equal plans; bad input is rejected with a clear error."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import meshwright as mw
from meshwright.designs.plan import Plan
from meshwright.errors import InputError, MissingDependencyError, OutputError
from meshwright.report import charts, degree_and_support
from meshwright.report.charts import ccdf_chart, federation_picture
from meshwright.report.sheet import COLOURS, KINDS
from meshwright.report.tables import name_of
from meshwright.workloads import zipf

BEGINNINGS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def picture(plans: list[Plan], path: Path, **named: str) -> Path:
    """Draw plans into a file, and return its path."""
    degree_and_support(plans, path, **named)
    return path


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    interest = zipf(30, 10, size=4, seed=3)
    return [mw.design(interest, name) for name in ("gm", "minmax", "ring")]


@pytest.fixture(scope="module")
def chart(plans: list[Plan], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Draw the chart of all plans."""
    return picture(plans, tmp_path_factory.mktemp("charts") / "plain.png").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_plans_give_the_same_bytes(plans: list[Plan], tmp_path: Path, kind: str) -> None:
    """The suffix selects the file type; drawing twice gives equal files and leaves no others."""
    first = picture(plans[:1], tmp_path / f"first{kind}", title="some").read_bytes()
    second = picture(plans[:1], tmp_path / f"second{kind}", title="some").read_bytes()
    assert first.startswith(BEGINNINGS[kind])
    assert first == second
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"first{kind}", f"second{kind}"]


def test_the_legend_names_each_plan(plans: list[Plan], tmp_path: Path) -> None:
    """The legend has each plan's name, links and degrees, and the title is drawn if given."""
    text = picture(plans, tmp_path / "chart.svg", title="Designs").read_text(encoding="utf-8")
    for plan in plans:
        for line in (name_of(plan), f"{plan.figures['edges']:,} links"):
            assert f"<!-- {line} -->" in text
    assert "<!-- Designs -->" in text


def test_curves_are_what_the_plans_have(plans: list[Plan]) -> None:
    """Left: the share of brokers with at least x links. Right: the support of the first links."""
    left, right = degree_and_support(plans).axes
    for number, plan in enumerate(plans):
        degrees, support = mw.measure.degrees(plan.overlay), mw.measure.support_curve(plan.overlay)
        shares = [(degrees.of_node >= least).mean() for least in range(1, degrees.maximum + 1)]
        steps, last = left.lines[2 * number : 2 * number + 2]
        assert steps.get_xdata().tolist() == list(range(1, degrees.maximum + 1))
        assert steps.get_ydata().tolist() == pytest.approx(shares)
        assert (last.get_xdata()[0], last.get_ydata()[0]) == (degrees.maximum, pytest.approx(shares[-1]))
        curve, end = right.lines[2 * number : 2 * number + 2]
        assert curve.get_xdata().tolist() == list(range(len(support)))
        assert curve.get_ydata().tolist() == pytest.approx(support.tolist())
        assert (end.get_xdata()[0], end.get_ydata()[0]) == (len(support) - 1, support[-1])
        assert steps.get_color() == curve.get_color() == COLOURS[number]
    assert (right.get_xlim()[0], right.get_ylim()) == (0, (0, 1.04))
    assert left.get_xlabel() == "links of a broker"


@pytest.mark.parametrize(("links", "scale"), [(9, "linear"), (10, "log")])
def test_few_links_need_no_logarithm(links: int, scale: str) -> None:
    """From ten links at a broker on, the axes of degrees are logarithmic."""
    star = {f"n{number}": {f"t{number}"} for number in range(links)}
    star["hub"] = {f"t{number}" for number in range(links)}
    left, right = degree_and_support([mw.design(star, "gm")]).axes
    assert (left.get_xscale(), left.get_yscale(), right.get_xscale()) == (scale, scale, "linear")


def test_a_plan_without_links_has_no_degrees() -> None:
    """A logarithmic axis cannot show it; its support is drawn."""
    interest = mw.Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"y"}})
    left, right = degree_and_support([mw.design(interest, "gpa", max_edges=0)]).axes
    assert (len(left.lines), len(right.lines)) == (0, 2)


def test_matplotlib_settings_do_not_matter(plans: list[Plan], chart: bytes, tmp_path: Path) -> None:
    """The user's matplotlib settings do not change the chart, and the chart does not change them."""
    from matplotlib import rc_context, rcParams

    with rc_context({"lines.linewidth": 9.0, "font.size": 20.0}):
        assert picture(plans, tmp_path / "styled.png").read_bytes() == chart
        assert rcParams["lines.linewidth"] == 9.0


def test_other_plans_give_another_chart(plans: list[Plan], chart: bytes, tmp_path: Path) -> None:
    """The chart depends on each plan that it shows."""
    assert picture(plans[:2], tmp_path / "two.png").read_bytes() != chart


def test_an_overlay_without_links_can_be_drawn(tmp_path: Path) -> None:
    """A single broker has nothing to show on logarithmic axes; it is drawn without an error."""
    alone = mw.design(mw.Interest.from_dict({"a": {"x"}}), "gm")
    assert picture([alone], tmp_path / "alone.png").stat().st_size > 0


def test_distributions_have_a_panel_each(tmp_path: Path) -> None:
    """Each panel has its title and label, and each dataset a curve in it; zeros are left out."""
    curve = np.array([0, 1, 10]), np.array([1.0, 0.5, 0.1])
    panels = {title: {"one": curve, "two": curve} for title in ("Topics", "Nodes")}
    ccdf_chart(panels, ["size of topics", "size of nodes"], tmp_path / "d.svg")
    text = (tmp_path / "d.svg").read_text()
    for name, times in (("Topics", 1), ("size of nodes", 1), ("one", 2), ("two", 2)):
        assert text.count(f"<!-- {name} -->") == times


def test_a_failed_write_leaves_the_old_chart(
    plans: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If writing fails half-way, the old file stays, and no other file is left."""
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


def test_bad_calls(plans: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No plans, an unknown ending, a missing folder, a folder in the way and no matplotlib are errors."""
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


BRIDGES = {("b", "a"): 1, ("c", "b"): 4}


def drawn(path: Path, brokers: int = 3, **named: object) -> str:
    """Return the SVG of a federation."""
    names = [*"abc", *(f"broker{number}" for number in range(3, brokers))]
    federation_picture(names, BRIDGES, path / "f.svg", **named)  # type: ignore[arg-type]
    return (path / "f.svg").read_text().lower()


def test_brokers_at_fault_have_another_colour(tmp_path: Path) -> None:
    """The colour of faults appears only if a broker is at fault."""
    assert COLOURS[2].lower() not in drawn(tmp_path)
    assert COLOURS[2].lower() in drawn(tmp_path, faulty={"b"})
    assert COLOURS[1].lower() not in drawn(tmp_path, faulty=set("abc"))


def test_bridges_with_more_topics_are_wider(tmp_path: Path) -> None:
    """The widest bridge has the most topics, and the others are in proportion."""
    text = drawn(tmp_path)
    assert "stroke-width: 3.6" in text
    assert "stroke-width: 1.35" in text


def test_names_and_title(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are drawn for up to the limit of brokers, cut to 16 letters; the title is drawn if given."""
    monkeypatch.setattr(charts, "MOST_NAMES", 5)
    few, many = (drawn(tmp_path, count).count("<!-- ") for count in (5, 6))
    assert few - many == 5
    assert "<!-- proof -->" in drawn(tmp_path, title="Proof")
    federation_picture(["x" * 20], {}, tmp_path / "f.svg")
    assert f"<!-- {'x' * 16} -->" in (tmp_path / "f.svg").read_text()


def test_an_empty_federation_can_be_drawn(tmp_path: Path) -> None:
    """No brokers make an empty picture; an unknown format is an error."""
    federation_picture([], {}, tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 0
    with pytest.raises(InputError, match="txt"):
        federation_picture([], {}, tmp_path / "f.txt")
