"""One small example of every folder and file that commands read, and the commands that read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

Command = tuple[str, ...]

PLANS = {"plan": "dataset", "filters": "mqtt", "priced": "dataset"}
"""The plans, each with the dataset that it was made for."""


def make_corpus(folder: Path) -> None:
    """Write all examples; the same bytes each time, but for the seconds that plans state."""
    import meshwright as mw
    from meshwright.workloads import zipf
    from terminal import meshwright

    def run(*words: str | Path) -> None:
        answer = meshwright(*words)
        assert answer.code == 0, (words, answer)

    folder.mkdir()
    interest = zipf(14, 7, size=3, seed=1)
    mw.write_dataset(interest, folder / "dataset")
    held = {
        "a": ["m/#", "x", "$share/g/m/2"], "b": ["m/1", "x"], "c": ["m/1", "m/2", "y"],
        "d": ["m/+", "y", "z/+/1"], "e": ["z/1/#", "x"],
    }  # fmt: skip
    mw.write_dataset(mw.Interest.of(held, kind="mqtt"), folder / "mqtt", topic_kind="mqtt")
    run("plan", folder / "dataset", "--algorithm", "low", "--out", folder / "plan")
    run("plan", folder / "dataset", "--algorithm", "low", "--certify", "--out", folder / "priced")
    run("plan", folder / "mqtt", "--algorithm", "gm", "--certify", "--out", folder / "filters")
    messages = "publisher,topic,size,time\n" + "".join(
        f"b{number % 14:02},t{number % 7},10,2026-01-01T00:00:{number:02}\n" for number in range(40)
    )
    (folder / "messages.csv").write_text(messages)
    run("traffic", folder / "messages.csv", "--out", folder / "traffic")
    run("route", folder / "plan", folder / "dataset", "--rates", folder / "traffic")
    run("route", folder / "priced", folder / "dataset", "--objective", "load")
    run("route", folder / "filters", folder / "mqtt")
    run("export", folder / "plan", "--to", "mosquitto", "--allow-relays", "--out", folder / "federation")
    run("export", folder / "filters", "--to", "mosquitto", "--allow-relays", "--out", folder / "bridges")
    run(
        "content", "workload", "--users", "40", "--brokers", "3", "--channels", "8", "--out", folder / "users"
    )
    names = interest.to_arrow().column("node").unique().to_pylist()
    places = "".join(f"{name},{number},{number * number % 7}\n" for number, name in enumerate(names))
    (folder / "costs.csv").write_text("node,x,y\n" + places)
    ends = "".join(f"{u},{v}\n" for u, v in pairwise(names))
    (folder / "today.csv").write_text(f"u,v\n{ends}")
    topics = interest.to_arrow().column("topic").to_pylist()
    events = [
        {"event": "join", "node": "new", "topics": topics[:2]},
        {"event": "crash", "node": names[0]},
    ]
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    subscriptions = interest.to_arrow().to_pylist()
    lines = "".join(json.dumps(row) + "\n" for row in subscriptions)
    (folder / "subscriptions.jsonl").write_text(lines)


READERS: dict[str, list[Command]] = {
    "dataset": [
        ("profile", "dataset"), ("sample", "dataset", "--nodes", "5", "--out", "out"),
        ("verify", "plan", "dataset"), ("plan", "dataset", "--algorithm", "gm", "--out", "out"),
        ("compare", "dataset", "--algorithms", "gm,ring"), ("soc", "dataset", "--links", "20"),
        ("report", "plan", "dataset", "--out", "out.html"),
        ("ingest", "dataset/subscriptions/*.parquet", "--out", "out"),
    ],
    "mqtt": [
        ("profile", "mqtt"), ("sample", "mqtt", "--nodes", "2", "--out", "out"),
        ("plan", "mqtt", "--algorithm", "gm", "--out", "out"), ("verify", "filters", "mqtt"),
        ("route", "filters", "mqtt"), ("report", "filters", "mqtt", "--out", "out.html"),
    ],
    "plan": [
        ("verify", "plan", "dataset"), ("report", "plan", "dataset", "--out", "out.html"),
        ("route", "plan", "dataset", "--objective", "stable"),
        ("diff", "federation", "plan", "--allow-relays"),
        ("diff", "plan", "filters", "--allow-relays"), ("apply", "plan", "federation", "--allow-relays"),
        ("apply", "plan", "federation", "--allow-relays", "--dry-run"),
        ("churn", "plan", "dataset", "--rounds", "3"), ("chaos", "plan", "dataset"),
        ("report", "plan", "dataset", "--today", "plan", "--out", "out.html"),
        ("export", "plan", "--to", "mosquitto", "--allow-relays", "--out", "out"),
        *(("export", "plan", "--to", to, "--out", "out") for to in ("json", "dot", "graphml", "networkx")),
    ],
    "priced": [
        ("verify", "priced", "dataset"), ("report", "priced", "dataset", "--out", "out.html"),
        ("verify", "priced", "dataset", "--k", "2"), ("export", "priced", "--to", "json", "--out", "out"),
    ],
    "filters": [
        ("verify", "filters", "mqtt"), ("report", "filters", "mqtt", "--out", "out.html"),
        ("route", "filters", "mqtt"), ("diff", "bridges", "filters", "--allow-relays"),
        ("apply", "filters", "bridges", "--allow-relays"), ("churn", "filters", "mqtt", "--rounds", "3"),
        ("export", "filters", "--to", "mosquitto", "--allow-relays", "--out", "out"),
        ("export", "filters", "--to", "json", "--out", "out"),
    ],
    "federation": [
        ("diff", "federation", "plan", "--allow-relays"), ("diff", "federation", "plan", "--drift"),
        ("lint", "federation"), ("apply", "plan", "federation", "--allow-relays"),
        ("export", "plan", "--to", "mosquitto", "--allow-relays", "--out", "federation"),
    ],
    "bridges": [
        ("diff", "bridges", "filters", "--allow-relays"), ("lint", "bridges"),
        ("apply", "filters", "bridges", "--allow-relays", "--wave", "next"),
    ],
    "traffic": [("route", "plan", "dataset", "--rates", "traffic")],
    "users": [
        ("content", "assign", "users", "--out", "out"),
        ("content", "compare", "users", "--algorithms", "packing"),
        ("content", "migrate", "users", "--out", "out"),
    ],
    "messages.csv": [("traffic", "messages.csv", "--out", "out")],
    "costs.csv": [("plan", "dataset", "--algorithm", "gm", "--costs", "costs.csv", "--out", "out")],
    "today.csv": [("report", "plan", "dataset", "--today", "today.csv", "--out", "out.html")],
    "events.jsonl": [("churn", "plan", "dataset", "--trace", "events.jsonl")],
    "subscriptions.jsonl": [
        ("ingest", "subscriptions.jsonl", "--out", "out"), ("profile", "subscriptions.jsonl"),
        ("plan", "subscriptions.jsonl", "--algorithm", "gm", "--out", "out"),
    ],
}  # fmt: skip
"""What reads each example; paths are relative to the folder of a case."""


class Worker:
    """A process that runs commands, one after the other; it is started again where it dies or hangs."""

    def __init__(self, seconds: float = 600, *, checked: bool = False) -> None:
        self.seconds = seconds
        self.environment = os.environ | ({"MESHWRIGHT_CHECK": "1"} if checked else {})
        self.process: subprocess.Popen[str] | None = None

    def run(self, folder: Path, words: Command) -> tuple[int, str]:
        """Run a command in a folder; return its exit code, as a shell reports it, and its output."""
        import select

        if self.process is None or self.process.poll() is not None:
            command = [sys.executable, "-m", "fuzz.worker"]
            here = str(Path(__file__).parents[1])
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=here,
                env=self.environment,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(folder), list(words)]) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], self.seconds)[0]:
            self.close()
            return 124, f"does not end in {self.seconds} s"
        line = self.process.stdout.readline()
        if not line:
            ended = self.process.wait()
            return (128 - ended if ended < 0 else ended or 70), "the process ended"
        answer: Any = json.loads(line)
        return int(answer[0]), str(answer[1])

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                assert stream is not None
                stream.close()
            self.process = None
