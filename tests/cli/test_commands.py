"""The commands that make and compare: figures that agree with the library, JSON that is one document."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import meshwright as mw
from meshwright import workloads
from meshwright.actions import demo
from meshwright.actions.ingest import Ingested
from meshwright.designs.registry import DESIGNS
from meshwright.pipeline.dataset.ingest import Outcome
from meshwright.store import plan_check
from terminal import Answer, meshwright, process

SMALL = ["--nodes", "30", "--topics", "8"]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Write a small synthetic dataset."""
    assert meshwright("workload", "zipf", *SMALL, "--size", "3", "--out", tmp_path / "dataset").code == 0
    return tmp_path / "dataset"


@pytest.mark.parametrize("popularity", ["zipf", "expo", "unif"])
def test_workload_writes_what_the_library_makes(tmp_path: Path, popularity: str) -> None:
    """`workload` writes the interest that the library's function gives for the same parameters."""
    sizes = ["--min-size", "2", "--max-size", "6", "--seed", "5"]
    answer = meshwright("workload", popularity, *SMALL, *sizes, "--out", tmp_path / "dataset", "--json")
    expected = workloads.WORKLOADS[popularity](30, 8, min_size=2, max_size=6, seed=5)
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["subscriptions"] == expected.num_subscriptions
    assert mw.load_interest(tmp_path / "dataset").fingerprint == expected.fingerprint


def test_workload_takes_alpha(tmp_path: Path) -> None:
    """`--alpha` reaches the Zipf workload, and is refused for the others."""
    for alpha in ("0.5", "2"):
        words = ["workload", "zipf", *SMALL, "--size", "3", "--alpha", alpha]
        assert meshwright(*words, "--out", tmp_path / alpha).code == 0
    assert mw.load_interest(tmp_path / "0.5").fingerprint != mw.load_interest(tmp_path / "2").fingerprint
    words = ["workload", "unif", *SMALL, "--alpha", "1"]
    assert "--alpha" in meshwright(*words, "--out", tmp_path / "unif").complaint


def test_workload_takes_independent_and_exponent(tmp_path: Path) -> None:
    """`--independent` and `--exponent` reach the library, and are recorded with the dataset."""
    words = ["workload", "expo", *SMALL, "--min-size", "2", "--max-size", "6", "--exponent", "3"]
    answer = meshwright(*words, "--independent", "--seed", "5", "--out", tmp_path / "dataset", "--json")
    expected = workloads.expo(30, 8, min_size=2, max_size=6, exponent=3.0, independent=True, seed=5)
    assert answer.json["subscriptions"] == expected.num_subscriptions
    assert mw.load_interest(tmp_path / "dataset").fingerprint == expected.fingerprint
    made_by = json.loads((tmp_path / "dataset" / "manifest.json").read_text())["made_by"]
    assert (made_by["independent"], made_by["exponent"]) == (True, 3.0)


SETS = [{"1", "2"}, {"2", "3"}, {"3"}]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cuboid --k 3 --m 4", workloads.cuboid(3, 4)),
        ("lemma1 --nodes 6", workloads.lemma1(6)),
        ("set-cover --sets 1,2;2,3;3", workloads.cover_copies(SETS, 9)),
        ("set-cover --sets 1,2;2,3;3 --m 2", workloads.cover_copies(SETS, 2)),
        ("set-cover-soc --sets 1,2;2,3;3", workloads.single_node_cover(SETS)),
        (
            "single-node --sets 1,2;2,3;3",
            workloads.single_node_copies(workloads.single_node_cover(SETS), "hub"),
        ),
    ],
)
def test_workload_hard(tmp_path: Path, words: str, expected: mw.Interest) -> None:
    """`workload hard` writes the constructions of the papers."""
    answer = meshwright("workload", "hard", "--case", *words.split(), "--out", tmp_path / "d", "--json")
    assert (answer.code, answer.json["nodes"]) == (0, expected.num_nodes)
    assert mw.load_interest(tmp_path / "d").fingerprint == expected.fingerprint


