"""Small files that stand for gigabytes: each is refused in one line that names what raises the limit."""

from __future__ import annotations

import bz2
import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import meshwright as mw
from meshwright.errors import FormatError, InputError
from meshwright.files.urls import MAX_EXPANSION, CountedFile, Decoded
from meshwright.store.tables import decode_batches, decode_table
from terminal import meshwright


def repeated(value: str | bytes, rows: int) -> pa.DictionaryArray:
    """Return a column of one value; bytes need not be UTF-8."""
    kind = pa.string() if isinstance(value, str) else pa.binary()
    values = pa.array([value], kind)
    texts = pa.Array.from_buffers(pa.string(), 1, values.buffers())
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), texts)


def one_long_name(file: Path) -> None:
    """Write 100,000 rows of one name of 40,000 letters, which is stored once."""
    table = pa.table({"node": repeated("x" * 40_000, 100_000), "topic": repeated("t", 100_000)})
    pq.write_table(table, file, compression="zstd")


def many_rows(file: Path) -> None:
    """Write forty million rows of one subscription."""
    table = pa.table({"node": repeated("a", 1 << 22), "topic": repeated("t", 1 << 22)})
    with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for _ in range(10):
            writer.write_table(table, row_group_size=1 << 22)


def long_pages(file: Path, **more: object) -> None:
    """Write 300 MB of names that compress to nothing."""
    table = pa.table({"node": ["x" * 500_000] * 600, "topic": ["t"] * 600})
    pq.write_table(table, file, compression="zstd", use_dictionary=False, **more)


def shared_prefixes(file: Path) -> None:
    """Write names of which each states only that it is as the one before."""
    long_pages(file, column_encoding={"node": "DELTA_BYTE_ARRAY", "topic": "PLAIN"})


def long_times(file: Path) -> None:
    """Write 100,000 rows with one time of 40,000 letters."""
    table = pa.table({"node": repeated("a", 10**5), "topic": repeated("t", 10**5)})
    pq.write_table(table.append_column("time", repeated("1" * 40_000, 10**5)), file, compression="zstd")


@pytest.mark.parametrize(
    ("write", "commands"),
    [
        (one_long_name, ("plan",)),
        (many_rows, ("plan", "ingest")),
        (long_pages, ("plan", "ingest")),
        (shared_prefixes, ("plan", "ingest")),
        (long_times, ("ingest",)),
    ],
)
def test_small_parquet_files_that_stand_for_gigabytes(
    write: Callable[[Path], None], commands: tuple[str, ...], tmp_path: Path
) -> None:
    """Long names, many rows and pages of nothing are refused before they are decoded."""
    file = tmp_path / "bomb.parquet"
    write(file)
    assert file.stat().st_size < 2**18
    for command in commands:
        line = meshwright(command, file, "--out", tmp_path / "out").complaint
        assert f"{file} expands to more than" in line
        assert "raise the limit with MESHWRIGHT_MAX_EXPANSION" in line
    assert [path.name for path in tmp_path.iterdir()] == ["bomb.parquet"]


def test_the_memory_of_a_refusal(tmp_path: Path) -> None:
    """Four gigabytes of names are refused within 300 MB."""
    one_long_name(tmp_path / "bomb.parquet")
    done = subprocess.run(
        [sys.executable, "-m", "meshwright", "plan", tmp_path / "bomb.parquet", "--out", tmp_path / "plan"],
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (600 << 20, 600 << 20)),
    )
    assert (done.returncode, b"raise the limit with" in done.stderr) == (2, True), done.stderr


def test_a_name_that_is_stored_once_stays_so(tmp_path: Path) -> None:
    """`ingest` keeps positions in a dictionary, also where its value is not UTF-8."""
    one_long_name(tmp_path / "a.parquet")
    answer = meshwright("ingest", tmp_path / "a.parquet", "--out", tmp_path / "a", "--json").json
    assert (answer["kept"], answer["duplicates"]) == (1, 99_999)
    table = pa.table({"node": repeated(b"\xff" + b"x" * 1_600_000, 50_000), "topic": repeated("t", 50_000)})
    pq.write_table(table, tmp_path / "b.parquet", compression="none")
    answer = meshwright("ingest", tmp_path / "b.parquet", "--out", tmp_path / "b", "--max-bad", "1", "--json")
    assert answer.json["reasons"] == {"not UTF-8": 50_000}
    assert len(answer.json["first_quarantined"][0]) < 2000


