"""What people meet in Python: public names at hand, anything as an interest, results that show themselves."""

from __future__ import annotations

import inspect
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, assert_type

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshwright as mw
from meshwright.designs.best import best
from meshwright.designs.front import front
from meshwright.errors import InputError, MeshwrightError
from meshwright.verify.claims import PlanReport

HELD = {"a": {"x", "y"}, "b": {"x"}, "c": {"y"}}
HOSTILE = "<script>alert(1)</script>"


def test_every_public_name_is_there_and_documented() -> None:
    """`dir` lists what `__all__` lists; each name is in the package's help, with an example."""
    assert dir(mw) == sorted(mw.__all__)
    for name in mw.__all__:
        thing = getattr(mw, name)
        if name == "__version__":
            continue
        assert name in (mw.__doc__ or ""), name
        # Examples in docstrings are run as doctests.
        assert ">>> " in (inspect.getdoc(thing) or ""), f"{name} has no example"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mw.nothing  # noqa: B018


def test_version() -> None:
    """The version is the installed package's."""
    assert mw.__version__.count(".") == 2


@pytest.mark.parametrize(
    "source",
    [
        HELD,
        pa.table({"node": ["a", "a", "b", "c"], "topic": ["x", "y", "x", "y"]}),
        mw.Interest.from_dict(HELD),
    ],
)
def test_functions_take_what_can_become_an_interest(source: Any) -> None:
    """Mappings, tables and interests give the same plans, comparisons and advice."""
    assert mw.design(source, "gm").overlay.edges == [("a", "b"), ("a", "c")]
    assert [len(plan.overlay) for plan in mw.compare(source, ["gm", "ring"])] == [2, 2]
    assert mw.grow(source, mw.rules.gm).edges == [("a", "b"), ("a", "c")]
    assert mw.profile(source).subscriptions == 4
    taken = mw.advise(source, steps=0).plan
    assert taken is not None
    assert len(taken.overlay) == 2


