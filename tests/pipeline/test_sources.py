"""Sources: every file that was named is read, or an error names those that cannot be."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from meshwright import load_interest
from meshwright.errors import FormatError, InputError
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.readers.formats import FORMATS, Reading, check_packing
from meshwright.pipeline.readers.shares import cut_shares
from meshwright.pipeline.readers.sources import (
    SourceFile,
    Stretch,
    check_unchanged,
    compressed_sizes,
    list_files,
    megabytes,
)
from meshwright.pipeline.readers.text import windows
from meshwright.store.dataset_parts import new_part
from object_store import folder_as_store
from terminal import meshwright

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from conftest import Engine

ODD_NAMES = ("a b.csv", "a%20b.csv", "e[1].csv", "f+g.csv", "{h}.csv", "ü.csv", "sub/c.csv", "day=1/d.csv")


def subscription(file: Path, node: str, ending: str = "") -> Path:
    """Write a file with one subscription."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"node,topic\n{node},x{ending}\n", encoding="utf-8")
    return file


def test_files_of_any_name_are_read(engine: Engine, tmp_path: Path) -> None:
    """A folder stands for all files in it and its subfolders, with any names.

    A bad row is reported with the exact name of its file, even if that looks percent-encoded.
    """
    files = [subscription(tmp_path / "in" / name, f"n{number}") for number, name in enumerate(ODD_NAMES)]
    for sources in ([tmp_path / "in"], files):
        assert [Path(file.path) for file in list_files(engine, sources)] == sorted(files)
    assert ingest(engine, [tmp_path / "in"], tmp_path / "out").kept == len(files)
    subscription(tmp_path / "a%20b.csv", "n", "\nonly one column")
    with pytest.raises(InputError, match=r"line 3 of .*/a%20b\.csv"):
        ingest(engine, [tmp_path / "a%20b.csv"], tmp_path / "other")


def test_the_output_is_not_a_source(tmp_path: Path) -> None:
    """Ingesting a folder into a subfolder of it gives the same result each time."""
    subscription(tmp_path / "a.csv", "a")
    for _ in range(2):
        answer = meshwright("ingest", tmp_path, "--out", tmp_path / "dataset", "--json")
        assert (answer.code, json.loads(answer.out)["read"]) == (0, 1)


def test_files_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL means a file, a folder with all that is below, or a glob; hidden files are skipped."""
    folder_as_store(tmp_path, monkeypatch)
    for name in ("a.csv", "b.txt", "in/a.csv", "in/deep/b.csv", "in/_c.csv", "in/.d/e.csv", "out/f.csv"):
        subscription(tmp_path / "bucket" / name, name)

    def found(*names: str, **more: str) -> list[str]:
        files = list_files(None, [f"s3://bucket{name}" for name in names], exclude=more.get("exclude"))
        for file in files:
            local = tmp_path / file.path.removeprefix("s3://").partition("?")[0]
            assert (file.size, file.modified) == (local.stat().st_size, str(local.stat().st_mtime_ns))
        return [file.path.removeprefix("s3://bucket/") for file in files]

    everything = ["a.csv", "b.txt", "in/a.csv", "in/deep/b.csv", "out/f.csv"]
    assert found("") == found("/", "/a.csv", "/a.csv") == everything
    assert found("", exclude="s3://bucket/out/") == everything[:-1]
    assert found("/in") == ["in/a.csv", "in/deep/b.csv"]
    assert found("/b.txt") == ["b.txt"]
    assert found("/*.csv") == ["a.csv"]
    assert found("/*/*.csv") == ["in/a.csv", "out/f.csv"]
    assert found("/{in,out}/*.csv?region=x") == ["in/a.csv?region=x", "out/f.csv?region=x"]
    assert found("/in/deep?region=x") == ["in/deep/b.csv?region=x"]
    assert found("/i[m-o]/?.csv") == ["in/a.csv"]
    with pytest.raises(InputError, match=r"^s3://bucket/none does not exist: check the address$"):
        found("/none")
    with pytest.raises(
        InputError, match=r"no file in 's3://bucket/none-\*': give a folder or glob that has files"
    ):
        found("/none-*")
    assert list_files(None, ["s3://bucket/none-*"], allow_none=True) == []


def test_a_store_that_cannot_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the URL, with the first line of what the library says, or the name of its error."""
    folder_as_store(tmp_path, monkeypatch)
    for error, why in (
        (OSError("no route\nat all"), "no route"),
        (OSError(), "OSError"),
        (OSError("x" * 300), "x" * 200),
    ):

        def fail(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("meshwright.pipeline.readers.sources._files_below", fail)
        with pytest.raises(InputError) as raised:
            list_files(None, ["s3://bucket/*"])
        assert str(raised.value) == f"s3://bucket/* cannot be reached: {why}"


def test_sources_that_cannot_be_listed(tmp_path: Path) -> None:
    """Nothing at all, a folder without files, and a link to nowhere are errors with a next step."""
    with pytest.raises(InputError, match="no source: name at least one file, folder or glob"):
        list_files(None, [])
    with pytest.raises(InputError, match=f"no file in '{tmp_path}': give a folder or glob that has files"):
        list_files(None, [tmp_path])
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="link cannot be read: No such file or directory"):
        list_files(None, [tmp_path / "link"])


