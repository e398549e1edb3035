"""Tables of files: an error is one line that names the file and what to do."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meshwright.errors import FormatError, InputError
from meshwright.files.header import Kind, check_digests, table_digests
from meshwright.store.row_files import errors_name_file, read_csv
from meshwright.store.tables import NamedColumns, first_line, open_parquet, read_parts

SCHEMA = pa.schema({"a": pa.int64()})


def test_parquet_files_that_cannot_be_opened(tmp_path: Path) -> None:
    """A missing file is one that workers cannot see; another file is not Parquet; a good one is read."""
    with (
        pytest.raises(InputError, match=f"workers cannot see {tmp_path}/none"),
        open_parquet(f"{tmp_path}/none"),
    ):
        pass
    (tmp_path / "bad").write_text("no parquet at all")
    said = f"{tmp_path}/bad cannot be read as Parquet: .* copy or write it again, or name its format"
    whole = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), whole)
    for content in (b"no parquet at all", b"", b"PAR1 no", whole.getvalue()[:-1]):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(FormatError, match=said), open_parquet(f"{tmp_path}/bad"):
            pass
    (tmp_path / "worse").write_bytes(b"PAR1" + bytes(100) + b"\x10\0\0\0PAR1")
    damaged = pytest.raises(
        FormatError, match=r"worse cannot be read as Parquet: .*; copy or write it again$"
    )
    with damaged, open_parquet(f"{tmp_path}/worse"):
        pass
    with pytest.raises(FormatError, match=f"{tmp_path}/bad cannot be read as Parquet: "):
        NamedColumns.read(tmp_path / "bad")
    with pytest.raises(FormatError, match="none is missing"):
        NamedColumns.read(tmp_path / "none")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "good")
    with open_parquet(f"{tmp_path}/good") as parquet:
        assert parquet.metadata.num_rows == 1
    assert NamedColumns.read(tmp_path / "good").column("a").to_pylist() == [1]


def test_parts_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Hidden files are no parts; a folder without parts is damaged."""
    with pytest.raises(FormatError, match="it has no Parquet file"):
        read_parts(tmp_path, SCHEMA)
    for name, value in (("b", 2), ("a", 1), ("_c", 3), (".d", 4)):
        pq.write_table(pa.table({"a": [value]}, schema=SCHEMA), tmp_path / f"{name}.parquet")
    assert read_parts(tmp_path, SCHEMA).column("a").to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PermissionError(13, "Permission denied"), "a.csv cannot be read: Permission denied; check it"),
        (
            pa.ArrowInvalid("Expected 2 columns, got 3: a"),
            "a.csv cannot be read: a line has 3 columns, not 2; correct it",
        ),
        (pa.ArrowInvalid("invalid UTF8 data"), "a.csv is not UTF-8 text: save it as UTF-8"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "x"), "a.csv is not UTF-8 text: save it as UTF-8"),
        (
            pa.ArrowInvalid("anything"),
            "a.csv cannot be read: it is damaged, or not what its name says; write it again",
        ),
        (
            OSError("no number"),
            "a.csv cannot be read: it is damaged, or not what its name says; write it again",
        ),
        (FormatError("of ours"), "a.csv: of ours"),
        (InputError("names a.csv itself"), "names a.csv itself"),
    ],
)
def test_errors_name_the_file(error: Exception, line: str) -> None:
    """Each error says what is wrong with the file; our own are kept."""
    with pytest.raises((FormatError, InputError)) as raised, errors_name_file(Path("a.csv")):
        raise error
    assert str(raised.value) == line
    assert first_line(ValueError()) == "ValueError"
    assert first_line(ValueError("a\nb")) == "a"


def test_csv_files_without_a_header(tmp_path: Path) -> None:
    """The first columns get the names; too few are an error, further ones are left out."""
    file = tmp_path / "a.csv"
    file.write_text("007,x,9\nNULL,y,9\n")
    assert read_csv(file, ["node", "topic"], header=False).to_pydict() == {
        "node": ["007", "NULL"],
        "topic": ["x", "y"],
    }
    assert read_csv(file, ["x"]).to_pydict() == {"x": ["y"]}
    with pytest.raises(InputError, match="line 1 has 3 columns, not 4: choose the right --delimiter"):
        read_csv(file, list("abcd"), header=False)
    file.write_text("007\n")
    with pytest.raises(InputError, match="line 1 has 1 column, not 2: choose"):
        read_csv(file, ["node", "topic"], header=False)


def test_digests_find_what_changed(tmp_path: Path) -> None:
    """Listed files must be there and as they were; a description without a list is not checked."""
    kind = Kind("thing", "thing.json", 1)
    (tmp_path / "a.parquet").write_text("one")
    listed = {"files": table_digests(tmp_path)}
    check_digests(tmp_path, kind, listed)
    check_digests(tmp_path, kind, {})
    with pytest.raises(FormatError, match="'files' is not an object"):
        check_digests(tmp_path, kind, {"files": 3})
    (tmp_path / "a.parquet").write_text("other")
    with pytest.raises(FormatError, match=r"a\.parquet.* has changed since thing\.json was written"):
        check_digests(tmp_path, kind, listed)
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(FormatError, match=r"a\.parquet is missing"):
        check_digests(tmp_path, kind, listed)
