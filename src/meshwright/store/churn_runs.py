"""What is left of a run of churn: its rounds, the dataset and plan it ended with, and a chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.designs.plan import Plan
from meshwright.store.atomic import new_folder
from meshwright.store.datasets import write_dataset
from meshwright.store.header import CHURN, write_header
from meshwright.store.plans import write_plan
from meshwright.store.tables import write_table

if TYPE_CHECKING:
    from meshwright.churn.replay import Replay


def write_churn(
    replays: Mapping[str, Replay],
    path: str | Path,
    *,
    seed: int,
    draw: Callable[[Path], object] | None = None,
) -> Path:
    """Write one run of churn as a folder, or several with a folder each, whole or not at all.

    Each holds `rounds.parquet`, `dataset/` and `plan/`; `draw` is called with the place for a chart, which
    goes above them.
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
