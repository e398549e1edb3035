"""Every kind of dirt has its fate: it is cleaned by a rule and counted, or quarantined with a reason."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright import load_interest
from meshwright.errors import FormatError, InputError
from meshwright.pipeline.dataset.ingest import ingest
from meshwright.pipeline.readers import csv_files, fields, json_lines, text, times
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.sources import Stretch
from meshwright.pipeline.readers.text import Window
from meshwright.pipeline.readers.times import (
    AMBIGUOUS_TIME,
    BAD_TIME,
    CODES,
    WRONG_CLOCK,
    parse_time,
    parse_times,
)

TIMES: dict[str, float | str] = {
    "1700000000": 1.7e9,
    " 1700000000 ": 1.7e9,
    "1700000000.5": 1700000000.5,
    "1.7e9": 1.7e9,
    "+1700000000": 1.7e9,
    "1700000000000": 1.7e9,  # milliseconds
    "1700000000000000": 1.7e9,  # microseconds
    "1700000000000000000": 1.7e9,  # nanoseconds
    "2023-11-14T22:13:20Z": 1.7e9,
    "2023-11-14T22:13:20.500": 1700000000.5,
    "2023-11-14 22:13:20": 1.7e9,
    "2023-11-14T23:13:20+01:00": 1.7e9,
    "2023-11-14T22:13": 1699999980.0,
    "2023-11-14": 1699920000.0,
    "20240501": AMBIGUOUS_TIME,
    "20241301": 20241301.0,  # not a date
    "1_700_000_000": BAD_TIME,
    "١٧٠٠٠٠٠٠٠٠": BAD_TIME,  # digits that are not ASCII
    "2023-11-14T24:00:00Z": BAD_TIME,
    "2023-11-31": BAD_TIME,
    "2023-11-14+01:00": BAD_TIME,  # a zone without a time of day, which is not one o'clock
    "12:30": BAD_TIME,
    "nan": BAD_TIME,
    "inf": BAD_TIME,
    "0x10": BAD_TIME,
    "yesterday": BAD_TIME,
    "9999-12-31T00:00:00Z": WRONG_CLOCK,
    "4102444800": WRONG_CLOCK,
    "253402214400": WRONG_CLOCK,  # the year 9999 in seconds, not 1978 in milliseconds
    "253402214400000": WRONG_CLOCK,  # and in milliseconds
    "631152000000": 631152000.0,  # the first number that is in milliseconds: 1990
    "-1": WRONG_CLOCK,
    "1969-07-20": WRONG_CLOCK,
}


@pytest.mark.parametrize("given", TIMES)
def test_times(given: str) -> None:
    """A time means the same one by one, in a column, and next to others of any kind."""
    expected = TIMES[given]
    alone = parse_time(given)
    assert alone == (expected if isinstance(expected, float) else None)
    for column in ([given], [given, "1700000000"], [given, "2023-11-14T22:13:20Z"], [given, None, "", "x"]):
        values, codes = parse_times(pa.array(column, pa.string()))
        if isinstance(expected, float):
            assert (values[0], codes[0]) == (expected, 0)
        else:
            assert CODES[codes[0]] == expected


stamps = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.datetimes().map(lambda time: time.isoformat()),
    st.datetimes().map(lambda time: time.isoformat() + "Z"),
    st.text("0123456789-T:.Z+ e", max_size=24),
    st.sampled_from([*TIMES]),
)


@given(st.lists(stamps, min_size=1, max_size=5))
def test_columns_of_times_are_read_as_one_by_one(given: list[str]) -> None:
    """However a column is parsed, each time is what it is alone."""
    values, codes = parse_times(pa.array(given, pa.string()))
    for text_, value, code in zip(given, values, codes, strict=True):
        alone = parse_time(text_)
        if not text_.strip():
            assert (code, math.isnan(value)) == (0, True)
        else:
            assert (alone is None) == (code != 0)
            assert alone is None or alone == value


NAMES: dict[str, str | None] = {
    "plain": None,
    " around\u3000": None,  # cleaned
    "cafe\u0301": None,  # cleaned: NFD
    "a b": None,
    "\u0939\u093f\u0928\u094d\u200d\u0926\u0940": None,  # a joiner that Hindi needs
    "NULL": "node name stands for a missing value",
    "null": "node name stands for a missing value",
    "nan": "node name stands for a missing value",
    "\\N": "node name stands for a missing value",
    "nullable": None,
    "zero\u200bwidth": "invisible character in node name",
    "\ufeffmark": "invisible character in node name",
    "right\u202eleft": "invisible character in node name",
    "mark\u061c": "invisible character in node name",
    "\u3164": "invisible character in node name",  # a filler of Hangul
    "nothing to join\u200d": "invisible character in node name",
    "c1\u0085": "control character in node name",
    "bell\x07": "control character in node name",
    "   ": "blank node name",
    "": "blank node name",
}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_names_mean_the_same_in_every_format(tmp_path: Path, kind: str) -> None:
    """Names are cleaned and refused alike; blanks and combining marks are counted."""
    file = tmp_path / f"a.{kind}"
    if kind == "csv":
        quoted = ['"' + name.replace("\x85", "\u0085") + '",t\n' for name in NAMES]
        file.write_text("node,topic\n" + "".join(quoted), encoding="utf-8", newline="")
    elif kind == "jsonl":
        lines = [json.dumps({"node": name, "topic": "t"}, ensure_ascii=False) for name in NAMES]
        file.write_text("\n".join(lines), encoding="utf-8", newline="")
    else:
        pq.write_table(pa.table({"node": [*NAMES], "topic": ["t"] * len(NAMES)}), file)
    outcome = ingest(None, [file], tmp_path / "out", max_bad=1)
    good = [name for name, reason in NAMES.items() if reason is None]
    held = load_interest(tmp_path / "out").node_names.to_pylist()
    assert set(held) == {"around", "café", *good[3:], "plain"}
    found = pq.read_table(tmp_path / "out" / "quarantine").column("reason").to_pylist()
    assert found == [reason for reason in NAMES.values() if reason is not None]
    assert outcome.cleaned == {fields.TRIMMED: 1, fields.COMPOSED: 1}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["counts"]["cleaned"] == 2


def quarantine(dataset: Path) -> list[tuple[int, str]]:
    rows = pq.read_table(dataset / "quarantine").to_pylist()
    return [(row["line"], row["reason"]) for row in rows]


def test_line_breaks_in_quotes(tmp_path: Path) -> None:
    """Line breaks in values need an option; without it, each line is quarantined and the reason names it."""
    file = tmp_path / "a.csv"
    file.write_text('node,note,topic\na,"one\ntwo, three\n",x\nb,plain,y\n"c\nd",,z\ne,"un\n')
    ingest(None, [file], tmp_path / "out", max_bad=1)
    reasons = quarantine(tmp_path / "out")
    assert [line for line, _ in reasons] == [2, 3, 4, 6, 7, 8]
    assert "--quoted-newlines" in reasons[0][1]
    outcome = ingest(None, [file], tmp_path / "out", Reading("csv", quoted_newlines=True), max_bad=1)
    assert (outcome.kept, outcome.quarantined) == (2, 2)
    assert quarantine(tmp_path / "out") == [
        (6, "control character in node name"),
        (8, "quotes do not match"),
    ]


def test_a_quote_without_an_end_hides_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the option too, it affects its own line only, wherever windows end; so do quotes in comments."""
    monkeypatch.setattr(text, "LONGEST_LINE", 100)
    broken = [f'a{number},"x","one\ntwo"\n' for number in range(7)]
    rows = [f'b{number},"x","one"\n' for number in range(33)]
    lines = [*broken, 'c,"y\n', *rows[:13], '# it"s a comment\n', *broken, *rows[13:], 'd,"z']
    (tmp_path / "a.csv").write_text("node,topic,note\n" + "".join(lines))
    for at_once in (1 << 22, 64, 7):
        monkeypatch.setattr(text, "BYTES_AT_ONCE", at_once)
        reading = Reading("csv", quoted_newlines=True)
        outcome = ingest(None, [tmp_path / "a.csv"], tmp_path / "out", reading, max_bad=1)
        assert (outcome.read, outcome.kept, outcome.duplicates) == (50, 40, 7)
        assert quarantine(tmp_path / "out") == [
            (16, "quotes do not match"),
            (30, "comment line"),
            (65, "quotes do not match"),
        ]