def test_files_that_change_while_they_are_read(tmp_path: Path) -> None:
    """A file that changes, or is deleted, is an error that names it; a new file beside it is not."""
    files = [subscription(tmp_path / f"{name}.csv", name) for name in "ab"]
    listed = list_files(None, [tmp_path])
    subscription(tmp_path / "c.csv", "c")
    check_unchanged(None, listed)
    subscription(files[1], "changed")
    with pytest.raises(FormatError, match=f"^'{files[1]}' changed while being read"):
        check_unchanged(None, listed)
    files[0].unlink()
    with pytest.raises(FormatError, match=rf"^files were deleted while they were read \({files[0]}"):
        check_unchanged(None, listed)


def test_the_sizes_of_sources(tmp_path: Path) -> None:
    """Compressed files of this machine have their sizes by real path; megabytes are at least one."""
    (tmp_path / "link.GZ").symlink_to(tmp_path / "a.gz")
    names = [tmp_path / "link.GZ", f"file://{tmp_path}/b.bz2", tmp_path / "c.csv", "s3://bucket/d.gz"]
    files = [SourceFile(str(name), 700_000 * (place + 1), "") for place, name in enumerate(names)]
    assert compressed_sizes(files) == {str(tmp_path / "a.gz"): 700_000, str(tmp_path / "b.bz2"): 1_400_000}
    assert [megabytes(files[:count]) for count in (0, 1, 2)] == [1, 1, 2]


def test_files_that_spark_skips_are_refused(tmp_path: Path) -> None:
    """A hidden file that is named is refused; inside a folder it is skipped."""
    good, hidden = subscription(tmp_path / "b.csv", "b"), subscription(tmp_path / "_a.csv", "a")
    with pytest.raises(InputError, match="begin with _ or a dot"):
        ingest(None, [good, hidden], tmp_path / "out")
    assert [Path(file.path) for file in list_files(None, [tmp_path])] == [good]


def test_a_name_with_a_colon_is_read(tmp_path: Path) -> None:
    """Names with colons, which Spark itself cannot read, are names as others."""
    subscription(tmp_path / "in" / "2026-01-01T12:00:00.csv", "a")
    assert ingest(None, [f"{tmp_path}/in/*.csv"], tmp_path / "out").kept == 1


def test_empty_files(tmp_path: Path) -> None:
    """An empty text file has no rows; an empty compressed or Parquet file is an error that names it."""
    good = subscription(tmp_path / "good.csv", "a")
    (tmp_path / "empty.csv").touch()
    assert ingest(None, [good, tmp_path / "empty.csv"], tmp_path / "out").read == 1
    for ending in ("csv.gz", "csv.bz2", "parquet"):
        cut = tmp_path / f"cut.{ending}"
        cut.touch()
        with pytest.raises(FormatError, match=rf"empty files '{cut}'"):
            ingest(None, [good, cut], tmp_path / "other")


