"""Interests from files and objects of every kind."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright import Interest, load_interest
from meshwright.errors import FormatError, InputError
from meshwright.store import row_files
from meshwright.store.datasets import write_dataset
from strategies import wild_interests

PAIRS = [("b", "x"), ("a", "y"), ("a", "x"), ("007", "x")]
INTEREST = Interest.from_pairs([node for node, _ in PAIRS], [topic for _, topic in PAIRS])

Rows = list[dict[str, str]]


def write_csv(rows: Rows, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["topic", "node"])
        writer.writeheader()
        writer.writerows(rows)


def write_gzipped(rows: Rows, path: Path) -> None:
    plain = path.with_suffix("")
    write_csv(rows, plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))


def write_json(rows: Rows, path: Path) -> None:
    path.write_text("".join(json.dumps({"more": 1, **row}) + "\n" for row in rows))


def write_parquet(rows: Rows, path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema({"topic": "string", "node": "string"})), path)


WRITERS: dict[str, Callable[[Rows, Path], None]] = {
    "data.csv": write_csv,
    "DATA.CSV.gz": write_gzipped,
    "data.jsonl": write_json,
    "data.ndjson": write_json,
    "data.parquet": write_parquet,
}


@settings(max_examples=40)
@given(
    wild_interests.filter(lambda interest: interest.num_subscriptions > 0), st.sampled_from(sorted(WRITERS))
)
def test_every_format_keeps_every_name(interest: Interest, name: str) -> None:
    """Every file format keeps subscriptions with any names."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / name
        WRITERS[name](interest.to_arrow().to_pylist(), path)
        found = load_interest(path)
    assert found.to_arrow().equals(interest.to_arrow())


@pytest.mark.parametrize("source", ["interest", "dict", "scipy", "arrow", "path", "text", "dataset"])
def test_every_source_gives_the_same_interest(tmp_path: Path, source: str) -> None:
    """An interest, a mapping, a matrix, a table, a path and a dataset folder give the same interest."""
    write_csv([{"node": node, "topic": topic} for node, topic in PAIRS], tmp_path / "data.csv")
    numbers = Interest.from_pairs([0, 1, 1], [0, 0, 1])
    sources = {
        "interest": (INTEREST, INTEREST),
        "dict": ({"a": ["x", "y"], "b": {"x"}, "007": ("x",)}, INTEREST),
        "scipy": (numbers.to_scipy(), numbers),
        "arrow": (INTEREST.to_arrow(), INTEREST),
        "path": (tmp_path / "data.csv", INTEREST),
        "text": (str(tmp_path / "data.csv"), INTEREST),
        "dataset": (write_dataset(INTEREST, tmp_path / "dataset"), INTEREST),
    }
    given_source, expected = sources[source]
    assert load_interest(given_source).fingerprint == expected.fingerprint


def test_numbers_in_files_are_strings(tmp_path: Path) -> None:
    """Numbers are names: unchanged text from CSV, decimal strings from typed files."""
    (tmp_path / "a.csv").write_text("node,topic\n007,1.0\n10,1e3\n9,true\n")
    found = load_interest(tmp_path / "a.csv")
    assert found.node_names.to_pylist() == ["007", "10", "9"]
    assert found.topic_names.to_pylist() == ["1.0", "1e3", "true"]
    (tmp_path / "a.jsonl").write_text('{"node": 10, "topic": "t"}\n\n{"node": "9", "topic": 2}\n')
    pq.write_table(pa.table({"node": [10, 9], "topic": ["t", "2"]}), tmp_path / "a.parquet")
    for file in ("a.jsonl", "a.parquet"):
        assert load_interest(tmp_path / file).to_arrow().to_pylist() == [
            {"node": "10", "topic": "t"},
            {"node": "9", "topic": "2"},
        ]