def test_data_frames() -> None:
    """Pandas and polars frames are read by column name."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"broker": ["a", "b"], "filter": ["x", "x"]}
    for made in (
        mw.Interest.from_pandas(pandas.DataFrame(columns), node="broker", topic="filter"),
        mw.Interest.from_polars(polars.DataFrame(columns), node="broker", topic="filter"),
    ):
        assert made.fingerprint == mw.Interest.of({"a": {"x"}, "b": {"x"}}).fingerprint


@settings(max_examples=30)
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=15))
def test_graphs(pairs: set[tuple[int, int]]) -> None:
    """A directed graph is who follows whom, an undirected one goes both ways, others have two sides."""
    directed = nx.DiGraph(sorted(pairs))
    found = mw.Interest.from_networkx(directed)
    assert {(str(u), str(t)) for u in directed for t in found.topics_of(u)} == {
        (str(u), str(v)) for u, v in pairs
    }
    both = mw.Interest.from_networkx(nx.Graph(sorted(pairs)))
    assert both.num_subscriptions == len({pair for u, v in pairs for pair in ((u, v), (v, u))})
    sides = nx.Graph()
    sides.add_nodes_from((f"n{u}" for u, _ in pairs), bipartite=0)
    sides.add_nodes_from((f"t{v}" for _, v in pairs), bipartite=1)
    sides.add_edges_from((f"n{u}", f"t{v}") for u, v in sorted(pairs))
    held: dict[str, set[str]] = {}
    for u, v in pairs:
        held.setdefault(f"n{u}", set()).add(f"t{v}")
    assert mw.Interest.of(sides).fingerprint == mw.Interest.of(held).fingerprint


def test_loading_and_saving(tmp_path: Path) -> None:
    """Datasets, plans with their proofs, and trees come back as they were."""
    interest = mw.workloads.zipf(30, 10, size=4, seed=1)
    again = mw.load(mw.save(interest, tmp_path / "dataset"))
    assert again.fingerprint == interest.fingerprint
    plan = mw.certify(mw.design(interest, "low", k=2))
    stored = mw.load(plan.save(tmp_path / "plan"), again)
    assert stored.overlay.edges == plan.overlay.edges
    assert (stored.algorithm, stored.parameters, stored.figures) == ("low", {"k": 2}, plan.figures)
    assert stored.prices is not None
    assert plan.prices is not None
    assert np.array_equal(stored.prices.scaled, plan.prices.scaled)
    trees = mw.route(plan)
    mw.save(trees, tmp_path / "plan")
    assert mw.read_trees(tmp_path / "plan").trees.num_rows == trees.to_arrow().num_rows
    checked: Any = mw.verify
    assert checked(plan).passed
    assert checked(tmp_path / "plan", tmp_path / "dataset").passed


@pytest.mark.parametrize("algorithm", ["gm", "exact"])
def test_a_plan_is_saved_as_it_was_loaded(algorithm: str, tmp_path: Path) -> None:
    """Every field and table of a plan survives loading and saving; that takes the costs it was made with."""
    interest = mw.Interest.of(HELD)
    costs = mw.LinkCosts.from_coordinates(interest, ["a", "b", "c"], [0, 3, 0], [0, 4, 2])
    given = costs if algorithm == "gm" else None
    plan = mw.design(interest, algorithm, certify=True, seed=3, costs=given)
    plan.save(tmp_path / "plan")
    mw.load(tmp_path / "plan", interest, costs=given).save(tmp_path / "again")
    for file in (tmp_path / "plan").iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes(), file.name
    assert mw.verify(tmp_path / "again", interest).passed
    assert plan.figures.keys() >= ({"total_cost"} if algorithm == "gm" else {"solver_bound"})


def test_costs_are_not_lost(tmp_path: Path) -> None:
    """A plan made with costs and loaded without them is not saved; other costs are refused."""
    interest = mw.Interest.of(HELD)
    places = [0, 3, 0], [0, 4, 2]
    costs = mw.LinkCosts.from_coordinates(interest, ["a", "b", "c"], *places)
    mw.design(interest, "gm", costs=costs).save(tmp_path / "plan")
    loaded = mw.load(tmp_path / "plan", interest)
    with pytest.raises(InputError, match="was loaded without them: load it with costs="):
        loaded.save(tmp_path / "again")
    assert not (tmp_path / "again").exists()
    other = mw.LinkCosts.from_coordinates(interest, ["a", "b", "c"], *reversed(places))
    with pytest.raises(InputError, match="made with other link costs"):
        mw.load(tmp_path / "plan", interest, costs=other)


def test_a_false_plan_is_refused() -> None:
    """Verification of a plan in memory finds what is not true."""
    plan = mw.design(HELD, "gm")
    plan.figures["edges"] = 1
    checked: Any = mw.verify
    report = checked(plan)
    assert not report.passed
    assert any("edges" in line for line in report.disagreements)


def test_results_show_themselves() -> None:
    """Each result has a short text, and HTML in which names are escaped."""
    interest = mw.Interest.of({HOSTILE: {"x"}, "b": {"x"}})
    plan = mw.certify(mw.design(interest, "gm"))
    live = mw.LiveOverlay(plan)
    repair = live.join(HOSTILE * 2, ["x"])
    shown: list[Any] = [
        *(interest, plan, plan.overlay, mw.compare(interest, ["gm"]), mw.advise(interest, steps=0)),
        *(mw.profile(interest), mw.route(plan), mw.verify(plan), live, repair),
        mw.churn.replay(mw.LiveOverlay(plan), mw.churn.random_churn(interest, 2)),
        mw.content.assign(mw.content.synthetic(users=6, brokers=2, channels=3, seed=1), "random"),
    ]
    for result in shown:
        assert "\n" not in repr(result)
        assert len(repr(result)) < 160
        assert result._repr_html_().startswith("<table>")
        assert HOSTILE not in result._repr_html_()
    assert plan.edges_table().num_rows == plan.to_networkx().number_of_edges() == len(plan.to_pandas()) == 1
    assert mw.compare(interest, ["gm"]).table().column("edges").to_pylist() == [1]
    assert mw.advise(interest, steps=0).table().column("chosen").to_pylist().count(True) == 1


def test_charts_are_figures() -> None:
    """Plans, comparisons and advice draw themselves, and return the figure."""
    from matplotlib.figure import Figure

    interest = mw.workloads.zipf(20, 8, size=3, seed=1)
    drawn = (
        mw.design(interest).plot(),
        mw.compare(interest, ["gm"]).plot(),
        mw.advise(interest, steps=0).plot(),
    )
    assert all(isinstance(figure, Figure) for figure in drawn)


def test_a_room_can_be_called(tmp_path: Path) -> None:
    """`mw.verify` is the room and a function at once."""
    assert isinstance(mw.verify, ModuleType)
    assert callable(mw.verify)
    # Type checkers see the function's signature too: mypy reads this line.
    assert_type(mw.verify(mw.design(HELD)), PlanReport)
    assert_type(mw.report(mw.design(HELD), tmp_path / "page.html"), Path)


@pytest.mark.parametrize(
    "before", ["", "import meshwright.verify.claims", "import meshwright.verify.claims, meshwright.report"]
)
def test_a_room_can_be_called_whatever_was_imported(before: str) -> None:
    """Python makes an imported room a name of the package, in place of a function of the same name."""
    code = (
        f"{before}\nimport meshwright as mw\n"
        "plan = mw.design({'a': {'x'}, 'b': {'x'}})\n"
        "assert mw.verify(plan).passed\n"
        "import meshwright.verify.overlay_check\n"
        "assert mw.verify(plan).passed and callable(mw.verify.verify_overlay) and callable(mw.report)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("mistake", "next_step"),
    [
        (lambda: mw.design(7), "give an Interest"),
        (lambda: mw.design("subs.csv"), r"give mw\.load"),
        (lambda: mw.design({"a": "x"}), "give a set or list"),
        (lambda: mw.compare(HELD, ["gn"]), "gm"),
        (lambda: mw.compare(HELD, ["gm"], speed=1), "takes no parameter 'speed'"),
        (lambda: mw.certify(HELD), r"give what mw\.design returns"),  # type: ignore[arg-type]
        (lambda: mw.route(HELD), "give an overlay or a plan"),
        (lambda: mw.save(HELD, "x"), "give an Interest, a Plan or Trees"),  # type: ignore[arg-type]
        (lambda: mw.load("nowhere.csv"), "nothing is there"),
        (lambda: mw.Interest.from_networkx(7), "give a Graph or a DiGraph"),
        (lambda: mw.verify("plan"), r"mw\.verify\(path, interest\)"),
        (lambda: mw.profile(7), "give an Interest"),
        (lambda: mw.LiveOverlay(HELD), "give an overlay or a plan"),
        (lambda: mw.measure.degrees(HELD), "give an overlay or a plan"),
        (lambda: mw.write_dataset(7, "x"), "give an Interest"),
    ],
)
def test_mistakes_name_the_next_step(mistake: Any, next_step: str) -> None:
    """A wrong argument gives one line that says what to give instead."""
    with pytest.raises(MeshwrightError, match=next_step) as caught:
        mistake()
    assert "\n" not in str(caught.value)


loose: Any = mw
"""The package without its types, which these calls do not fit."""


BUILT = mw.Interest.of(HELD)


@cache
def plan() -> mw.Plan:
    return mw.design(HELD)


@pytest.mark.parametrize(
    ("mistake", "next_step"),
    [
        (lambda: loose.design({"a": None}), "topics of node 'a' are None; give a set or list"),
        (lambda: loose.design(HELD, ["gm"]), "the algorithm is list: give one name, such as 'gm'"),
        (lambda: loose.design(HELD, threads="2"), "threads is '2': give a whole number"),
        (lambda: loose.design(HELD, "ring", threads=1.5), "threads is 1.5: give a whole number"),
        (lambda: loose.design(HELD, threads=0), "0 threads: give at least 1"),
        (lambda: loose.design(HELD, prices=5), r"give what mw\.bounds\.prices returns"),
        (lambda: loose.design(HELD, lowest=5), r"give what mw\.bounds\.lowest_degree returns"),
        (lambda: loose.design(HELD, "gpa", ratio=0.5, reference=5), "give an overlay or a plan"),
        (lambda: best(BUILT, steps=0, prices=loose), r"what mw\.bounds\.prices returns"),
        (
            lambda: front(BUILT, steps=0, prices=loose),
            r"give what mw\.bounds\.prices returns",
        ),
        (lambda: loose.bounds.prices(BUILT, start=5), r"give what mw\.bounds\.prices returns"),
        (
            lambda: loose.bounds.prices(BUILT, threads="2"),
            "threads is '2': give a whole number",
        ),
        (lambda: loose.advise(HELD, {"max_degree": 3}), r"give mw\.Wishes"),
        (lambda: loose.advise(HELD, {}), r"give mw\.Wishes"),
        (lambda: loose.Wishes(max_degree=1.5), "max_degree is 1.5: give a whole number"),
        (lambda: loose.Wishes(diameter="2"), "diameter is '2': give a whole number"),
        (lambda: loose.Wishes(resilient="no"), "resilient is 'no': give True or False"),
        (lambda: loose.compare(HELD, []), "algorithms names nothing: name at least one"),
        (lambda: loose.compare(HELD, 5), "algorithms are 5: give a list of names"),
        (lambda: loose.route(plan(), publishers=[(99, 0)]), "no nodes 99: give ids from 0 to"),
        (lambda: loose.route(plan(), publishers=[(-1, 0)]), "no nodes -1: give ids from 0 to"),
        (lambda: loose.route(plan(), publishers=[(0, 99)]), "no topics 99: give ids from 0 to"),
        (lambda: loose.route(plan(), publishers=[("a", "x")]), "publishers 'a', 'x' are not integers"),
        (lambda: loose.route(plan(), publishers=[0, 1]), "publishers have the shape"),
        (lambda: loose.route(plan(), "stable", today=[(0, 0, 99)]), "no nodes 99: give ids from 0 to"),
        (lambda: loose.route(plan(), "stable", today=[(-1, 0, 1)]), "no topics -1: give ids from 0 to"),
        (lambda: loose.route(plan(), rates=["much"]), "rates are not numbers: give one for each topic"),
        (lambda: loose.routes.hops(plan()), r"Plan is not trees: give what mw\.route returns"),
        (lambda: loose.routes.loads(plan()), r"give what mw\.route returns"),
        (lambda: loose.routes.stretch(plan()), r"give what mw\.route returns"),
        (lambda: loose.routes.figures(plan()), r"give what mw\.route returns"),
        (lambda: loose.Interest.from_pairs(None, ["x"]), "nodes are of type NoneType: give a list of names"),
        (
            lambda: loose.Interest.from_dict([("a", "x")]),
            "list is not a mapping: give one of nodes to topics",
        ),
        (lambda: loose.Interest.from_scipy(5), "int is not a sparse matrix: give one of scipy"),
        (lambda: BUILT.restrict(np.array([2])), "no topics 2: give ids from 0 to 1"),
        (lambda: BUILT.restrict(np.array([-1])), "no topics -1: give ids from 0 to 1"),
        (lambda: loose.design(HELD, "best", seconds="x", certify=True), "seconds is 'x': give a number of 0"),
        (lambda: loose.advise(HELD, seconds="x"), "x seconds: give a finite number, zero or more"),
        (lambda: loose.bounds.prices(5), "cannot make an interest from int"),
        (lambda: loose.bounds.prices(HELD, seconds="x"), "x seconds: give zero or more, or leave it out"),
        (lambda: loose.bounds.links_at_degree(5, 3), r"give what mw\.bounds\.prices returns"),
        (lambda: loose.bounds.lowest_degree(5), r"give what mw\.bounds\.prices returns"),
        (lambda: loose.bounds.links_at_degree(mw.bounds.prices(BUILT), 1.5), "a degree of 1.5: give a whole"),
        (lambda: loose.Overlay.empty(BUILT).prefix("x"), "a prefix of 'x' edges: give a whole number"),
        (lambda: loose.plot(plan().overlay), r"Overlay is not a plan: give what mw\.design returns"),
    ],
)
def test_arguments_of_the_wrong_kind(mistake: Any, next_step: str) -> None:
    """An argument of another kind, or an id that does not exist, gives one line, not an error of Python."""
    with pytest.raises(InputError, match=next_step) as caught:
        mistake()
    assert "\n" not in str(caught.value)


def test_a_plan_needs_its_interest(tmp_path: Path) -> None:
    """A plan's folder alone does not say who subscribes to what."""
    mw.design(HELD).save(tmp_path / "plan")
    with pytest.raises(InputError, match="is a plan: give what it was made for"):
        mw.load(tmp_path / "plan")


def test_graphs_with_unclear_sides() -> None:
    """A bipartite graph says of each node on which side it is, and has no edge inside a side."""
    graph = nx.Graph([("a", "x")])
    graph.nodes["a"]["bipartite"] = 0
    with pytest.raises(InputError, match=r"'x'.*set it on all"):
        mw.Interest.from_networkx(graph)
    graph.nodes["x"]["bipartite"] = 0
    with pytest.raises(InputError, match="join nodes to topics"):
        mw.Interest.from_networkx(graph)
