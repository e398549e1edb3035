"""Runs: traces of churn events, and results of churn runs and migrations with figures and a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from meshwright.arrow import from_numpy
from meshwright.errors import FormatError, InputError
from meshwright.files.atomic import new_folder
from meshwright.files.header import CHURN, MIGRATION, write_header
from meshwright.store.datasets import write_dataset
from meshwright.store.plan_writer import write_plan
from meshwright.store.row_files import parse_object
from meshwright.store.tables import write_table

if TYPE_CHECKING:
    from meshwright.churn.events import Event
    from meshwright.churn.replay import Replay
    from meshwright.content.migration import Migration

SAMPLE = ("time", "messages", "delivered")
"""The columns of the samples of a migration."""


def read_trace(path: str | Path) -> Iterator[list[Event]]:
    """Read a trace round by round: a round is one event, or consecutive events with the same `batch`.

    A line is a JSON object with `event` (join, leave, crash, subscribe or unsubscribe), `node` and, except
    for leaves and crashes, `topics`. It may have a `batch`; other fields are ignored.

    Parameters
    ----------
    path
        A file ending in .jsonl or .ndjson, or a folder of such files, read in the order of their names, or a
        folder with such a folder named `events`, as `meshwright follow` makes.

    Raises
    ------
    InputError
        If the path does not exist, or an event is incomplete.
    FormatError
        If a line is not valid JSON.
    """
    for file in _trace_files(Path(path)):
        yield from _read_rounds(file)


def _trace_files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"no trace {path}: nothing is there, check the path")
    if path.is_file():
        if path.suffix.lower() not in (".jsonl", ".ndjson"):
            raise InputError(f"{path} is not a trace: give a file of JSON lines ending in .jsonl or .ndjson")
        return [path]
    folder = path / "events" if (path / "events").is_dir() else path
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in (".jsonl", ".ndjson"))
    files = [file for file in files if not file.name.startswith((".", "_"))]
    if not files:
        raise InputError(f"{folder} has no .jsonl file: give the folder with the events of a trace")
    return files


def _read_rounds(file: Path) -> Iterator[list[Event]]:
    def events() -> Iterator[tuple[tuple[str, Any], Event]]:
        with file.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    record = parse_object(line, f"{file}: line {number}")
                    batch = record.get("batch")
                    key = ("line", number) if batch is None else ("batch", batch)
                    yield key, _event(file, number, record)

    try:
        for _, together in groupby(events(), key=lambda keyed: keyed[0]):
            yield [event for _, event in together]
    except UnicodeDecodeError as error:
        raise FormatError(f"{file} is not UTF-8 text: save it as UTF-8") from error


def _event(file: Path, number: int, record: dict[str, Any]) -> Event:
    from meshwright.churn.events import EVENTS, Event

    kind, node, topics = record.get("event"), record.get("node"), record.get("topics") or []
    if not isinstance(kind, str):
        raise InputError(f"{file}: line {number} has no event: give one of {', '.join(EVENTS)}")
    if not isinstance(node, str) or not isinstance(topics, list):
        raise InputError(f"{file}: line {number}: node must be a string and topics a list of strings")
    if not all(isinstance(topic, str) for topic in topics):
        raise InputError(f"{file}: line {number}: topics must be strings")
    try:
        return Event(kind, node, () if kind in ("leave", "crash") else tuple(topics))
    except InputError as error:
        raise InputError(f"{file}: line {number}: {error}") from error


def write_churn(
    replays: Mapping[str, Replay],
    path: str | Path,
    *,
    seed: int,
    draw: Callable[[Path], object] | None = None,
) -> Path:
    """Write one churn run as a folder, or several with a subfolder each.

    Each run has `rounds.parquet`, `nodes.parquet`, `dataset/` and `plan/`. `draw` is called with the path
    of the chart, which lies in the top folder.
    """
    with new_folder(path, CHURN) as folder:
        for name, replay in replays.items():
            _write_replay(replay, folder / name if len(replays) > 1 else folder, seed)
        if draw is not None:
            draw(folder / "churn.png")
        write_header(folder, CHURN, {"runs": [replay.figures for replay in replays.values()]})
    return Path(path)


def _write_replay(replay: Replay, folder: Path, seed: int) -> None:
    from meshwright.designs.plan import Plan

    policy = asdict(replay.live.policy)
    interest = replay.live.interest()
    write_table(replay.rounds, folder / "rounds.parquet")
    write_table(replay.live.node_table(), folder / "nodes.parquet")
    made_by = {"churn": policy, "rounds": len(replay.repairs)}
    write_dataset(interest, folder / "dataset", made_by=made_by)
    spent = sum(repair.seconds for repair in replay.repairs)
    parameters = {key: int(value) if isinstance(value, bool) else value for key, value in policy.items()}
    write_plan(Plan(replay.live.overlay(), "churn", parameters, seed, spent), folder / "plan")


def write_migration(
    run: Migration,
    path: str | Path,
    *,
    described: dict[str, Any],
    draw: Callable[[Path], object] | None = None,
) -> Path:
    """Write a migration as a folder; `draw` is called with the path of the chart.

    `steps.parquet` holds `time, user, home, foreign, paid, change, cost`, `samples.parquet` `time, messages,
    delivered`, `assignment.parquet` `user, broker`, and `migration.json` the figures.
    """
    workload = run.workload
    samples = {name: [sample[place] for sample in run.samples] for place, name in enumerate(SAMPLE)}
    assignment = {
        "user": workload.user_names,
        "broker": workload.broker_names.take(from_numpy(run.broker_of)),
    }
    with new_folder(path, MIGRATION) as folder:
        write_table(run.table(), folder / "steps.parquet")
        types = (pa.float64(), pa.int64(), pa.int64())
        schema = pa.schema(list(zip(SAMPLE, types, strict=True)))
        write_table(pa.table(samples, schema=schema), folder / "samples.parquet")
        write_table(pa.table(assignment), folder / "assignment.parquet")
        if draw is not None:
            draw(folder / "migration.png")
        write_header(
            folder, MIGRATION, {"workload": workload.fingerprint, **described, "figures": run.figures}
        )
    return Path(path)
