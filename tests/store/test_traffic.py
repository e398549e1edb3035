"""Traffic folders: what is written is read, figures must agree, and workloads have the measured rates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from meshwright.errors import FormatError, InputError
from meshwright.store.content.traffic_workloads import Sources, workload_from_traffic
from meshwright.store.dataset_parts import QUARANTINE
from meshwright.store.traffic import CHANNELS, RATES, Traffic, read_traffic
from written_inputs import write_traffic

DESCRIBED = {"counts": {"read": 5, "kept": 4}, "seconds": 10.0, "made_by": {"command": "traffic"}}
RATE_ROWS = [("b", "x", 1, 100, 0.1, 10.0), ("a", "x", 2, 100, 0.2, 10.0), ("é", "y", 1, 0, 0.1, 0.0)]
CHANNEL_ROWS = [("x", 2, 3, 200, 0.3, 20.0), ("y", 1, 1, 0, 0.1, 0.0)]


def table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(
        [pa.array(column, kind.type) for column, kind in zip(columns, schema, strict=True)], schema=schema
    )


@pytest.fixture
def traffic() -> Traffic:
    return Traffic(table(RATE_ROWS, RATES), table(CHANNEL_ROWS, CHANNELS), DESCRIBED)


def test_what_is_written_is_read(traffic: Traffic, tmp_path: Path) -> None:
    """Tables and description come back as they were, without the fields of the file format."""
    again = read_traffic(write_traffic(traffic, tmp_path / "traffic"))
    assert again.rates.equals(traffic.rates)
    assert again.channels.equals(traffic.channels)
    assert again.described == DESCRIBED
    assert again.quarantine is None
    header = json.loads((tmp_path / "traffic" / "traffic.json").read_text())
    assert header == {"format": "meshwright traffic", "schema": 2, **DESCRIBED}


def test_the_quarantine_comes_back(traffic: Traffic, tmp_path: Path) -> None:
    """Records that could not be used are kept with source, line and reason."""
    aside = table([("log.csv", 7, "a,,", "blank topic name")], QUARANTINE)
    made = Traffic(traffic.rates, traffic.channels, DESCRIBED, aside)
    again = read_traffic(write_traffic(made, tmp_path / "traffic")).quarantine
    assert again is not None
    assert again.equals(aside)


def test_matrices(traffic: Traffic) -> None:
    """Rows are publishers in the order of their UTF-8 bytes, columns are channels."""
    assert traffic.publishers == ["a", "b", "é"]
    assert traffic.matrix().toarray().tolist() == [[0.2, 0.0], [0.1, 0.0], [0.0, 0.1]]
    assert traffic.matrix("messages").toarray().tolist() == [[2, 0], [1, 0], [0, 1]]


@pytest.mark.parametrize("figure", ["messages", "bytes"])
def test_sums_must_agree(traffic: Traffic, tmp_path: Path, figure: str) -> None:
    """The messages and bytes of channels are the sums over publishers, or the folder is damaged."""
    folder = write_traffic(traffic, tmp_path / "traffic")
    place = CHANNELS.names.index(figure)
    changed = traffic.channels.set_column(place, CHANNELS.field(place), pa.array([7, 7], pa.int64()))
    pq.write_table(changed, folder / "channels" / "part-00000.parquet")
    with pytest.raises(FormatError, match=f"the {figure} of publishers and of channels differ"):
        read_traffic(folder)


def test_other_folders_are_refused(traffic: Traffic, tmp_path: Path) -> None:
    """A missing folder, another folder and a missing table have their own errors."""
    with pytest.raises(InputError, match=r"no traffic .*: nothing is there"):
        read_traffic(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="is not a traffic"):
        read_traffic(tmp_path)
    folder = write_traffic(traffic, tmp_path / "traffic")
    (folder / "rates" / "part-00000.parquet").unlink()
    with pytest.raises(FormatError, match=r"rates.* has no Parquet file"):
        read_traffic(folder)


def test_folders_of_schema_1_open(traffic: Traffic, tmp_path: Path) -> None:
    """Folders of schema 1 have one file for each table."""
    folder = write_traffic(traffic, tmp_path / "traffic")
    for kind in ("rates", "channels"):
        (folder / kind / "part-00000.parquet").rename(folder / f"{kind}.parquet")
        (folder / kind).rmdir()
    header = json.loads((folder / "traffic.json").read_text())
    (folder / "traffic.json").write_text(json.dumps({**header, "schema": 1}))
    assert read_traffic(folder).rates.equals(traffic.rates)


COLUMNS: dict[str, dict[str, list[object]]] = {
    "subscriptions": {"node": ["a", "c"], "topic": ["y", "x"]},
    "users": {"user": ["c", "b", "a", "é"], "x": [0, 1, 2, 3], "y": [0, 0, 0, 4]},
    "brokers": {"broker": ["n", "s"], "x": [0, 3], "y": [0, 0], "capacity": [9, 9]},
}


def sources(folder: Path, ending: str, **changes: dict[str, list[object]]) -> Sources:
    """Write the files that complete a traffic folder, as CSV or Parquet."""
    for name, columns in {**COLUMNS, **changes}.items():
        made = pa.table(columns)
        if ending == "parquet":
            pq.write_table(made, folder / f"{name}.parquet")
        else:
            csv.write_csv(made, folder / f"{name}.csv")
    return Sources(*(folder / f"{name}.{ending}" for name in COLUMNS))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_workload_has_the_rates_of_its_traffic(traffic: Traffic, tmp_path: Path, ending: str) -> None:
    """Publishers and subscribers are users, topics are channels, and places give the costs."""
    workload, spare = workload_from_traffic(traffic, sources(tmp_path, ending), figure="byte_rate")
    assert spare is None
    assert workload.user_names.to_pylist() == ["a", "b", "c", "é"]
    assert workload.channel_names.to_pylist() == ["x", "y"]
    assert workload.demand.channel_rate.tolist() == [20.0, 0.0]
    assert workload.demand.incoming.tolist() == [0.0, 0.0, 20.0, 0.0]
    assert workload.access.tolist() == [[2.0, 1.0], [1.0, 2.0], [0.0, 3.0], [5.0, 4.0]]
    assert workload.capacity.tolist() == [9.0, 9.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"users": {"user": ["a"], "x": [0], "y": [0]}}, "has no place for users 'b', 'c', 'é'"),
        ({"users": {"user": ["a"], "x": [0]}}, "no column 'y'"),
        ({"brokers": {"broker": ["n"], "x": ["far"], "y": ["0"]}}, "a x is not a number"),
        ({"users": {"user": ["a", ""], "x": [0, 0], "y": [0, 0]}}, "no user name in row 2"),
    ],
)
def test_incomplete_sources_are_refused(
    traffic: Traffic, tmp_path: Path, changes: dict[str, dict[str, list[object]]], message: str
) -> None:
    """A missing place, column or name, or a place that is not a number, gives one line."""
    with pytest.raises(InputError, match=message):
        workload_from_traffic(traffic, sources(tmp_path, "csv", **changes))


def test_traffic_by_topics_has_its_channels(traffic: Traffic, tmp_path: Path) -> None:
    """The channels of topics cannot be cut differently."""
    with pytest.raises(InputError, match="leave out --channels and --cells"):
        workload_from_traffic(traffic, sources(tmp_path, "csv"), channels=3)
