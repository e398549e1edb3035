"""Workloads and plans of the content-based half as folders: what is written is read, damage is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from content_naive import workloads
from meshwright.content import Workload, assign, synthetic
from meshwright.errors import FormatError, InputError, OutputError
from meshwright.store.content.content_plans import read_content_plan, write_content_plan
from meshwright.store.content.workloads import read_workload, write_workload
from strategies import wild_names


@settings(max_examples=25)
@given(workloads(), st.lists(wild_names, min_size=13, max_size=13, unique=True))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, drawn: Workload, names: list[str]
) -> None:
    """Reading returns the workload that was written, with any names and both kinds of costs."""
    folder = tmp_path_factory.mktemp("workload")
    users, brokers, channels = names[:6], names[6:10], names[10:]
    wild = Workload.build(
        users[: drawn.num_users],
        brokers[: drawn.num_brokers],
        channels[: drawn.num_channels],
        rates=(
            np.repeat(np.arange(drawn.num_users), np.diff(drawn.rate_ptr)),
            drawn.rate_channels,
            drawn.rates,
        ),
        subscriptions=(
            np.repeat(np.arange(drawn.num_users), np.diff(drawn.subscription_ptr)),
            drawn.subscription_channels,
        ),
        capacity=5.0,
        **({"places": drawn.places} if drawn.places else {"access": drawn.access, "core": drawn.core}),
    )
    write_workload(wild, folder / "w")
    back = read_workload(folder / "w")
    assert back.fingerprint == wild.fingerprint
    assert [path.name for path in folder.iterdir()] == ["w"]
    write_workload(back, folder / "v")
    for file in (folder / "w").iterdir():
        assert file.read_bytes() == (folder / "v" / file.name).read_bytes()


def test_by_hand(tmp_path: Path) -> None:
    """A hand-written folder may have integers as names, no capacities and no list of channels."""
    tables: dict[str, dict[str, Any]] = {
        "users": {"user": [1, 2], "x": [0.0, 3.0], "y": [0, 4]},
        "brokers": {"broker": ["b"], "x": [0.0], "y": [0.0]},
        "rates": {"user": [1], "channel": [7], "rate": [2]},
        "subscriptions": {"user": [2], "channel": [7]},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    (tmp_path / "workload.json").write_text('{"format": "meshwright workload", "schema": 1}')
    workload = read_workload(tmp_path)
    assert workload.channel_names.to_pylist() == ["7"]
    assert workload.access.tolist() == [[0.0], [5.0]]
    assert workload.capacity.tolist() == [8.0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_workload(synthetic(30, 3, 4, seed=1), tmp_path / "workload")


def change(file: Path, column: str, values: list[Any] | None) -> None:
    table = pq.read_table(file)
    place = table.column_names.index(column)
    table = table.drop_columns(column)
    if values is not None:
        kept = pa.array([*values, *([values[-1]] * table.num_rows)][: table.num_rows])
        table = table.add_column(place, column, kept)
    pq.write_table(table, file)


@pytest.mark.parametrize(
    ("file", "column", "values", "message"),
    [
        ("rates", "user", ["nobody"], "rates.parquet names the unknown users 'nobody'"),
        ("rates", "rate", [-1.0], "is negative or not a number"),
        ("rates", "rate", ["many"], "has a rate that is not a number"),
        ("rates", "channel", None, "has no column 'channel'"),
        ("rates", "channel", [0.5], "has channels that are double"),
        ("subscriptions", "channel", ["x"], "names the unknown channels 'x'"),
        ("brokers", "capacity", [-1.0], "capacities of brokers"),
        ("users", "user", ["twice"], "has the users 'twice' twice"),
        ("access", "cost", [None], "has no cost in rows 1, 2, "),
        ("access", "broker", ["broker0"], "more than one cost for a pair"),
        ("core", "cost", [1.0, 1.0, 9.0], "triangle inequality"),
    ],
)
def test_damage_is_named(
    folder: Path, file: str, column: str, values: list[Any] | None, message: str
) -> None:
    """Invalid contents of a table give one line that names the folder once."""
    change(folder / f"{file}.parquet", column, values)
    with pytest.raises((InputError, FormatError), match=message) as caught:
        read_workload(folder)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count(str(folder)) == 1


def test_missing_and_foreign_folders_are_rejected(folder: Path, tmp_path: Path) -> None:
    """Missing files, other folders and newer schemas are rejected."""
    (folder / "core.parquet").unlink()
    with pytest.raises(FormatError, match=r"core.parquet is missing"):
        read_workload(folder)
    (folder / "access.parquet").unlink()
    with pytest.raises(FormatError, match="no places x, y"):
        read_workload(folder)
    with pytest.raises(FormatError, match="is not a content plan: it is a workload"):
        read_content_plan(folder)
    with pytest.raises(InputError, match="nothing is there"):
        read_workload(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="holds something other than a content plan"):
        write_content_plan(assign(synthetic(5, 2, 2), "random"), folder)
    header = folder / "workload.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), "schema": 2}))
    with pytest.raises(FormatError, match="upgrade meshwright"):
        read_workload(folder)


@pytest.mark.parametrize("model", ["uniform", "plane"])
def test_plans_come_back(tmp_path: Path, model: Any) -> None:
    """Reading a plan returns the broker of each user; its tables add up to its figures."""
    workload = synthetic(60, 4, 5, model=model, length=0.3, seed=2)
    plan = assign(workload, "steiner", argmax=True)
    write_content_plan(plan, tmp_path / "plan", report=lambda file: file.write_text("page"))
    stored = read_content_plan(tmp_path / "plan")
    assert stored.broker_of(workload).tolist() == plan.cost.broker_of.tolist()
    assert stored.header.figures == plan.figures
    assert (tmp_path / "plan" / "report.html").read_text() == "page"

    def table(name: str) -> Any:
        return pq.read_table(tmp_path / "plan" / f"{name}.parquet")

    assert sum(table("cost_of_users")["cost"].to_pylist()) == pytest.approx(plan.cost.access)
    for name in ("cost_of_channels", "cost_of_links"):
        assert sum(table(name)["cost"].to_pylist()) == pytest.approx(plan.cost.core)
    assert sum(table("cost_of_brokers")["cost"].to_pylist()) == pytest.approx(plan.cost.total)
    assert table("broker_tree").num_rows == 3
    trees = table("trees").to_pylist()
    for number, channel in enumerate(workload.channel_names.to_pylist()):
        shared = [row for row in trees if row["channel"] == channel and row["source"] is None]
        assert len(shared) == max(int((plan.cost.audience[number] > 0).sum()) - 1, 0)
    with pytest.raises(InputError, match="made for another workload"):
        stored.broker_of(synthetic(60, 4, 5, seed=3))
    change(tmp_path / "plan" / "assignment.parquet", "broker", ["ghost"])
    with pytest.raises(FormatError, match="unknown brokers 'ghost'"):
        read_content_plan(tmp_path / "plan").broker_of(workload)


def test_a_column_that_is_there_twice_is_named(folder: Path) -> None:
    """Of two columns of one name, nobody knows which is meant."""
    table = pq.read_table(folder / "rates.parquet")
    pq.write_table(table.append_column("user", table.column("user")), folder / "rates.parquet")
    with pytest.raises(FormatError, match=r"rates\.parquet is damaged: more than one column 'user'"):
        read_workload(folder)


def test_names_that_are_not_utf8_are_named(folder: Path) -> None:
    """Bytes that are no text are damage in one line."""
    table = pq.read_table(folder / "users.parquet")
    place = table.column_names.index("user")
    bad = pa.array([bytes([255])] * table.num_rows, pa.binary()).view(pa.string())
    pq.write_table(table.set_column(place, "user", bad), folder / "users.parquet")
    with pytest.raises(FormatError, match=r"users\.parquet is damaged: its texts are not UTF-8"):
        read_workload(folder)
