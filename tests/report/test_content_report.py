"""Reports of assignments: tables, charts, maps and pages show the figures of the plans."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.text import Text

from meshwright.content import ContentPlan, Places, Workload, assign, synthetic
from meshwright.content.cost import link_traffic
from meshwright.content.migration import Crash, Terms, migrate
from meshwright.formatting import amount, percentage
from meshwright.report import content
from meshwright.report.content import (
    content_chart,
    content_table,
    migration_chart,
    title_of,
    write_content_page,
)


@pytest.fixture(scope="module")
def workload() -> Workload:
    return synthetic(40, 12, 6, model="plane", length=0.3, seed=1)


@pytest.fixture(scope="module")
def plans(workload: Workload) -> list[ContentPlan]:
    return [assign(workload, name) for name in ("random", "packing")]


def cells(plans: list[ContentPlan]) -> list[list[str]]:
    """Return the rows of a table as text."""
    return [
        list(map(str, row)) for row in zip(*(it.cells for it in content_table(plans).columns), strict=True)
    ]


def test_a_row_has_the_figures_of_its_plan(plans: list[ContentPlan]) -> None:
    """Each row shows costs, the cost of one tree, the CRR, the highest load and the time."""
    for row, plan in zip(cells(plans), plans, strict=True):
        costs = [plan.cost.total, plan.cost.access, plan.cost.core, plan.tree.core]
        assert row[:5] == [title_of(plan), *map(amount, costs)]
        assert row[5:7] == [f"{plan.crr:.3f}", percentage(plan.cost.max_load)]
    assert cells([replace(plans[0], random_cost=None)])[0][5] == "–"


def test_the_least_cost_is_highlighted(plans: list[ContentPlan]) -> None:
    """The cheapest plan is bold; a single plan is not."""

    def bold(shown: list[ContentPlan]) -> list[bool]:
        costs = content_table(shown).columns[1].cells
        return [isinstance(cell, Text) and "bold" in str(cell.style) for cell in costs]

    cheaper = min(plans, key=lambda plan: plan.cost.total)
    assert bold(plans) == [plan is cheaper for plan in plans]
    assert bold(plans[:1]) == [False]


def test_variants_are_named(plans: list[ContentPlan]) -> None:
    """The variant with the heaviest links has it in its title."""
    assert title_of(plans[1]) == "Greedy packing"
    heaviest = replace(plans[0], algorithm="steiner", parameters={"argmax": True})
    assert title_of(heaviest) == "Steiner mixing, ours (heaviest)"
    assert title_of(replace(heaviest, parameters={"argmax": False})) == "Steiner mixing, ours"


def test_a_chart_has_a_bar_for_each_plan(plans: list[ContentPlan], tmp_path: Path) -> None:
    """The chart names all plans, both kinds of links, and the title."""
    content_chart(plans, tmp_path / "c.svg", title="Costs")
    svg = (tmp_path / "c.svg").read_text(encoding="utf-8")
    for name in ("Random", "Greedy packing", "access links", "core links", "Costs"):
        assert f"<!-- {name} -->" in svg


def test_brokers_without_places_keep_their_distances() -> None:
    """On the map, brokers with planar costs have these costs as distances, the same for every call."""
    places = np.random.Generator(np.random.PCG64(2)).random((7, 2))
    core = Places(places, places).core()
    points = content._points_from_distances(core)
    assert Places(points, points).core() == pytest.approx(core, abs=1e-6)
    assert (points[np.abs(points).argmax(axis=0), [0, 1]] > 0).all()
    two = content._points_from_distances(core[:2, :2])
    assert Places(two, two).core() == pytest.approx(core[:2, :2])


def test_users_without_places_are_around_their_brokers() -> None:
    """Without places, the user with the costliest link is farthest from its broker, 8 % of the map's size."""
    plan = assign(synthetic(30, 4, 5, seed=3), "packing")
    users, brokers = content._positions(plan)
    apart = np.linalg.norm(users - brokers[plan.cost.broker_of], axis=1)
    own = plan.workload.access[np.arange(30), plan.cost.broker_of]
    size = np.ptp(brokers, axis=0).max()
    assert apart == pytest.approx(0.08 * size * own / own.max())
    angles = np.arctan2(*(users - brokers[plan.cost.broker_of]).T)
    assert len(np.unique(angles.round(6))) == 30