def test_workload_social_has_a_topic_for_each_broker(tmp_path: Path) -> None:
    """`workload social` needs no --topics, and passes all its options on."""
    words = [
        "--nodes",
        "30",
        "--size",
        "4",
        "--alpha",
        "2",
        "--locality",
        "0.2",
        "--both-ways",
        "--seed",
        "5",
    ]
    answer = meshwright("workload", "social", *words, "--out", tmp_path / "dataset", "--json")
    expected = workloads.social(30, size=4, alpha=2.0, locality=0.2, both_ways=True, seed=5)
    assert (answer.code, answer.json["topics"]) == (0, 30)
    assert mw.load_interest(tmp_path / "dataset").fingerprint == expected.fingerprint


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["social", *SMALL], "leave it out"),
        (["zipf", "--nodes", "30"], "--topics N"),
        (["unif", *SMALL, "--both-ways"], "apply to social only"),
        (["expo", *SMALL, "--locality", "0.5"], "apply to social only"),
        (["normal", *SMALL], "zipf, expo, unif, social"),
        (["zipf", *SMALL, "--size", "3", "--min-size", "2"], "min_size"),
        (["zipf", *SMALL, "--min-size", "2"], "max_size"),
        (["zipf", *SMALL, "--size", "9"], "8 topics"),
        (["zipf", "--nodes", "0", "--topics", "8", "--size", "3"], "at least 1"),
        (["zipf", *SMALL, "--size", "3", "--seed", "-1"], "seed"),
        (["social", "--nodes", "30", "--independent"], "zipf, expo and unif only"),
        (["zipf", *SMALL, "--exponent", "2"], "add --min-size"),
        (["zipf", "--topics", "8"], "--nodes N"),
        (["zipf", *SMALL, "--case", "cuboid"], "applies to hard only"),
        (["hard"], "give --case"),
        (["hard", "--case", "cube"], "no case 'cube'"),
        (["hard", "--case", "cuboid", "--k", "3"], "cuboid needs --m"),
        (["hard", "--case", "lemma1", "--nodes", "6", "--min-size", "2"], "takes no --min-size"),
        (["hard", "--case", "set-cover", "--sets", ";"], "hold no element"),
    ],
)
def test_workload_refuses(tmp_path: Path, words: list[str], expected: str) -> None:
    """An unknown workload, contradictory or impossible sizes, no nodes, a negative seed."""
    assert expected in meshwright("workload", *words, "--out", tmp_path / "dataset").complaint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("gm", {"rounds": 2}),
        ("low", {"k": 2}),
        ("gpa", {"max_edges": 9}),
        ("ring", {}),
        ("cdmax", {"k": 4}),
        ("spidercast", {"coverage_greedy": 2, "coverage_random": 0}),
    ],
)
def test_plan_states_what_the_library_finds(dataset: Path, name: str, given: dict[str, Any]) -> None:
    """`plan --json` prints the plan's figures, which are also those that it writes."""
    out = dataset.parent / "plan"
    words = [f"--{parameter.replace('_', '-')}={value}" for parameter, value in given.items()]
    answer = meshwright("plan", dataset, "--algorithm", name, *words, "--out", out, "--json")
    expected = mw.design(mw.load_interest(dataset), name, **given)
    for figure, value in expected.figures.items():
        assert figure == "seconds" or answer.json[figure] == value
    stored = mw.read_plan(out)
    assert stored.metadata["parameters"] == given == answer.json["parameters"]
    assert stored.edges["u"].to_pylist() == [u for u, _ in expected.overlay.edges]


def test_plan_prints_words(dataset: Path) -> None:
    """Without --json, `plan` prints links, degrees, support and the folder of the plan."""
    answer = meshwright("plan", dataset, "--out", dataset.parent / "plan")
    assert (answer.code, answer.err) == (0, "")
    for word in ("links", "degree", "support", str(dataset.parent / "plan")):
        assert word in answer.out


def test_a_plan_replaces_a_plan(dataset: Path) -> None:
    """Planning again into the same folder leaves the new plan there, and nothing beside it."""
    out = dataset.parent / "plan"
    for algorithm, force in (("gm", []), ("ring", ["--force"])):
        assert meshwright("plan", dataset, "--algorithm", algorithm, "--out", out, *force).code == 0
    assert mw.read_plan(out).metadata["algorithm"] == "ring"
    assert sorted(path.name for path in dataset.parent.iterdir()) == ["dataset", "plan"]


def test_a_broker_without_topics_gets_no_link(tmp_path: Path) -> None:
    """A broker that subscribes to nothing stays in the plan's count and has no links."""
    interest = mw.Interest.from_dict({"a": {"x"}, "b": {"x"}, "idle": set()})
    mw.write_dataset(interest, tmp_path / "dataset")
    answer = meshwright("plan", tmp_path / "dataset", "--out", tmp_path / "plan", "--json")
    assert (answer.json["nodes"], answer.json["edges"], answer.json["support"]) == (3, 1, 1.0)


