"""Every command in docs/data.md runs, in the order shown."""

from __future__ import annotations

import gzip
import re
import shlex
from pathlib import Path

import pytest

from meshwright import Interest
from meshwright.workloads import write_raw_events
from terminal import meshwright

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
PAIRS = ["berlin,rain", "berlin,wind", "oslo,wind", "oslo,rain", "rome,sun", "rome,rain", "bonn,sun"]
CONNECTED = "New client connected from 127.0.0.1:1 as c (p2, c1, k60).\n"


def prepare(folder: Path) -> None:
    """Write the files that the commands read."""
    for name in ("exports", "logs", "incoming", "events"):
        (folder / name).mkdir()
    (folder / "subscriptions.csv").write_text("node,topic\n" + "\n".join(PAIRS))
    exported = "broker,filter\n" + "\n".join(PAIRS)
    (folder / "exports" / "a.csv.gz").write_bytes(gzip.compress(exported.encode()))
    (folder / "follows.txt").write_text("# who whom\n1 2\n2 3\n")
    nodes, topics = zip(*(pair.split(",") for pair in PAIRS), strict=True)
    write_raw_events(Interest.from_pairs(nodes, topics), folder / "events")
    early = '{"node": "rome", "topic": "sun", "operation": "subscribe", "time": "2026-01-01T06:00:00Z"}\n'
    (folder / "events" / "early.jsonl.gz").write_bytes(gzip.compress(early.encode()))
    for broker in ("berlin", "oslo"):
        (folder / "logs" / f"{broker}.log").write_text(f"{CONNECTED}c 0 rain\nc 1 wind\nc 0 from/{broker}\n")
    (folder / "published.csv").write_text("publisher,topic,time\na,rain,1\nb,rain,3\n")
    (folder / "incoming" / "1.jsonl").write_text('{"node": "rome", "topic": "rain", "time": 5}\n')


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands run one after another, and the last one gives the event shown."""
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    shown = re.findall(r"^meshwright .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(shown) >= 10
    for command in shown:
        answer = meshwright(*shlex.split(command)[1:])
        assert answer.code == 0, (command, answer.err)
    events = (tmp_path / "live" / "events" / "batch-00000000.jsonl").read_text()
    assert '"event": "join", "node": "rome", "topics": ["rain"]' in events
