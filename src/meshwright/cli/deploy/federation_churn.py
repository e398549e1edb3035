"""`meshwright federation --churn`: the loop from logs to brokers and back, closed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from meshwright.churn import Event
    from meshwright.deploy import Routed, Settings
    from meshwright.deploy.federation.churn_verdict import Churned
    from meshwright.deploy.federation.run import Running
    from meshwright.interest import Interest

OURS = r"^(local|meshwright|observer)[.\-]"
"""Client ids of bridges and of those who only look on: no subscribers."""


def churned(
    routed: Routed,
    links: list[tuple[str, str]],
    trees: pa.Table,
    events: int,
    folder: Path,
    place: Path,
    rate: float,
    seed: int,
    ingest: bool,
    settings: Settings,
    drawing: Any,
    *,
    shown: bool,
) -> tuple[dict[str, Any], list[str], bool]:
    """Run a federation under churn; return figures, lines, and whether all is as it must be."""
    from meshwright.cli.deploy.federation import told_verdict
    from meshwright.cli.progress import ProgressDrawing
    from meshwright.deploy.federation.churn import churn_live
    from meshwright.deploy.federation.live_plan import LivingPlan

    with ProgressDrawing("federation", forced=shown) as compiling:
        plan = LivingPlan(routed, links, trees, seed=seed, progress=compiling)
    before = plan.live.interest()
    logs = place / "logs"

    def look(here: Running) -> None:
        logs.mkdir()
        for broker in here.brokers.running:
            shutil.copy(here.brokers.log(broker), logs / f"{here.brokers.log(broker).parent.name}.log")

    found = churn_live(
        plan, _events(before, events, seed), folder, settings, rate=rate, seed=seed, look=look,
        progress=drawing,
    )  # fmt: skip
    told = {
        "profile": settings.profile,
        "mosquitto": settings.version,
        "events": len(found.windows),
        "seconds": found.seconds,
        "calm": found.calm.described(),
        "final": found.final.described(),
        "leaked": found.leaked,
        "windows": [window.described() for window in found.windows],
    }
    lines = [
        *_told(found),
        f"outside of these: {told_verdict(found.calm)[0]}",
        f"at the end: {told_verdict(found.final)[0]}",
    ]
    passed = found.passed
    if ingest:
        same = _ingested(logs, place, plan.live.interest())
        told["interest_from_logs"] = same
        what = "gives the interest that the live overlay has" if same else "does NOT give the live interest"
        lines.append(f"the brokers' own logs, ingested by Spark: this {what}")
        passed = passed and same
    return told, lines, passed


def _events(interest: Interest, count: int, seed: int) -> list[Event]:
    """Return made-up churn, every other leave a crash."""
    from meshwright.churn import Event, random_churn
    from meshwright.churn.events import CRASH, LEAVE

    happened = [event for events in random_churn(interest, count, seed=seed) for event in events]
    leaves = [place for place, event in enumerate(happened) if event.event == LEAVE]
    for place in leaves[1::2]:
        happened[place] = Event(CRASH, happened[place].node)
    return happened


def _told(found: Churned) -> list[str]:
    from meshwright.formatting import duration

    lines = []
    for window in found.windows:
        told = window.described()
        counts = [
            f"of {count.expected:,} deliveries on {told[f'{kind}_topics']:,} {what} "
            f"{count.missing:,} missing, {count.duplicate:,} duplicate"
            for kind, what, count in (
                ("changed", "topics whose tree changes", window.of_changed),
                (
                    "restarted",
                    "topics whose tree stays but a broker restarts or reloads",
                    window.of_restarted,
                ),
            )
            if told[f"{kind}_topics"]
        ]
        acted = [(len(window.restarts), "restarted"), (len(window.reloads), "reloaded")]
        restarts = "".join(f", {count} {what}" for count, what in acted if count)
        took = f"{duration(window.ended - window.began)} in {window.waves} wave{'s' * (window.waves > 1)}"
        faults = [
            *([f"{window.unexcused:,} lost or doubled with nothing disturbed"] if window.unexcused else []),
            *(["NOT over in time"] if not window.in_time else []),
        ]
        lines.append("; ".join([f"{window.event} of {window.broker}: {took}{restarts}", *counts, *faults]))
    return lines


def _ingested(logs: Path, place: Path, expected: Interest) -> bool:
    """Read logs by Spark, and say whether they tell of the subscriptions that there are."""
    from urllib.parse import unquote

    from meshwright.cli.spark import open_session
    from meshwright.pipeline.dataset.ingest import ingest
    from meshwright.pipeline.readers.options import Reading
    from meshwright.store import load_interest

    reading = Reading("mosquitto-log", node_from="broker", bridges=OURS)
    ingest(open_session(None, None), [logs], place / "dataset", reading)
    found = load_interest(place / "dataset").to_arrow()
    pairs = zip(found.column("node").to_pylist(), found.column("topic").to_pylist(), strict=True)
    wanted = expected.to_arrow()
    return {(unquote(node), topic) for node, topic in pairs} == set(
        zip(wanted.column("node").to_pylist(), wanted.column("topic").to_pylist(), strict=True)
    )