def test_repeated_subscriptions_are_noted(tmp_path: Path) -> None:
    """Repeated rows are dropped and counted on stderr; stdout is the answer alone."""
    source = tmp_path / "subscriptions.csv"
    source.write_text("node,topic\na,x\na,x\nb,x\n", encoding="utf-8")
    answer = meshwright("compare", source, "--algorithms", "gm", "--json")
    assert answer.json["plans"][0]["edges"] == 1
    assert "dropped 1 repeated" in answer.err


def test_compare_shows_each_design(dataset: Path) -> None:
    """`compare` gives each parameter to the designs that take it, and shows one row for each design."""
    words = ["--algorithms", "gm, gpa,low,gpm", "--k", "2", "--max-degree", "3", "--max-edges", "20"]
    answer = meshwright("compare", dataset, *words, "--json")
    given = {"max_edges": 20, "max_degree": 3}
    assert [plan["parameters"] for plan in answer.json["plans"]] == [
        given, {"max_edges": 20}, {"k": 2, **given}, {"max_degree": 3},
    ]  # fmt: skip
    table = meshwright("compare", dataset).out
    for name in ("gm", "low", "minmax", "ring"):
        assert DESIGNS[name].title in table


@pytest.mark.parametrize("taker", ["low", "cdmax", "resilient"])
def test_k_goes_to_the_design_that_uses_it(dataset: Path, taker: str) -> None:
    """Best uses k for one objective only; for the others only the other design's plan has k."""
    words = ["--algorithms", f"best,{taker}", "--k", "2", "--steps", "1", "--json"]
    plans = meshwright("compare", dataset, *words).json["plans"]
    assert [plan["parameters"] for plan in plans] == [{"steps": 1}, {"k": 2.0}]
    balanced = meshwright("compare", dataset, *words, "--objective", "balanced").json["plans"]
    assert balanced[0]["parameters"] == {"k": 2.0, "objective": "balanced", "steps": 1}


def test_compare_draws(dataset: Path) -> None:
    """`--chart` writes a picture and names it."""
    chart = dataset.parent / "chart.png"
    answer = meshwright("compare", dataset, "--chart", chart)
    assert answer.code == 0
    assert f"chart: {chart}" in answer.out
    assert chart.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--algorithms", "gm,finest"], "gm, minmax, low, gpa, gpm, ring"),
        (["--algorithms", " , "], "names nothing"),
        (["--algorithms", "gm,gm"], "twice"),
        (["--algorithms", "gm,ring", "--k", "2"], "--k"),
        (["--algorithms", "gpa"], "--max-edges"),
        (["--chart", "chart.gif"], ".png or .svg or .pdf"),
        (["--chart", "nowhere/chart.png"], "nowhere"),
    ],
)
def test_compare_refuses(dataset: Path, words: list[str], expected: str) -> None:
    """Unknown, no or doubled algorithms, a parameter that no design takes, a missing budget, a bad chart."""
    assert expected in meshwright("compare", dataset, *words).complaint