def test_comments_and_blank_lines(tmp_path: Path) -> None:
    """Blank lines are no rows; a line that begins with # and a blank is quarantined, # alone is a name."""
    (tmp_path / "a.csv").write_text("topic,node\n\n# a comment, with a comma\n#,b1\n\nt,b2\n")
    outcome = ingest(None, [tmp_path / "a.csv"], tmp_path / "out", max_bad=1)
    assert (outcome.read, outcome.kept) == (3, 2)
    assert quarantine(tmp_path / "out") == [(3, "comment line")]


def test_keys_twice_and_empty_operations(tmp_path: Path) -> None:
    """A JSON object with a key twice is quarantined; an empty operation is a subscribe, and counted."""
    (tmp_path / "a.jsonl").write_text(
        '{"node": "a", "topic": "x", "topic": "y"}\n'
        '{"node": "a", "topic": "x", "operation": ""}\n'
        '{"node": "b", "topic": "x", "operation": "unsubscribe"}\n'
    )
    outcome = ingest(None, [tmp_path / "a.jsonl"], tmp_path / "out", max_bad=1)
    assert (outcome.kept, outcome.superseded, outcome.quarantined) == (1, 1, 1)
    assert quarantine(tmp_path / "out") == [(1, "JSON object has a key twice")]
    assert outcome.cleaned == {fields.NO_OPERATION: 1}


