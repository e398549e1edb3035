"""Publish logs: exact sums and rates, by topic or by channel of a content space."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from meshwright.content.cost import cost
from meshwright.errors import FormatError, InputError
from meshwright.pipeline.dataset.publications import sum_traffic
from meshwright.pipeline.readers.formats import Publications
from meshwright.store.content.content_plans import read_content_plan
from meshwright.store.content.workloads import read_workload
from meshwright.store.traffic import Traffic, read_traffic
from terminal import meshwright
from written_inputs import write_traffic

if TYPE_CHECKING:
    from conftest import Engine

LOG = """publisher,topic,size,time
b,x,100,2024-01-01T00:00:00Z
a,x,50,2024-01-01T00:00:04Z
a,x,50,2024-01-01T00:00:02Z
a,y,,2024-01-01T00:00:10Z
a,y,-1,2024-01-01T00:00:10Z
a,y,many,2024-01-01T00:00:10Z
,y,1,2024-01-01T00:00:10Z
"""


def traffic(
    folder: Path,
    engine: Engine,
    sources: list[Path],
    asked: Publications | None = None,
    *,
    max_bad: float = 0.1,
) -> Traffic:
    """Return the sums of some publish logs."""
    sum_traffic(engine, sources, folder / "sums", asked, max_bad=max_bad)
    return read_traffic(folder / "sums")


def test_rates_by_topic(engine: Engine, tmp_path: Path) -> None:
    """Messages and bytes are summed by publisher and topic; rates use the time from first to last."""
    (tmp_path / "log.csv").write_text(LOG)
    made = traffic(tmp_path, engine, [tmp_path / "log.csv"], max_bad=0.5)
    assert made.described["counts"] == {"read": 7, "kept": 4, "quarantined": 3}
    assert made.described["seconds"] == 10
    assert [tuple(row.values()) for row in made.rates.to_pylist()] == [
        ("a", "x", 2, 100, 0.2, 10.0),
        ("a", "y", 1, 0, 0.1, 0.0),
        ("b", "x", 1, 100, 0.1, 10.0),
    ]
    assert [tuple(row.values()) for row in made.channels.to_pylist()] == [
        ("x", 2, 3, 200, pytest.approx(0.3), 20.0),
        ("y", 1, 1, 0, 0.1, 0.0),
    ]
    again = read_traffic(write_traffic(made, tmp_path / "traffic"))
    assert again.quarantine is not None
    assert [(row["line"], row["reason"]) for row in again.quarantine.to_pylist()] == [
        (6, "size below zero"),
        (7, "size is not an integer"),
        (8, "blank publisher name"),
    ]
    assert again.publishers == ["a", "b"]
    assert again.matrix().toarray().tolist() == [[0.2, 0.1], [0.1, 0.0]]
    assert again.described == made.described
    with pytest.raises(InputError, match=r"line 6 .*size below zero"):
        traffic(tmp_path, engine, [tmp_path / "log.csv"])
    with pytest.raises(FormatError, match="is not a traffic"):
        read_traffic(tmp_path)


def test_rates_by_content(tmp_path: Path) -> None:
    """Values fall into equal channels of the content space, as in a histogram of numpy."""
    values = np.random.default_rng(1).uniform(-1, 3, 200)
    lines = [json.dumps({"publisher": f"p{i % 3}", "value": v}) for i, v in enumerate(values.tolist())]
    lines += [json.dumps({"publisher": "p0", "value": bad}) for bad in (3.5, "high")]
    # The upper end belongs to the last channel.
    lines += [json.dumps({"publisher": "p1", "value": 3})]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    asked = Publications(value="value", channels=12, low=-1, high=3, seconds=50)
    made = traffic(tmp_path, None, [tmp_path / "log.jsonl"], asked)
    expected, _ = np.histogram([*values, 3], bins=12, range=(-1, 3))
    assert made.channels.column("channel").to_pylist() == [f"{i:02}" for i in range(12)]
    assert made.channels.column("messages").to_pylist() == expected.tolist()
    assert made.described["counts"]["quarantined"] == 2
    assert made.matrix().sum() == pytest.approx(201 / 50)


def test_a_publish_log_becomes_an_assignment(tmp_path: Path) -> None:
    """`traffic`, `content workload` and `content assign` together use the counted traffic."""
    prices = {"ann": [1, 1, 9], "bob": [2, 6], "cid": [9, 9, 9, 3]}
    lines = [{"publisher": who, "price": price} for who, all_ in prices.items() for price in all_]
    (tmp_path / "log.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    (tmp_path / "wanted.csv").write_text("user,low,high\nann,8,10\nbob,0,4\ncid,6,8\n")
    (tmp_path / "users.csv").write_text("user,x,y\nann,0,0\nbob,3,4\ncid,0,1\n")
    (tmp_path / "brokers.csv").write_text("broker,x,y\nnorth,0,1\nsouth,3,3\n")
    counted = ["--value", "price", "--low", "0", "--high", "10", "--channels", "5", "--seconds", "2"]
    folders = [tmp_path / name for name in ("traffic", "workload", "plan")]
    assert meshwright("traffic", tmp_path / "log.jsonl", *counted, "--out", folders[0]).code == 0
    words: list[str | Path] = ["--traffic", folders[0], "--subscriptions", tmp_path / "wanted.csv"]
    words += ["--user-places", tmp_path / "users.csv", "--broker-places", tmp_path / "brokers.csv"]
    assert meshwright("content", "workload", *words, "--out", folders[1]).code == 0
    made = read_workload(folders[1])
    assert made.user_names.to_pylist() == ["ann", "bob", "cid"]
    assert made.demand.incoming.tolist() == pytest.approx([3 / 2, 3 / 2, 1 / 2])
    answer = meshwright("content", "assign", folders[1], "--out", folders[2], "--json")
    assert answer.code == 0
    kept = read_content_plan(folders[2]).broker_of(made)
    assert cost(made, kept).total == pytest.approx(answer.json["cost"])


def test_the_command(tmp_path: Path) -> None:
    """`traffic` writes a folder and prints counts; without times it asks for --seconds."""
    (tmp_path / "log.csv").write_text("who,topic\na,x\na,y\n")
    words: list[str | Path] = [
        "traffic",
        tmp_path / "log.csv",
        "--publisher",
        "who",
        "--out",
        tmp_path / "out",
    ]
    assert "give --seconds" in meshwright(*words).complaint
    answer = meshwright(*words, "--seconds", "4", "--json").json
    assert (answer["read"], answer["publishers"], answer["channels"]) == (2, 1, 2)
    assert read_traffic(tmp_path / "out").matrix().toarray().tolist() == [[0.25, 0.25]]


def test_a_log_without_a_usable_message_replaces_nothing(tmp_path: Path) -> None:
    """If every row is quarantined, that is an error which names the first, and older sums stay."""
    (tmp_path / "log.csv").write_text("publisher,topic\na,x\n")
    words = ("traffic", tmp_path / "log.csv", "--seconds", "1", "--max-bad", "1", "--out", tmp_path / "out")
    assert meshwright(*words).code == 0
    (tmp_path / "log.csv").write_text("publisher,topic\na,\n,y\n")
    complaint = meshwright(*words).complaint
    assert f"no message can be used: 2 rows quarantined, the first is line 2 of {words[1]}" in complaint
    assert read_traffic(tmp_path / "out").matrix().shape == (1, 1)


def test_line_breaks_in_quotes(tmp_path: Path) -> None:
    """The option that the reason of the quarantine names is there, and so is the separator."""
    (tmp_path / "log.csv").write_text('publisher;topic;note\na;x;"one\ntwo"\na;y;\n')
    words = ("traffic", tmp_path / "log.csv", "--delimiter", ";", "--seconds", "1", "--out", tmp_path / "out")
    refused = meshwright(*words, "--max-bad", "1", "--json").json
    assert (refused["read"], refused["kept"]) == (3, 1)
    assert any("--quoted-newlines" in reason for reason in refused["reasons"])
    answer = meshwright(*words, "--quoted-newlines", "--json").json
    assert (answer["read"], answer["kept"]) == (2, 2)


def test_wrong_formats_and_columns(tmp_path: Path) -> None:
    """A wrong format is refused, given or derived from a file name, and so is a column without values."""
    (tmp_path / "log.txt").write_text("publisher topic\na x\n")
    with pytest.raises(InputError, match="publish logs cannot have the format edges"):
        traffic(tmp_path, None, [tmp_path / "log.txt"])
    with pytest.raises(InputError, match="publish logs cannot have the format mosquitto-log"):
        Publications(format="mosquitto-log")
    (tmp_path / "log.jsonl").write_text('{"publisher": "a", "topic": "x", "bytes": 3}\n')
    with pytest.raises(InputError, match="no row has a value in 'bytez': name the right column with --size"):
        traffic(tmp_path, None, [tmp_path / "log.jsonl"], Publications(size="bytez", seconds=1.0))
    (tmp_path / "values.jsonl").write_text('{"publisher": "a"}\n')
    with pytest.raises(InputError, match=r"\(no value\)"):
        traffic(tmp_path, None, [tmp_path / "values.jsonl"], Publications(value="price", seconds=1.0))
