"""Writers of inputs that the program only reads: traces of events, and traffic as the pipeline writes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from meshwright.churn.events import Event
from meshwright.files.atomic import new_file, new_folder
from meshwright.files.header import TRAFFIC, write_header
from meshwright.store.dataset_parts import part_name
from meshwright.store.tables import write_table
from meshwright.store.traffic import TABLES, Traffic


def write_trace(rounds: Iterable[Sequence[Event]], path: str | Path) -> Path:
    """Write rounds of events as a trace; several events of a round get the same `batch`."""
    path = Path(path)
    lines = []
    for number, events in enumerate(rounds):
        for event in events:
            record: dict[str, Any] = {"event": event.event, "node": event.node, "topics": list(event.topics)}
            if len(events) > 1:
                record["batch"] = number
            lines.append(json.dumps(record, ensure_ascii=False))
    with new_file(path) as file:
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_traffic(traffic: Traffic, path: str | Path) -> Path:
    """Write traffic as a folder."""
    with new_folder(path, TRAFFIC) as folder:
        for kind, schema in TABLES.items():
            table: pa.Table | None = getattr(traffic, kind)
            if table is not None:
                write_table(table.cast(schema), folder / kind / part_name(0))
        write_header(folder, TRAFFIC, traffic.described)
    return Path(path)