def test_our_own_tables_have_the_limit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the manifest says."""
    monkeypatch.setattr("meshwright.store.tables.SMALL_TABLE", 2**20)
    dataset = mw.save(mw.Interest.of({"a": {"x"}}), tmp_path / "dataset")
    names = ("node", "topic")
    schema = pa.schema([pa.field(name, pa.int32(), nullable=False) for name in names])
    rows = pa.table({name: np.zeros(1 << 20, np.int32) for name in names}).cast(schema)
    pq.write_table(rows, dataset / "subscriptions" / "part-00000.parquet", compression="zstd")
    for words in (("plan", dataset, "--out", tmp_path / "plan"), ("profile", dataset), ("sample", dataset)):
        more = ("--nodes", "1", "--out", tmp_path / "sample") if words[0] == "sample" else ()
        assert "part-00000.parquet expands to more than" in meshwright(*words, *more).complaint


@pytest.mark.parametrize("kind", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_files_of_all_encodings_are_read(kind: str, tmp_path: Path) -> None:
    """Also those for which Arrow has no dictionaries, and texts and numbers of all sizes."""
    names = [f"{number % 300:>05}" for number in range(2000)]
    encoding = {"node": kind, "topic": kind}
    table = pa.table({"node": names, "topic": pa.array(names[::-1], pa.large_string())})
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=False, column_encoding=encoding)
    assert decode_table(tmp_path / "a.parquet", ["topic", "node"]) == table.select(["topic", "node"])
    answer = meshwright("ingest", tmp_path / "a.parquet", "--out", tmp_path / "a", "--json")
    assert (answer.json["read"], answer.json["nodes"]) == (2000, 300)
    for pieces in ([batch for _, batch in decode_batches(tmp_path / "a.parquet", ["node"])],):
        assert pa.Table.from_batches(pieces).column("node").to_pylist() == names


def test_nested_columns_are_refused(tmp_path: Path) -> None:
    """They could hold anything."""
    pq.write_table(pa.table({"node": [["a"]], "topic": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=r"column 'node' of .* is list<element: string>: make it flat"):
        decode_table(tmp_path / "a.parquet", ["node", "topic"])
    assert "is list<" in meshwright("plan", tmp_path / "a.parquet", "--out", tmp_path / "p").complaint


@pytest.mark.parametrize(("pack", "ending"), [(gzip.compress, ".gz"), (bz2.compress, ".bz2")])
def test_compressed_texts_expand_so_far(
    pack: Callable[[bytes], bytes], ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, pages and logs: they are counted while they are read; the option raises the limit."""
    rows = b"node,topic\n" + (b"a," + b"x" * 60_000 + b"\n") * 300
    page = json.dumps({"data": [], "meta": {"page": 1}}).encode() + b" " * (20 << 20)
    for name, content in (("rows.csv", rows), ("page.json", page)):
        (tmp_path / (name + ending)).write_bytes(pack(content))
    more = {"rows.csv": (), "page.json": ("--format", "emqx")}
    for name, words in more.items():
        line = meshwright("ingest", tmp_path / (name + ending), *words, "--out", tmp_path / "d").complaint
        assert f"{name}{ending} expands to more than 16,777,216 bytes" in line
    monkeypatch.setenv(MAX_EXPANSION[0], "1000000")
    answer = meshwright("ingest", tmp_path / f"rows.csv{ending}", "--out", tmp_path / "d", "--json")
    assert answer.json["read"] == 300


def test_a_counted_file_reads_as_asked(tmp_path: Path) -> None:
    """As many bytes, or all; never more than the limit."""
    (tmp_path / "a").write_bytes(b"x" * 100)
    with (tmp_path / "a").open("rb") as opened:
        file = CountedFile(opened, Decoded("a", 1, least=150))
        assert [len(file.read(size)) for size in (30, 0, 60, 30, 5)] == [30, 0, 60, 10, 0]
        opened.seek(0)
        with pytest.raises(InputError, match=r"^a expands to more than 150 bytes, 100 times its size or"):
            file.read()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl"])
def test_a_long_line_is_named(name: str, tmp_path: Path) -> None:
    """Not as damaged: with its number, for subscriptions and costs; `ingest` sets it aside."""
    long = "x" * 3_000_000
    text = f"node,topic\na,x\nb,{long}\n" if "csv" in name else f'{{"node": "a", "topic": "{long}"}}\n'
    packed = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(packed)
    line = meshwright("plan", tmp_path / name, "--out", tmp_path / "plan").complaint
    assert f"line {3 if 'csv' in name else 1} is longer than 1,048,576 bytes; correct it" in line
    assert "line longer than" in meshwright("ingest", tmp_path / name, "--out", tmp_path / "d").complaint


def test_a_long_first_line_is_named(tmp_path: Path) -> None:
    """The error does not repeat it."""
    (tmp_path / "a.csv").write_text("x" * 3_000_000 + "\na,x\n")
    (tmp_path / "s.csv").write_text("node,topic\na,x\nb,x\n")
    long, file = tmp_path / "a.csv", tmp_path / "s.csv"
    cases: list[tuple[str, list[str | Path]]] = [
        ("262,144", ["ingest", long]),
        ("1,048,576", ["plan", file, "--costs", long]),
    ]
    for most, words in cases:
        line = meshwright(*words, "--out", tmp_path / "out").complaint
        assert f"is longer than {most} bytes" in line
        assert len(line) < 300
