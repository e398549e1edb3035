"""Traces of churn: what is written is read, folders are read in order, and bad lines are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.churn import Event
from meshwright.errors import FormatError, InputError
from meshwright.store.runs import read_trace
from strategies import wild_names
from written_inputs import write_trace

topics = st.lists(wild_names, min_size=1, max_size=3, unique=True).map(tuple)
events = st.one_of(
    st.builds(Event, st.sampled_from(["join", "subscribe", "unsubscribe"]), wild_names, topics),
    st.builds(Event, st.sampled_from(["leave", "crash"]), wild_names),
)


@settings(max_examples=50)
@given(rounds=st.lists(st.lists(events, min_size=1, max_size=3), max_size=5))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rounds: list[list[Event]]) -> None:
    """Reading returns the rounds that were written, with any names."""
    file = tmp_path_factory.mktemp("trace") / "events.jsonl"
    write_trace(rounds, file)
    assert list(read_trace(file)) == rounds
    assert [path.name for path in file.parent.iterdir()] == ["events.jsonl"]


def test_folders_are_read_in_order(tmp_path: Path) -> None:
    """The files of a folder, or of the folder `events` in it, are read in the order of their names."""
    place = tmp_path / "followed" / "events"
    place.mkdir(parents=True)
    line = '{{"sequence": 0, "time": null, "event": "{}", "node": "{}", "topics": {}}}\n'
    (place / "batch-00000001.jsonl").write_text(line.format("leave", "a", "[]"))
    (place / "batch-00000000.jsonl").write_text(line.format("join", "a", '["x"]') + "\n")
    (place / ".batch-00000002.jsonl.writing").write_text("half")
    expected = [[Event("join", "a", ("x",))], [Event("leave", "a")]]
    assert list(read_trace(place)) == list(read_trace(place.parent)) == expected


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("{", FormatError, "line 1 is not JSON"),
        pytest.param("[" * 200_000, FormatError, "line 1 is not JSON: it is nested too deeply", id="deep"),
        ("[1]", FormatError, "line 1 is not a JSON object"),
        ('{"node": "a"}', InputError, "no event"),
        ('{"event": "join", "node": 7, "topics": ["x"]}', InputError, "node must be a string"),
        ('{"event": "join", "node": "a", "topics": [7]}', InputError, "topics must be strings"),
        ('{"event": "join", "node": "a"}', InputError, "names no topic"),
        ('{"event": "dance", "node": "a"}', InputError, "join, leave, crash"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, error: type[Exception], message: str) -> None:
    """A line that is not an event is named by file and number."""
    file = tmp_path / "events.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(error, match=message) as refused:
        list(read_trace(file))
    assert str(file) in str(refused.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    """A missing file, another kind of file, a folder without traces and another encoding are rejected."""
    with pytest.raises(InputError, match="nothing is there"):
        list(read_trace(tmp_path / "none.jsonl"))
    (tmp_path / "events.csv").write_text("a")
    with pytest.raises(InputError, match="ending in"):
        list(read_trace(tmp_path / "events.csv"))
    with pytest.raises(InputError, match=r"has no \.jsonl"):
        list(read_trace(tmp_path))
    (tmp_path / "events.jsonl").write_bytes(b'{"event": "leave", "node": "\xff"}')
    with pytest.raises(FormatError, match="UTF-8"):
        list(read_trace(tmp_path / "events.jsonl"))