@pytest.fixture(scope="module")
def demonstrated(spark: object, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    """Run a small demo once, for all tests that read what it leaves."""
    out = tmp_path_factory.mktemp("some") / "new" / "demo"
    return out, meshwright("demo", *SMALL, "--out", out)


def test_demo_goes_all_the_way(demonstrated: tuple[Path, Answer]) -> None:
    """`demo` prints a line for each step and leaves logs, dataset, plan, trees, configuration and page."""
    out, answer = demonstrated
    assert (answer.code, answer.err) == (0, "")
    steps = [line.split("  ")[0] for line in answer.out.splitlines() if line]
    assert steps[:-1] == [
        "dirty logs", "Spark", "dataset", "advice", "plan", "verified", "trees", "configuration",
        "real brokers", "report",
    ]  # fmt: skip
    assert steps[-1] == f"Open {out / 'report.html'}"
    made = {path.name for path in out.iterdir()}
    assert {"raw", "dataset", "plan", "federation", "designs.png", "report.html"} <= made
    assert meshwright("verify", out / "plan", out / "dataset").code == 0
    real = next(line for line in answer.out.splitlines() if line.startswith("real brokers"))
    assert "0 missing, 0 duplicate, 0 leaked" in real or "skipped" in real


@pytest.mark.slow
def test_demo_in_json(demonstrated: tuple[Path, Answer], tmp_path: Path) -> None:
    """`demo --json` prints one document; a second run gives the same plan, trees and configuration."""
    answer = meshwright("demo", *SMALL, "--out", tmp_path, "--json").json
    first = demonstrated[0]
    assert (
        mw.load_interest(first / "dataset").fingerprint == mw.load_interest(tmp_path / "dataset").fingerprint
    )
    stored = mw.read_plan(first / "plan")
    assert answer["plan"]["verified"] is True
    assert answer["real_brokers"]["passed"] is not False
    assert all(answer["plan"][name] == value for name, value in stored.figures.items() if name != "seconds")
    assert mw.read_plan(tmp_path / "plan").edges.equals(stored.edges)
    assert mw.read_trees(tmp_path / "plan").trees.equals(mw.read_trees(first / "plan").trees)
    assert answer["configuration"]["brokers"] == len(list((first / "federation").glob("*/mosquitto.conf")))


def test_demo_says_no_when_the_plan_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that does not verify makes the demo end with code 1, and its line says why."""
    real = plan_check.verify_stored_plan

    def failed(*given: Any, **named: Any) -> Any:
        return replace(real(*given, **named), disagreements=("nothing is right",))

    def write_without_spark(nodes: int, topics: int, seed: int, out: Path, _: Any) -> Any:
        mw.write_dataset(workloads.zipf(nodes, topics, size=3, seed=seed), out / "dataset")
        rows = Outcome(90, 90, 0, 0, 0, nodes, topics, "csv", None)
        return Ingested(rows, str(out / "dataset"), on_spark=False), ()

    monkeypatch.setattr(demo, "ingest_raw_logs", write_without_spark)
    monkeypatch.setattr(demo, "run_brokers", lambda *_: ("skipped", {"passed": None}))
    monkeypatch.setattr("meshwright.store.plan_check.verify_stored_plan", failed)
    answer = meshwright("demo", *SMALL, "--out", tmp_path)
    assert answer.code == 1
    assert "verified       NO: nothing is right" in answer.out


@pytest.mark.usefixtures("spark")
def test_a_demo_with_nothing_to_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One broker, and no Mosquitto, make a demo without links and without processes: neither is an error."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("meshwright.brokers.mosquitto.SYSTEM_FOLDERS", str(tmp_path))
    answer = meshwright("demo", "--nodes", "1", "--topics", "8", "--out", tmp_path)
    assert answer.code == 0
    assert "nothing to link" in answer.out
    assert "real brokers   skipped: mosquitto is not installed: apt install mosquitto" in answer.out


def test_bench_needs_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the package is installed, `bench` says in one line where the benchmarks are."""
    monkeypatch.setattr("meshwright.actions.bench.CHECKOUT", tmp_path)
    assert "make bench" in meshwright("bench").complaint


def test_a_process_prints_json_alone(dataset: Path) -> None:
    """In a process of its own, stdout is exactly one JSON document, in UTF-8."""
    answer = process("compare", dataset, "--algorithms", "ring", "--json")
    assert answer.code == 0
    assert answer.out == json.dumps(answer.json, indent=2, ensure_ascii=False) + "\n"


def test_infinity_is_text_in_json(dataset: Path) -> None:
    """Low-ODA with an infinite k is MinMax-ODA; JSON has no infinity and states it as text."""
    answer = meshwright(
        "plan", dataset, "--algorithm", "low", "--k", "inf", "--out", dataset.parent / "plan", "--json"
    )
    assert answer.json["parameters"] == {"k": "inf"}


def test_a_terminal_without_unicode_gets_its_answer(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an ASCII terminal, tables and JSON are still printed, and the JSON means the same."""
    source = dataset.parent / "☂.csv"
    source.write_text("node,topic\na,x\nb,x\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert process("compare", source, "--algorithms", "ring").code == 0
    answer = process("compare", source, "--algorithms", "ring", "--json")
    assert answer.out.isascii()
    assert answer.json["source"] == str(source)


def test_demo_into_a_file(tmp_path: Path) -> None:
    """A demo whose target is a file is refused, and the file stays."""
    (tmp_path / "demo").write_text("mine", encoding="utf-8")
    assert str(tmp_path / "demo") in meshwright("demo", *SMALL, "--out", tmp_path / "demo").complaint
    assert (tmp_path / "demo").read_text(encoding="utf-8") == "mine"
