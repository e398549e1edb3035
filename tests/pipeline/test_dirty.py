"""A dirty corpus: every bad row is accounted for, with its line and its reason."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from meshwright import load_interest
from meshwright.errors import FormatError
from meshwright.pipeline.dataset import ingest as ingesting
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.readers import sources
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.sources import SourceFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conftest import Engine

OPEN_QUOTE = "quote without an end in its line: if values have line breaks, use --quoted-newlines"
HEADER = b"node,topic,operation,time\n"
GOOD = "good"
DUPLICATE = "duplicate"
SUPERSEDED = "superseded"

CORPUS: list[tuple[bytes, str]] = [
    (b"a,x,subscribe,10\n", GOOD),
    (b"a,x,subscribe,11\r\n", DUPLICATE),  # another line ending
    (b"b,x,subscribe,12\r", GOOD),  # and a third line ending
    (b"broken\xff\xfe,x,subscribe,13\n", "not UTF-8"),
    (b'"a,y,subscribe,14\n', OPEN_QUOTE),
    (b'"a"b,y,subscribe,14\n', "quotes do not match"),
    (b'"quoted, name",y,subscribe,15\n', GOOD),
    (b'5"" pipe,y,subscribe,15\n', "quotes do not match"),
    (b'"broken\n', OPEN_QUOTE),  # a name over two lines
    (b'name",y,subscribe,15\n', OPEN_QUOTE),
    (b'"' + b"y" * 200_000 + b'",y,subscribe,15\n', "node name longer than 65535 bytes"),
    (b"\n", ""),  # a blank line is not a row
    (b"a,y\n", "2 columns, not 4"),
    (b"a,y,subscribe,16,more\n", "5 columns, not 4"),
    (b",y,subscribe,17\n", "blank node name"),
    (b"a,   ,subscribe,17\n", "blank topic name"),
    (b"a,\xe3\x80\x80,subscribe,17\n", "blank topic name"),  # an ideographic space
    (b"a\x00b,y,subscribe,18\n", "control character in node name"),
    (b"a,y\tz,subscribe,18\n", "control character in topic name"),
    (b"a,y,dance,19\n", "unknown operation"),
    (b"a,y,subscribe,yesterday\n", "time is neither ISO 8601 nor a number of seconds"),
    (b"a,y,subscribe,nan\n", "time is neither ISO 8601 nor a number of seconds"),
    (b"a," + b"y" * 70_000 + b",subscribe,20\n", "topic name longer than 65535 bytes"),
    (b"a," + b"z" * 10_000_000 + b",subscribe,20\n", "line longer than 262144 bytes"),
    (b"c,z,unsubscribe,30\n", SUPERSEDED),  # out of order: its subscribe comes later, and is earlier
    (b"c,z,subscribe,29\n", SUPERSEDED),
    (b"d,z,unsubscribe,31\n", SUPERSEDED),  # at the same time, in the order of lines
    (b"d,z,subscribe,31\n", GOOD),
    (b"e,z,unsubscribe,32\n", SUPERSEDED),  # of a subscription that never existed
    ("é,ü,,\n".encode(), GOOD),  # neither operation nor time
    (b"a,x,Subscribe,1970-01-01T00:00:12Z", DUPLICATE),  # no line ending at the end
]


def write(corpus: Sequence[tuple[bytes, str]], file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + HEADER + b"".join(line for line, _ in corpus))


def test_every_row_is_accounted_for(engine: Engine, tmp_path: Path) -> None:
    """The counts of more than fifteen kinds of defects add up, and each bad row has its line and reason."""
    write(CORPUS, tmp_path / "a.csv")
    outcome = ingest(engine, [tmp_path / "a.csv"], tmp_path / "out", max_bad=1)
    fates = Counter(fate if fate in (GOOD, DUPLICATE, SUPERSEDED) else "bad" for _, fate in CORPUS if fate)
    assert outcome.read == sum(fates.values())
    found = (outcome.kept, outcome.duplicates, outcome.superseded, outcome.quarantined)
    assert found == (fates[GOOD], fates[DUPLICATE], fates[SUPERSEDED], fates["bad"])
    expected = [
        (line, fate)
        for line, (_, fate) in enumerate(CORPUS, start=2)
        if fate not in ("", GOOD, DUPLICATE, SUPERSEDED)
    ]
    aside = pq.read_table(tmp_path / "out" / "quarantine").to_pylist()
    assert [(row["line"], row["reason"]) for row in aside] == expected
    assert len({reason for _, reason in expected}) >= 11
    assert max(len(row["record"]) for row in aside) < 1100
    assert load_interest(tmp_path / "out").node_names.to_pylist() == ["a", "b", "d", "quoted, name", "é"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["counts"]["read"] == sum(fates.values())


def test_json_lines(tmp_path: Path) -> None:
    """Defects that only JSON lines can have are accounted for too."""
    lines = [
        ('{"node": "a", "topic": "x"}', None),
        ('{"node": 7, "topic": "x", "more": [1]}', None),
        ("{not json}", "not JSON"),
        ('["a", "x"]', "not a JSON object"),
        ('{"node": null, "topic": "x"}', "no node name"),
        ('{"topic": "x"}', "no node name"),
        ('{"node": true, "topic": "x"}', "node name is neither a string nor an integer"),
        ('{"node": "a", "topic": {"x": 1}}', "topic name is neither a string nor an integer"),
        ('{"node": "a", "topic": "\\ud800"}', "not UTF-8"),
        ('{"node": "a", "topic": "x", "sequence": "one"}', "sequence is not an integer"),
        ("[" * 100_000, "not JSON"),
    ]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("\n".join(line for line, _ in lines).encode()))
    outcome = ingest(None, [tmp_path / "a.jsonl.gz"], tmp_path / "out", max_bad=1)
    aside = pq.read_table(tmp_path / "out" / "quarantine").to_pylist()
    expected = [(number, why) for number, (_, why) in enumerate(lines, start=1) if why]
    assert [(row["line"], row["reason"]) for row in aside] == expected
    assert (outcome.read, outcome.kept) == (len(lines), 2)


@pytest.mark.parametrize("change", ["deleted", "grown"])
def test_files_that_change_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """A file that is deleted or grows while it is read is an error that names it, and nothing is written."""
    file = tmp_path / "a.csv"
    file.write_text("node,topic\na,x\n")

    def list_files(*words: object, **options: object) -> list[SourceFile]:
        found = real(*words)  # type: ignore[arg-type]
        if change == "deleted":
            file.unlink()
        else:
            file.write_text("node,topic\na,x\nb,y\n")
        return found

    real = sources.list_files
    monkeypatch.setattr(ingesting, "list_files", list_files)
    with pytest.raises(FormatError if change == "grown" else Exception, match=r"a\.csv") as refused:
        ingest(None, [file], tmp_path / "out", Reading("csv"))
    assert isinstance(refused.value, ValueError)
    assert not (tmp_path / "out").exists()