def test_keys_twice_that_nobody_reads(tmp_path: Path) -> None:
    """Only the columns that are read must be clear, next to any other line."""
    twice = '{"node": "a", "topic": "x", "note": 1, "note": {"b": 2, "b": 3}}\n'
    for other in ("{\n", ""):
        (tmp_path / "a.jsonl").write_text(other + twice)
        outcome = ingest(None, [tmp_path / "a.jsonl"], tmp_path / "out", max_bad=1)
        assert (outcome.kept, outcome.quarantined) == (1, len(other) // 2)
    with pytest.raises(InputError, match="key twice"):
        ingest(None, [tmp_path / "a.jsonl"], tmp_path / "out", Reading("jsonl", topic="note"), max_bad=0)


def test_invalid_filters_in_mqtt_data(tmp_path: Path) -> None:
    """Filters whose wildcards are misplaced are quarantined in the pages and logs of MQTT brokers."""
    entries = [{"node": "n", "clientid": "c", "topic": topic} for topic in ("a/#", "a/#/b", "a+/b", "+/b")]
    (tmp_path / "1.json").write_text(json.dumps({"data": entries, "meta": {"page": 1}}))
    outcome = ingest(None, [tmp_path / "1.json"], tmp_path / "out", Reading("emqx"), max_bad=1)
    assert (outcome.kept, outcome.reasons) == (2, {fields.INVALID_FILTER: 2})


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_invalid_filters_in_files_of_filters(tmp_path: Path, kind: str) -> None:
    """With --topic-kind mqtt, files of any format are held to the same rules; without it, names are names."""
    topics = ["a/#", "a/#/b", "a+/b", "+/b"]
    file = tmp_path / f"a.{kind}"
    if kind == "csv":
        file.write_text("node,topic\n" + "".join(f"n,{topic}\n" for topic in topics))
    elif kind == "jsonl":
        file.write_text("".join(json.dumps({"node": "n", "topic": topic}) + "\n" for topic in topics))
    else:
        pq.write_table(pa.table({"node": ["n"] * 4, "topic": topics}), file)
    outcome = ingest(None, [file], tmp_path / "out", Reading(kind, topic_kind="mqtt"), max_bad=1)
    assert (outcome.read, outcome.kept, outcome.reasons) == (4, 2, {fields.INVALID_FILTER: 2})
    first = 3 if kind == "csv" else 2
    assert quarantine(tmp_path / "out") == [(line, fields.INVALID_FILTER) for line in (first, first + 1)]
    assert ingest(None, [file], tmp_path / "plain", Reading(kind)).kept == 4


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_times_mean_the_same_in_every_format(tmp_path: Path, kind: str) -> None:
    """Numbers and texts are read alike; each kind of dirt is counted by its reason."""
    file = tmp_path / f"a.{kind}"
    rows = [{"node": f"n{number}", "topic": "t", "time": time} for number, time in enumerate(TIMES)]
    if kind == "csv":
        file.write_text("node,topic,time\n" + "".join(f"{row['node']},t,{row['time']}\n" for row in rows))
    elif kind == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), file)
    outcome = ingest(None, [file], tmp_path / "out", max_bad=1)
    reasons = [expected for expected in TIMES.values() if isinstance(expected, str)]
    assert outcome.reasons == {reason: reasons.count(reason) for reason in set(reasons)}
    assert outcome.kept == len(TIMES) - len(reasons)


