"""The chart of links against the highest degree, and the folder of a front."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import meshwright as mw
from meshwright.designs.front import front
from meshwright.designs.plan import Plan
from meshwright.errors import InputError
from meshwright.report import trade_off, write_front
from meshwright.store.plan_check import verify_stored_plan
from meshwright.workloads import unif


@pytest.fixture(scope="module")
def interest() -> mw.Interest:
    return unif(30, 15, min_size=3, max_size=9, seed=2)


@pytest.fixture(scope="module")
def points(interest: mw.Interest) -> tuple[Plan, ...]:
    return front(interest, steps=100)


def picture(path: Path, **given: Any) -> Path:
    """Draw a chart into a file, and return its path."""
    trade_off(path, **given)
    return path


def test_it_shows_each_plan(interest: mw.Interest, points: tuple[Plan, ...], tmp_path: Path) -> None:
    """The chart depends on the front, the other plans and the choice; equal input gives equal bytes."""
    others = [mw.design(interest, name) for name in ("gm", "minmax")]
    cases: list[dict[str, Any]] = [
        {"front": points},
        {"front": points, "others": others},
        {"others": others},
        {"others": others, "chosen": others[1], "title": "some"},
    ]
    drawn = [picture(tmp_path / f"{i}.svg", **given).read_bytes() for i, given in enumerate(cases)]
    assert len(set(drawn)) == 4
    assert picture(tmp_path / "again.svg", front=points).read_bytes() == drawn[0]
    assert b"proven: connecting every topic needs" in drawn[0] or points[0].prices is None


def test_nothing_to_draw_is_an_error(tmp_path: Path) -> None:
    """Without plans, no chart and no folder is written."""
    with pytest.raises(InputError, match="no plans"):
        trade_off(tmp_path / "empty.png")
    with pytest.raises(InputError, match="no plans"):
        write_front([], tmp_path / "front")
    assert not list(tmp_path.iterdir())


def test_a_front_is_a_folder_of_plans(
    interest: mw.Interest, points: tuple[Plan, ...], tmp_path: Path
) -> None:
    """Every plan in the folder verifies, and front.json lists them with their figures."""
    folder = write_front(points, tmp_path / "front")
    listed = json.loads((folder / "front.json").read_text())
    assert [point["edges"] for point in listed["points"]] == [len(plan.overlay) for plan in points]
    assert all(verify_stored_plan(folder / point["plan"], interest).passed for point in listed["points"])
    assert (folder / "front.png").stat().st_size > 0
    assert write_front(points[:1], folder) == folder  # an older front is replaced
    assert len(list(folder.glob("degree-*"))) == 1
