"""Raw events: replayed in the order of their times, they end in the interest; a few lines are broken."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

from meshwright.workloads import write_raw_events, zipf
from meshwright.workloads.synthetic import BEGIN, BROKEN, DAY


def test_a_day_of_events(tmp_path: Path) -> None:
    """Shares are as documented, all times are of the day, and what follows an event comes a second later."""
    interest = zipf(200, 50, size=10, seed=1).canonical()
    files = write_raw_events(interest, tmp_path, files=3, seed=2)
    assert [file.name for file in files] == [f"events-{number}.jsonl.gz" for number in range(3)]
    lines = [line for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]
    broken = [line for line in lines if line in BROKEN]
    assert len(broken) == (len(lines) - len(broken)) // 200
    assert len(set(broken)) == min(len(BROKEN), len(broken))
    by_pair: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for line in set(lines) - set(broken):
        row = json.loads(line)
        by_pair.setdefault((row["node"], row["topic"]), []).append((row["time"] - BEGIN, row["operation"]))
    held = {(row["node"], row["topic"]) for row in interest.to_arrow().to_pylist()}
    kinds: Counter[str] = Counter()
    for pair, events in by_pair.items():
        events.sort()
        times, operations = zip(*events, strict=True)
        assert all(0 <= time <= DAY for time in times)
        assert (operations[-1] == "subscribe") == (pair in held)
        if pair not in held:
            kinds["cancelled"] += 1
            assert times[1] == times[0] + 1
        elif operations == ("subscribe", "subscribe"):
            kinds["twice"] += 1
            assert times[1] == times[0] + 1
        elif len(events) > 1:
            kinds["renewed"] += 1
            assert operations == ("subscribe", "unsubscribe", "subscribe")
            assert times[1] == times[0] + 1
    assert by_pair.keys() >= held
    assert 0.07 < kinds["renewed"] / len(held) < 0.13
    assert 0.03 < kinds["twice"] / len(held) < 0.07
    assert 0.02 < kinds["cancelled"] / len(held) <= 0.05