def test_dates_in_json_stay_text(tmp_path: Path) -> None:
    """A name that looks like a date is not turned into one."""
    (tmp_path / "a.jsonl").write_text('{"node": "2024-01-01", "topic": "2024-01-01T00:00:00Z"}\n')
    found = load_interest(tmp_path / "a.jsonl")
    assert found.to_arrow().to_pylist() == [{"node": "2024-01-01", "topic": "2024-01-01T00:00:00Z"}]


def test_other_columns_can_be_named(tmp_path: Path) -> None:
    """The columns to read can be chosen in each format."""
    rows = [{"broker": "a", "subject": "x"}]
    (tmp_path / "a.csv").write_text("broker,subject\na,x\n")
    (tmp_path / "a.jsonl").write_text(json.dumps(rows[0]))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for file in ("a.csv", "a.jsonl", "a.parquet"):
        found = load_interest(tmp_path / file, node="broker", topic="subject")
        assert found.to_arrow().to_pylist() == [{"node": "a", "topic": "x"}]


def test_dictionary_columns(tmp_path: Path) -> None:
    """Dictionary-encoded Parquet columns are read like plain ones, integers too."""
    columns = {"node": pa.array(["b", "a", "b"]), "topic": pa.array([1, 2, 1])}
    encoded = {name: column.dictionary_encode() for name, column in columns.items()}
    pq.write_table(pa.table(encoded), tmp_path / "a.parquet")
    found = load_interest(tmp_path / "a.parquet")
    assert found.to_arrow().to_pylist() == [{"node": "a", "topic": "2"}, {"node": "b", "topic": "1"}]


@pytest.mark.parametrize(("name", "text"), [("a.csv", "node,topic\n"), ("a.jsonl", "\n")])
def test_no_rows(tmp_path: Path, name: str, text: str) -> None:
    """A file with columns but no rows gives an empty interest."""
    (tmp_path / name).write_text(text)
    assert load_interest(tmp_path / name).num_nodes == 0