def test_truncated_files_are_errors(tmp_path: Path) -> None:
    """A truncated file is named, and nothing is written."""
    text = "node,topic\n" + "".join(f"n{number},t{number % 7}\n" for number in range(30_000))
    whole = gzip.compress(text.encode())
    (tmp_path / "half.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match=r"half\.csv\.gz is cut off"):
        ingest(None, [tmp_path], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_tsv_files_have_tabs(tmp_path: Path) -> None:
    """Columns of .tsv files are separated by tabs, next to a .csv file with commas."""
    (tmp_path / "a.tsv").write_text("node\ttopic\na,b\tx\n")
    subscription(tmp_path / "b.csv", "c")
    ingest(None, [tmp_path / "a.tsv", tmp_path / "b.csv"], tmp_path / "out")
    assert load_interest(tmp_path / "out").node_names.to_pylist() == ["a,b", "c"]


def test_columns_that_no_json_record_has(tmp_path: Path) -> None:
    """A column given by name must be in some record; otherwise an unsubscribe would count as a subscribe."""
    records = [
        {"node": "a", "topic": "x", "op": word, "ts": time}
        for time, word in enumerate(("subscribe", "unsubscribe"))
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    reading = Reading("jsonl", operation="op", time="ts")
    folded = ingest(None, [tmp_path / "a.jsonl"], tmp_path / "out", reading, allow_empty=True)
    assert folded.superseded == 2
    for wrong in (Reading("jsonl", operation="opp", time="ts"), Reading("jsonl", operation="op", time="tss")):
        with pytest.raises(
            InputError, match=r"no row has a value in '(opp|tss)': name the right column with --"
        ):
            ingest(None, [tmp_path / "a.jsonl"], tmp_path / "out", wrong)


def test_unknown_compressions() -> None:
    """Every format refuses a compressed file that Spark would read as text, by its name."""
    for kind in sorted(set(FORMATS) - {"parquet"}):
        for name in ("a.csv.xz", "a.log.deflate", "a.json.ZST", "a.txt.lz4"):
            with pytest.raises(InputError, match=rf"^'/p/{name}' cannot be decompressed: .* \.gz or \.bz2$"):
                cut_shares([SourceFile(f"/p/{name}", 1, "")], Reading(kind), 100)


def test_known_compressions() -> None:
    """Plain files, .gz and .bz2 are accepted, with any other text in their names."""
    check_packing(
        [SourceFile(f"/p.xz/{name}", 1, "") for name in ("a.csv", "a.zip.csv.gz", "a.log.1.bz2", "zst")]
    )


@pytest.mark.slow
def test_ten_thousand_files(spark: SparkSession, tmp_path: Path) -> None:
    """Executors read small files together, and a wrong header among them is one line that names the file."""
    (tmp_path / "in").mkdir()
    for number in range(10_000):
        (tmp_path / "in" / f"{number:05}.csv").write_text(f"node,topic\nn{number},t{number % 50}\n")
    outcome = ingest(spark, [tmp_path / "in"], tmp_path / "out")
    assert (outcome.read, outcome.kept, outcome.nodes, outcome.topics) == (10_000, 10_000, 10_000, 50)
    (tmp_path / "in" / "07777.csv").write_text("client,topic\na,b\n")
    with pytest.raises(InputError, match=r"no column 'node' in .*07777\.csv"):
        ingest(spark, [tmp_path / "in"], tmp_path / "out")


def test_paths_that_workers_do_not_see(tmp_path: Path) -> None:
    """A file that is listed but not there for a worker, and an output folder that is not, are named."""
    with pytest.raises(InputError, match=r"^workers cannot see .*/a\.csv: put it where every worker has it"):
        list(windows(Stretch(str(tmp_path / "a.csv"), 0, 9, 0, True)))
    writing = new_part(str(tmp_path / "out"), "nodes", 0)
    with pytest.raises(InputError, match=r"^workers cannot see .*: choose a folder that every worker has"):
        writing.__enter__()


def test_globs_find_files_in_all_folders(tmp_path: Path) -> None:
    """`**` stands for any folders, or none; what is hidden stays so, also in a folder that a * matches."""
    for name in ("a.csv", "x/b.csv", "x/y/c.csv", "_tmp/d.csv", "x/.e.csv", "x/_y/f.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("node,topic\na,x\n")
    found = [Path(file.path).name for file in list_files(None, [tmp_path / "**" / "*.csv"])]
    assert found == ["a.csv", "b.csv", "c.csv"]
    assert [Path(file.path).name for file in list_files(None, [tmp_path / "*" / "*.csv"])] == ["b.csv"]
    with pytest.raises(InputError, match="matches no file"):
        list_files(None, [tmp_path / "*.tsv"])


def test_pipes_are_refused(tmp_path: Path) -> None:
    """A pipe can be read only once, and a header is read before its rows."""
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(InputError, match="is not a file"):
        list_files(None, [tmp_path])


def test_several_streams_of_bzip2(tmp_path: Path) -> None:
    """They are one file, as in parallel compression; what follows them must be another one."""
    streams = [bz2.compress(text.encode()) for text in ("node,to", "pic\na,x\n" + "b,x\n" * 99)]
    (tmp_path / "a.csv.bz2").write_bytes(b"".join(streams))
    assert ingest(None, [tmp_path], tmp_path / "out").read == 100
    for damaged in (streams[0] + streams[1][3:], streams[0] + streams[1][:-9], streams[0] + b"B"):
        (tmp_path / "a.csv.bz2").write_bytes(damaged)
        with pytest.raises(FormatError, match=r"a\.csv\.bz2 (cannot be read|is cut off)"):
            ingest(None, [tmp_path], tmp_path / "out")