def test_a_blank_line_before_the_header(tmp_path: Path) -> None:
    """It is an error: otherwise the rows of that file would be lost among others."""
    (tmp_path / "a.csv").write_text("node,topic\na,x\n")
    (tmp_path / "b.csv").write_text("\nnode,topic\nb,x\n")
    with pytest.raises(FormatError, match=r"first line of .*b\.csv is blank"):
        ingest(None, [tmp_path], tmp_path / "out")
    (tmp_path / "b.csv").write_text("\n")
    assert ingest(None, [tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "out").kept == 1


STRETCH = Stretch("/p/a.csv", 0, 0, 0, True)
cells = st.sampled_from(
    ["a", "b c", "é", '"q"', '"x,y"', '"a""b"', 'a"b', '"open', "# x", "", "NULL", "\ud7ff", "a,b"]
)


@given(st.lists(st.lists(cells, min_size=1, max_size=3), max_size=8))
def test_arrow_and_python_parse_csv_alike(given: list[list[str]]) -> None:
    """Lines are parsed as one by one, whatever the others are."""
    layout = csv_files.Layout(b"node,topic", Reading("csv"), "/p/a.csv")
    data = "".join(",".join(row) + "\n" for row in given).encode()
    whole = csv_files.parse_window(Window(0, data), STRETCH, layout)
    single = [
        csv_files.parse_window(Window(i, line + b"\n"), STRETCH, layout)
        for i, line in enumerate(data.split(b"\n")[:-1])
    ]
    for kind in ("node", "topic"):
        assert getattr(whole, kind).to_pylist() == [
            name for rows in single for name in getattr(rows, kind).to_pylist()
        ]
    bad = sorted(zip(whole.bad.places, whole.bad.reasons, strict=True))
    assert bad == [
        (place, why) for rows in single for place, why in zip(rows.bad.places, rows.bad.reasons, strict=True)
    ]


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(0, 9),
    st.sampled_from(["a", "", "7", "é", "subscribe"]),
)
ODD_OBJECTS = [
    '{"node": "a", "topic": "x", ' + rest + "}"
    for rest in (
        '"x": 1, "x": 2',
        '"x": {"k": 1, "k": 2}',
        '"x": ' + "7" * 5000,
        '"x": ' + "[" * 1500 + "]" * 1500,
    )
]
objects = st.dictionaries(st.sampled_from(["node", "topic", "time", "operation", "sequence", "x"]), values)


@given(
    st.lists(
        objects.map(json.dumps)
        | st.sampled_from(["", "[]", "{", '{"node": "a", "node": "b"}', *ODD_OBJECTS]),
        max_size=6,
    )
)
def test_arrow_and_python_parse_json_alike(given: list[str]) -> None:
    """Lines are parsed as one by one, whatever the others are."""
    roles = {what: what for what in ("node", "topic", "time", "operation", "sequence")}
    data = "".join(line + "\n" for line in given).encode()
    whole = json_lines.parse_window(Window(0, data), STRETCH, roles)
    single = [
        json_lines._parse_lines(Window(i, line.encode() + b"\n"), STRETCH, roles, False)
        for i, line in enumerate(given)
    ]
    for kind in ("node", "topic"):
        assert getattr(whole, kind).to_pylist() == [
            name for rows in single for name in getattr(rows, kind).to_pylist()
        ]
    bad = sorted(zip(whole.bad.places, whole.bad.reasons, strict=True))
    assert bad == [
        (place, why) for rows in single for place, why in zip(rows.bad.places, rows.bad.reasons, strict=True)
    ]


@given(
    st.lists(st.sampled_from([b"a,b", b"", b"longer,line", b"\xc3\xa9"]), max_size=9),
    st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=9, max_size=9),
    st.lists(st.integers(0, 60), max_size=4),
    st.integers(1, 9),
)
def test_stretches_have_each_line_once(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    ends: list[bytes],
    cuts: list[int],
    at_once: int,
) -> None:
    """Whatever the line ends and wherever a file is cut, each line is in one stretch, in order."""
    data = b"".join(line + end for line, end in zip(lines, ends, strict=False))
    expected = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[:-1]
    file = tmp_path_factory.mktemp("lines") / "a.txt"
    file.write_bytes(data)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BYTES_AT_ONCE", at_once)
        for begin, end in pairwise(places):
            if begin < end:
                stretch = Stretch(str(file), begin, end, 0, False)
                found += [line for window in text.windows(stretch) for line in window.lines()]
    assert found == expected


def test_sequences() -> None:
    """Sequences are integers of 64 bits in ASCII digits."""
    good = ["5", " 7 ", "-3", "0" * 5000 + "9"]
    wrong = ["1_0", "٣", "0x1f", "9223372036854775808", "1.0", "+1", "1" * 5000]
    read = fields.read_sequences(pa.array([*good, "", None, *wrong], pa.string()))
    assert read.stated.tolist() == [True] * 4 + [False] * 9
    assert read.wrong.tolist() == [False] * 6 + [True] * 7
    assert read.values[read.stated].tolist() == [5, 7, -3, 9]
    large = fields.read_sequences(pa.array([2**63, 2**63 - 1, None], pa.uint64()))
    assert (large.wrong.tolist(), large.stated.tolist()) == ([True, False, False], [False, True, False])
    assert np.array_equal(times.scale_numbers(np.array([np.nan, np.inf]))[1], [1, 1])
