"""The content commands make workloads, assignments, comparisons and optima with the library's figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from meshwright.content import ALGORITHMS, assign
from meshwright.content.cost import cost
from meshwright.store.content.content_plans import read_content_plan
from meshwright.store.content.workloads import read_workload
from meshwright.store.traffic import CHANNELS, RATES, Traffic
from terminal import meshwright
from written_inputs import write_traffic

FIGURES = {"algorithm", "cost", "access_cost", "core_cost", "crr", "max_load", "seconds"}


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a small workload with the command."""
    folder = tmp_path_factory.mktemp("content") / "workload"
    words = "--users 120 --brokers 4 --channels 6 --model plane --length 0.3 --seed 3"
    answer = meshwright("content", "workload", *words.split(), "--out", folder, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert (answer.json["users"], answer.json["brokers"], answer.json["channels"]) == (120, 4, 6)
    assert answer.json["volume_ratio"] > 1
    return folder


def test_assign_writes_a_plan(workload: Path, tmp_path: Path) -> None:
    """Figures and folder are those of the library's plan, and the page shows a map."""
    answer = meshwright("content", "assign", workload, "--out", tmp_path / "plan", "--json")
    assert answer.code == 0
    assert answer.json.keys() >= FIGURES
    known = read_workload(workload)
    stored = read_content_plan(tmp_path / "plan")
    assert cost(known, stored.broker_of(known)).total == pytest.approx(answer.json["cost"])
    assert assign(known).cost.total == pytest.approx(answer.json["cost"])
    page = (tmp_path / "plan" / "report.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert "Descent: 120 users on 4 brokers" in page
    again = meshwright("content", "assign", workload, "--out", tmp_path / "again")
    assert f"written to {tmp_path / 'again'}" in again.out
    for name in ("assignment.parquet", "trees.parquet", "cost_of_links.parquet"):
        assert (tmp_path / "plan" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_compare_shows_all_algorithms(workload: Path, tmp_path: Path) -> None:
    """Every algorithm has a row, random's CRR is 1, descent's is the highest, and a chart is drawn."""
    answer = meshwright("content", "compare", workload, "--chart", tmp_path / "c.svg", "--json")
    ratios = {plan["algorithm"]: plan["crr"] for plan in answer.json["plans"]}
    assert set(ratios) == set(ALGORITHMS) - {"exact"}
    assert ratios["random"] == 1.0
    assert ratios["descent"] == max(ratios.values())
    assert (tmp_path / "c.svg").stat().st_size > 1000
    table = meshwright("content", "compare", workload, "--algorithms", "packing,steiner", "--argmax").out
    assert "Greedy packing" in table
    assert "Steiner mixing, ours (heaviest)" in table


def test_clustering_by_the_sum(workload: Path) -> None:
    """--sum is the paper's clustering, is recorded with the plan, and fits no other algorithm."""
    words: list[str | Path] = ["content", "assign", workload, "--algorithm", "clustering", "--sum"]
    assert "Clustering by sum, Alg. 2" in meshwright(*words).out
    answer = meshwright(*words, "--json").json
    assert answer["parameters"] == {"sum": True}
    given = read_workload(workload)
    assert answer["cost"] == assign(given, "clustering", sum=True).cost.total
    wrong = meshwright("content", "assign", workload, "--algorithm", "steiner", "--sum")
    assert "steiner does not take sum" in wrong.complaint
    wrong = meshwright("content", "compare", workload, "--algorithms", "packing", "--sum")
    assert "none of packing takes sum" in wrong.complaint


def test_exact_reports_a_proof(tmp_path: Path) -> None:
    """A small workload has a proven optimum; without time the exit code is 1, and there is a bound."""
    words = "--users 6 --brokers 2 --channels 3 --length 0.4"
    meshwright("content", "workload", *words.split(), "--out", tmp_path / "small")
    found = meshwright("content", "exact", tmp_path / "small", "--json")
    assert (found.code, found.json["proven"], found.json["gap"]) == (0, True, pytest.approx(0, abs=1e-6))
    shown = meshwright("content", "exact", tmp_path / "small", "--out", tmp_path / "plan").out
    assert "this is the optimum" in shown
    assert shown.endswith(f"written to {tmp_path / 'plan'}\n")
    words = "--users 40 --brokers 3 --channels 4 --length 0.4"
    meshwright("content", "workload", *words.split(), "--out", tmp_path / "larger")
    short = meshwright("content", "exact", tmp_path / "larger", "--time-limit", "0", "--json")
    assert (short.code, short.json["proven"]) == (1, False)
    assert 0 < short.json["lower_bound"] < short.json["cost"]
    shown = meshwright("content", "exact", tmp_path / "larger", "--time-limit", "0").out
    assert "of it above the optimum" in shown
    small = ("content", "assign", tmp_path / "small", "--algorithm", "exact")
    assert "this is the optimum" in meshwright(*small).out
    assert meshwright(*small, "--json").json["proven"] is True
    larger = ("content", "assign", tmp_path / "larger", "--algorithm")
    assert "of it above the optimum" in meshwright(*larger, "exact", "--time-limit", "0").out
    assert "optimum" not in meshwright(*larger, "packing").out


def traffic(folder: Path, *, valued: bool) -> Path:
    """Write a traffic folder as the pipeline does, by content values or by topics."""
    channels = ["0", "3", "3"] if valued else ["rain", "sun", "sun"]
    rates = {
        "publisher": ["ann", "ann", "bob"],
        "channel": channels,
        "messages": [4, 8, 4],
        "bytes": [40, 8, 4],
    }
    summed = {"channel": sorted(set(channels)), "publishers": [1, 2], "messages": [4, 12], "bytes": [40, 12]}
    made = []
    for columns, schema in ((rates, RATES), (summed, CHANNELS)):
        messages, size = np.array(columns["messages"]), np.array(columns["bytes"])
        made.append(pa.table({**columns, "rate": messages / 4, "byte_rate": size / 4}).cast(schema))
    asked = {"command": "traffic", **({"value": "price", "channels": 4, "high": 8.0} if valued else {})}
    write_traffic(Traffic(made[0], made[1], {"made_by": asked, "counts": {}, "seconds": 4.0}), folder)
    (folder.parent / "users.csv").write_text("user,x,y\nann,0,0\nbob,3,4\ncid,0,1\n")
    (folder.parent / "brokers.csv").write_text("broker,x,y\nnorth,0,1\nsouth,0,0\n")
    return folder


def from_traffic(folder: Path, *more: str | Path) -> list[str | Path]:
    """Return the command that builds a workload from a traffic folder and the files next to it."""
    here = folder.parent
    words: list[str | Path] = ["content", "workload", "--traffic", folder, "--out", here / "made"]
    return [*words, "--user-places", here / "users.csv", "--broker-places", here / "brokers.csv", *more]


def test_rates_come_from_publish_logs(tmp_path: Path) -> None:
    """Traffic by content values is a histogram, integrated over its own channels, others, or cells."""
    folder = traffic(tmp_path / "traffic", valued=True)
    (tmp_path / "wanted.csv").write_text("user,low,high\nbob,0,2\ncid,5,8\nann,7,8\n")
    words = from_traffic(folder, "--subscriptions", tmp_path / "wanted.csv")
    assert meshwright(*words).code == 0
    plain = read_workload(tmp_path / "made")
    assert plain.channel_names.to_pylist() == ["0", "1", "2", "3"]
    assert plain.rates.tolist() == [1.0, 2.0, 1.0]
    assert plain.demand.incoming.tolist() == [1.0, 1.0, 3.0]
    answer = meshwright(*words, "--cells", "--bytes", "--json")
    assert answer.json["traffic_ratio"] == pytest.approx(1.0)
    cells = read_workload(tmp_path / "made")
    assert cells.demand.incoming.tolist() == pytest.approx([0.5, 10.0, 3.0])
    assert meshwright(*words, "--channels", "8").code == 0
    assert read_workload(tmp_path / "made").num_channels == 8


def test_topics_are_channels(tmp_path: Path) -> None:
    """Traffic by topics makes each topic a channel; subscriptions come from a file."""
    folder = traffic(tmp_path / "traffic", valued=False)
    (tmp_path / "wanted.csv").write_text("node,topic\nbob,rain\ncid,sun\ncid,wind\n")
    words = from_traffic(folder, "--subscriptions", tmp_path / "wanted.csv")
    assert meshwright(*words).code == 0
    made = read_workload(tmp_path / "made")
    assert made.channel_names.to_pylist() == ["rain", "sun", "wind"]
    assert made.demand.incoming.tolist() == [0.0, 1.0, 3.0]
    assert "each topic is a channel" in meshwright(*words, "--cells").complaint
    (tmp_path / "users.csv").write_text("user,x,y\nann,0,0\n")
    assert "has no place for users 'bob', 'cid'" in meshwright(*words).complaint


def test_bad_options_are_rejected(workload: Path, tmp_path: Path) -> None:
    """Bad options and folders end with exit code 2 and one line that says what to change."""
    out = ("--out", tmp_path / "x")
    for words, message in (
        (("workload", *out), "give --users"),
        (
            ("workload", "--users", "10", "--cells", *out),
            "--cells: these need --traffic: give it, or leave them out",
        ),
        (
            ("workload", "--traffic", workload, "--users", "3", *out),
            "--users: --traffic already says who publishes what",
        ),
        (
            ("workload", "--traffic", workload, *out),
            "--traffic needs --subscriptions, --user-places and --broker-places",
        ),
        (("workload", "--users", "10", "--model", "sphere", *out), "choose uniform, narrow or plane"),
        (
            ("workload", "--users", "10", "--channels", "0", *out),
            "content cut into 0 channels: give at least 1",
        ),
        (("workload", "--users", "10", "--out", __file__), "is a file"),
        (("assign", tmp_path / "nothing"), "nothing is there"),
        (("assign", workload, "--algorithm", "best"), "choose one of random, packing"),
        (("assign", workload, "--algorithm", "packing", "--seconds", "1"), "packing does not take seconds"),
        (("assign", workload, "--out", workload), "holds something other than a content plan"),
        (("assign", workload, "--seconds", "1", "--steps", "1"), "--seconds and --steps both limit"),
        (("compare", workload, "--seconds", "1", "--steps", "1"), "--seconds and --steps both limit"),
        (("compare", workload, "--algorithms", "packing,packing"), "each once"),
        (("compare", workload, "--algorithms", "packing", "--argmax"), "none of packing takes argmax"),
        (("compare", workload, "--chart", tmp_path / "c.gif"), "unknown type of chart"),
        (("exact", workload, "--time-limit", "-1"), "content exact --help"),
    ):
        assert message in meshwright("content", *words).complaint