BAD_FILES: dict[str, tuple[str, bytes, type[Exception], str]] = {
    "empty csv": ("a.csv", b"", InputError, "is empty"),
    "empty json": ("a.jsonl", b"", InputError, "is empty"),
    "empty parquet": ("a.parquet", b"", InputError, "is empty"),
    "no column": ("a.csv", b"node,subject\na,x\n", InputError, "no column 'topic'.* 'node', 'subject'"),
    "no column in json": ("a.jsonl", b'{"node": "a"}\n', InputError, "no column 'topic' in line 1.*'node'"),
    "column twice": (
        "a.csv",
        b"node,node,topic\na,b,x\n",
        InputError,
        "more than one column 'node': keep one",
    ),
    "key twice": (
        "a.jsonl",
        b'{"node": 1, "topic": "x"}\n{"node": "a", "topic": "x", "node": "b"}\n',
        InputError,
        "line 2 has more than one 'node': keep one",
    ),
    "deep json": ("a.jsonl", b"[" * 200_000, FormatError, "line 1 is not JSON: it is nested too deeply"),
    "deep value": (
        "a.jsonl",
        b'{"node": 1, "topic": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        FormatError,
        "line 1 is not JSON: it is nested too deeply",
    ),
    "blank name": ("a.csv", b"node,topic\na,x\n,x\n  ,y\n", InputError, "no node name in rows 2, 3 "),
    "blank topic": ("a.jsonl", b'{"node": "a", "topic": ""}\n', InputError, "no topic name in row 1 "),
    "null": ("a.jsonl", b'{"node": null, "topic": "x"}\n', InputError, "no node name in line 1"),
    "float": ("a.jsonl", b'\n{"node": 1.5, "topic": "x"}\n', InputError, r"in line 2 is 1\.5"),
    "boolean": ("a.jsonl", b'{"node": true, "topic": "x"}\n', InputError, "is True"),
    "list": ("a.jsonl", b'{"node": ["a"], "topic": "x"}\n', InputError, r"is \['a'\]"),
    "latin-1 csv": ("a.csv", "node,topic\nMünchen,x\n".encode("latin-1"), FormatError, "not UTF-8"),
    "latin-1 header": ("a.csv", "nöde,topic\na,x\n".encode("latin-1"), FormatError, "not UTF-8"),
    "latin-1 json": ("a.jsonl", '{"node": "ü", "topic": "x"}'.encode("latin-1"), FormatError, "not UTF-8"),
    "half a surrogate": ("a.jsonl", b'{"node": "\\ud800", "topic": "x"}', InputError, "line 1"),
    "ragged csv": (
        "a.csv",
        b"node,topic\na,x,y\n",
        FormatError,
        "line 2 has 3 columns, not 2: .* meshwright ingest",
    ),
    "not json": ("a.jsonl", b'{"node": "a", "topic": "x"}\nnode,topic\n', FormatError, "line 2 is not JSON"),
    "json array": ("a.jsonl", b'["a", "x"]\n', FormatError, "line 1 is not a JSON object"),
    "not parquet": ("a.parquet", b"node,topic\na,x\n", FormatError, "cannot be read"),
    "not gzip": ("a.csv.gz", b"node,topic\na,x\n", FormatError, "cannot be read"),
    "unknown ending": ("a.xlsx", b"PK", InputError, r"does not end in any of \.csv, \.csv\.gz, \.tsv"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files(tmp_path: Path, case: str) -> None:
    """Each error is one line that names the file, the problem and its place."""
    name, content, error, said = BAD_FILES[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=said) as caught:
        load_interest(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_parquet_columns(tmp_path: Path) -> None:
    """Nulls, missing columns and unsuitable types are rejected with the name of the file."""
    file = tmp_path / "a.parquet"
    cases = (
        (pa.table({"node": ["a", None], "topic": ["x", "x"]}), "no node name in row 2 "),
        (pa.table({"node": ["a"]}), "no column 'topic'; the columns are 'node'"),
        (pa.table({"node": ["a"], "topic": [1.5]}), "topic names are of type double"),
        (pa.table({"node": [None], "topic": ["x"]}), "no node name in row 1 "),
        (
            pa.table([["a"], ["b"], ["x"]], names=["node", "node", "topic"]),
            "more than one column 'node': keep one",
        ),
    )
    for table, said in cases:
        pq.write_table(table, file)
        with pytest.raises(InputError, match=rf"{file}: {said}"):
            load_interest(file)


def test_too_many_rows(tmp_path: Path) -> None:
    """A Parquet file with more rows than can be numbered is refused before it is read."""
    write_parquet([{"node": node, "topic": topic} for node, topic in PAIRS], tmp_path / "a.parquet")
    with (
        mock.patch.object(row_files, "MOST_SUBSCRIPTIONS", len(PAIRS) - 1),
        pytest.raises(InputError, match=r"a\.parquet: 4 rows are more than 3"),
    ):
        load_interest(tmp_path / "a.parquet")
    with mock.patch.object(row_files, "MOST_SUBSCRIPTIONS", len(PAIRS)):
        assert load_interest(tmp_path / "a.parquet").num_subscriptions == len(PAIRS)


def test_invalid_sources(tmp_path: Path) -> None:
    """A missing path, a folder that is not a dataset, and an unsuitable object are rejected."""
    with pytest.raises(InputError, match="nothing is there"):
        load_interest(tmp_path / "missing.csv")
    with pytest.raises(FormatError, match="is not a dataset"):
        load_interest(tmp_path)
    with pytest.raises(InputError, match="cannot make an interest from int"):
        load_interest(7)


def test_a_bomb_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file that expands a thousand times is refused in little memory; a variable raises the limit."""
    bomb = tmp_path / "bomb.csv.gz"
    with gzip.open(bomb, "wb", compresslevel=9) as file:
        file.write(b"node,topic\n")
        for _ in range(40):
            file.write(b"a,t\n" * 2**18)
    assert bomb.stat().st_size < 100_000
    (tmp_path / "small.csv.gz").write_bytes(gzip.compress(b"node,topic\na,t\n"))
    # In a process of its own, whose memory nobody else uses.
    program = (
        "import resource, sys\n"
        "from meshwright.errors import InputError\n"
        "from meshwright.store.interest_files import load_interest\n"
        "load_interest(sys.argv[1])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: load_interest(sys.argv[2])\n"
        "except InputError as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    command: list[str | Path] = [sys.executable, "-c", program, tmp_path / "small.csv.gz", bomb]
    said, kilobytes = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    assert re.search(r"expands to more than .*raise the limit with MESHWRIGHT_MAX_EXPANSION", said)
    assert int(kilobytes) < 32 * 2**10
    monkeypatch.setenv("MESHWRIGHT_MAX_EXPANSION", "2000")
    assert load_interest(bomb).num_nodes == 1


def test_a_torn_gzip_file_is_named(tmp_path: Path) -> None:
    """Half a compressed file gives one line."""
    file = tmp_path / "half.csv.gz"
    file.write_bytes(gzip.compress(b"node,topic\n" + bytes(range(32, 120)) * 500)[:-20])
    with pytest.raises((InputError, FormatError), match=r"half\.csv\.gz"):
        load_interest(file)


def write_events(path: Path, operations: list[str | None]) -> None:
    """Write one row for each operation, in the format of the path."""
    nodes, topics = [f"n{row}" for row in range(len(operations))], ["x"] * len(operations)
    table = pa.table({"node": nodes, "topic": topics, "operation": pa.array(operations, pa.string())})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        path.write_text("\n".join(["node,topic,operation", *(
            f"{row['node']},{row['topic']},{row['operation'] or ''}" for row in table.to_pylist()
        )]))  # fmt: skip


SUBSCRIBES = st.sampled_from([None, "", " ", "subscribe", "Sub", " SUBSCRIBE "])


@settings(max_examples=40)
@given(
    st.lists(SUBSCRIBES, min_size=1, max_size=5),
    st.sampled_from(["unsubscribe", "UNSUB", "publish"]),
    st.sampled_from(["events of today.csv", "a.jsonl", "a.parquet"]),
    st.data(),
)
def test_events_are_no_subscriptions(
    operations: list[str | None], other: str, name: str, data: st.DataObject
) -> None:
    """A file is refused exactly if a row is not a subscribe; the line names the row and how to ingest it."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / name
        write_events(path, operations)
        assert load_interest(path).num_nodes == len(operations)
        row = data.draw(st.integers(0, len(operations)))
        write_events(path, [*operations[:row], other, *operations[row:]])
        with pytest.raises(InputError) as caught:
            load_interest(path)
    for said in (
        f"{path}: row {row + 1} ",
        repr(other),
        f"meshwright ingest {shlex.quote(str(path))} --out DATASET",
    ):
        assert said in str(caught.value)


def test_operations_of_any_type(tmp_path: Path) -> None:
    """An operation that is no text is no subscribe; a column that is asked for as a name is one."""
    pq.write_table(pa.table({"node": ["a", "b"], "topic": ["x", "x"], "operation": [None, 1.5]}),
                   tmp_path / "a.parquet")  # fmt: skip
    with pytest.raises(InputError, match=r"row 2 .* operation 1\.5"):
        load_interest(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text('{"node": 1, "topic": "x", "operation": ["\\ud800"]}')
    with pytest.raises(InputError, match=r"row 1 .* operation"):
        load_interest(tmp_path / "a.jsonl")
    (tmp_path / "a.csv").write_text("node,operation\na,unsubscribe\n")
    assert load_interest(tmp_path / "a.csv", topic="operation").num_topics == 1


def test_pipes_are_refused(tmp_path: Path) -> None:
    """A pipe is not an empty file: it cannot be read twice, and the line says so."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"pipe\.csv is not a file, and is read more than once: write"):
        load_interest(pipe)
