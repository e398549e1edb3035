"""Results of churn runs and migrations: rounds or steps, the final state, figures and a chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from meshwright.designs.plan import Plan
from meshwright.files.atomic import new_folder
from meshwright.files.header import CHURN, MIGRATION, write_header
from meshwright.store.datasets import write_dataset
from meshwright.store.plans import write_plan
from meshwright.store.tables import write_table

if TYPE_CHECKING:
    from meshwright.churn.replay import Replay
    from meshwright.content.migration import Migration


def write_churn(
    replays: Mapping[str, Replay],
    path: str | Path,
    *,
    seed: int,
    draw: Callable[[Path], object] | None = None,
) -> Path:
    """Write one churn run as a folder, or several with a subfolder each.

    Each run has `rounds.parquet`, `dataset/` and `plan/`. `draw` is called with the path of the chart, which
    lies in the top folder.
    """
    with new_folder(path, CHURN) as folder:
        for name, replay in replays.items():
            _write(replay, folder / name if len(replays) > 1 else folder, seed)
        if draw is not None:
            draw(folder / "churn.png")
        write_header(folder, CHURN, {"runs": [replay.figures for replay in replays.values()]})
    return Path(path)


def _write(replay: Replay, folder: Path, seed: int) -> None:
    policy = asdict(replay.live.policy)
    interest = replay.live.interest()
    write_table(replay.rounds, folder / "rounds.parquet")
    write_dataset(interest, folder / "dataset", made_by={"churn": policy, "rounds": len(replay.repairs)})
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
    samples = {name: [sample[place] for sample in run.samples] for place, name in enumerate(_SAMPLE)}
    assignment = {
        "user": workload.user_names,
        "broker": workload.broker_names.take(pa.array(run.broker_of)),
    }
    with new_folder(path, MIGRATION) as folder:
        write_table(run.table(), folder / "steps.parquet")
        types = (pa.float64(), pa.int64(), pa.int64())
        schema = pa.schema(list(zip(_SAMPLE, types, strict=True)))
        write_table(pa.table(samples, schema=schema), folder / "samples.parquet")
        write_table(pa.table(assignment), folder / "assignment.parquet")
        if draw is not None:
            draw(folder / "migration.png")
        write_header(
            folder, MIGRATION, {"workload": workload.fingerprint, **described, "figures": run.figures}
        )
    return Path(path)


_SAMPLE = ("time", "messages", "delivered")