def test_known_places_are_drawn(plans: list[ContentPlan]) -> None:
    """With places, the map shows them as they are."""
    users, brokers = content._positions(plans[0])
    known = plans[0].workload.places
    assert known is not None
    assert users is known.users
    assert brokers is known.brokers


def test_a_page_lists_the_costliest(
    plans: list[ContentPlan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page shows all figures, and the ten costliest brokers, channels and links, descending."""
    monkeypatch.setattr(content, "content_map", lambda plan, path: path.write_bytes(b"map"))
    plan = plans[1]
    write_content_page(replace(plan, lower_bound=plan.cost.total / 2), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>Greedy packing: 40 users on 12 brokers</h1>" in page
    assert "base64,bWFw" in page
    assert content.UNPLACED not in page
    rows = [re.findall(r"<td.*?>(.*?)</td>", row) for row in page.splitlines() if row.startswith("<tr>")]
    figures = {row[0]: row[1] for row in rows if len(row) == 2}
    assert next(iter(figures)) == "cost reduction ratio against random"
    assert figures["cost"] == amount(plan.cost.total)
    assert figures["of that on access links"] == amount(plan.cost.access)
    assert figures["above the optimum by at most"] == "50 %"
    lists = [row for row in rows if len(row) == 3]
    names = plan.workload.broker_names.to_pylist()
    order = np.argsort(-plan.cost.of_broker, kind="stable")[:10]
    assert [row[0] for row in lists[:10]] == [names[broker] for broker in order]
    assert lists[0][2] == str(int((plan.cost.broker_of == order[0]).sum()))
    worst = int(np.argmax(plan.cost.of_channel))
    assert lists[10][:2] == [f"{worst}", amount(plan.cost.of_channel[worst])]
    assert lists[10][2] == str(int((plan.cost.audience[worst] > 0).sum()))
    u, v = np.unravel_index(np.argmax(plan.cost.of_link), plan.cost.of_link.shape)
    costs = [amount(float(plan.cost.of_link[u, v])), amount(float(link_traffic(plan.cost)[u, v]))]
    assert lists[16] == [f"{names[u]} – {names[v]}", *costs]
    assert len(lists) == 10 + 6 + 10


def test_a_page_without_places_or_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without places, the page says how the map was made; names are escaped; unknown figures are left out."""
    monkeypatch.setattr(content, "content_map", lambda plan, path: path.write_bytes(b"map"))
    workload = Workload.build(
        ["ann", "bob"], ["<x>", "y"], ["news"],
        rates=([0], [0], [1.0]), subscriptions=([1], [0]),
        access=[[1.0, 1.0]] * 2, core=[[0.0, 1.0], [1.0, 0.0]],
    )  # fmt: skip
    write_content_page(replace(assign(workload, "packing"), random_cost=None), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert content.UNPLACED in page
    assert "<td>&lt;x&gt;</td>" in page
    assert "cost reduction ratio" not in page
    assert "above the optimum" not in page


def test_a_migration_shows_crashes_and_admissions(tmp_path: Path) -> None:
    """The chart marks crashes once, and users that were admitted after them."""
    workload = synthetic(40, 5, 10, seed=2)
    start = assign(workload, "random").cost.broker_of
    texts = []
    for crashes in ((), (Crash(3, "home"),)):
        run = migrate(workload, start, Terms(publications=50, seconds=0.5, crashes=crashes))
        drawn = tmp_path / "m.svg"
        migration_chart(run, drawn, title="Run")
        texts.append(drawn.read_text(encoding="utf-8"))
    for name in ("cost", "sent, all types", "publications delivered", "Run"):
        assert all(f"<!-- {name} -->" in text for text in texts)
    for name in ("a broker dies", "admitted after a crash"):
        assert [text.count(f"<!-- {name} -->") for text in texts] == [0, 1]
