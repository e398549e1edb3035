"""`meshwright federation --churn`: churn under traffic, and the brokers' logs read back into an interest."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from meshwright.cli.deploy.federation_run import FederationRun, Outcome, format_verdict

if TYPE_CHECKING:
    from pathlib import Path

    from meshwright.churn import Event
    from meshwright.deploy.federation.churn_verdict import Window
    from meshwright.deploy.federation.run import RunningFederation
    from meshwright.interest import Interest

NOT_SUBSCRIBERS = r"^(local|meshwright|observer)[.\-]"
"""Client ids of bridges and observers, which are not subscribers."""


def run_churn(run: FederationRun, events: int, *, rate: float, seed: int, ingest: bool) -> Outcome:
    """Run a federation under churn, judge it, and compare the interest in its logs with the live one."""
    from meshwright.deploy.federation.churn import churn_federation
    from meshwright.deploy.federation.live_plan import LivePlan

    plan = LivePlan(run.plan, seed=seed)
    logs = run.temporary / "logs"

    def copy_logs(federation: RunningFederation) -> None:
        logs.mkdir()
        for broker in federation.brokers.running:
            log = federation.brokers.log(broker)
            shutil.copy(log, logs / f"{log.parent.name}.log")

    verdict = churn_federation(
        plan, _random_events(plan.live_overlay.interest(), events, seed), run.folder, run.settings,
        rate=rate, seed=seed, before_stop=copy_logs, progress=run.progress,
    )  # fmt: skip
    figures = {
        "profile": run.settings.profile,
        "mosquitto": run.settings.version,
        "events": len(verdict.windows),
        "seconds": verdict.seconds,
        "calm": verdict.outside.figures(),
        "final": verdict.final.figures(),
        "leaked": verdict.leaked,
        "windows": [window.figures() for window in verdict.windows],
    }
    lines = [
        *(_format_window(window) for window in verdict.windows),
        f"outside of these: {format_verdict(verdict.outside)[0]}",
        f"at the end: {format_verdict(verdict.final)[0]}",
    ]
    passed = verdict.passed
    if ingest:
        same = _ingested_interest_is(plan.live_overlay.interest(), logs, run.temporary / "dataset")
        figures["interest_from_logs"] = same
        compared = "equals" if same else "does NOT equal"
        lines.append(f"the interest that Spark reads from the brokers' logs {compared} the live interest")
        passed = passed and same
    return Outcome(figures, lines, passed)


def _random_events(interest: Interest, count: int, seed: int) -> list[Event]:
    """Return random churn in which every second leave is a crash."""
    from meshwright.churn import Event, random_churn
    from meshwright.churn.events import CRASH, LEAVE

    events = [event for round_ in random_churn(interest, count, seed=seed) for event in round_]
    leaves = [place for place, event in enumerate(events) if event.event == LEAVE]
    for place in leaves[1::2]:
        events[place] = Event(CRASH, events[place].node)
    return events


def _format_window(window: Window) -> str:
    """Return a line about one change."""
    from meshwright.formatting import duration

    figures = window.figures()
    counts = [
        f"of {count.expected:,} deliveries on {topics:,} {kind} "
        f"{count.missing:,} missing, {count.duplicate:,} duplicate"
        for topics, kind, count in (
            (figures["changed_topics"], "topics whose tree changes", window.changed_trees),
            (
                figures["restarted_topics"],
                "topics whose tree stays but a broker restarts or reloads",
                window.unchanged_trees,
            ),
        )
        if topics
    ]
    acted = [(len(window.restarts), "restarted"), (len(window.reloads), "reloaded")]
    actions = "".join(f", {count} {word}" for count, word in acted if count)
    took = f"{duration(window.ended - window.began)} in {window.waves} wave{'s' * (window.waves > 1)}"
    faults = [
        *([f"{window.unexcused:,} lost or duplicate on undisturbed paths"] if window.unexcused else []),
        *(["NOT over in time"] if not window.in_time else []),
    ]
    return "; ".join([f"{window.event} of {window.broker}: {took}{actions}", *counts, *faults])


def _ingested_interest_is(expected: Interest, logs: Path, dataset: Path) -> bool:
    """Read logs with Spark into a dataset, and return whether its subscriptions are the expected ones."""
    from urllib.parse import unquote

    from meshwright.cli.spark import open_session
    from meshwright.pipeline.dataset.ingest import ingest
    from meshwright.pipeline.readers.formats import Reading
    from meshwright.store import load_interest

    reading = Reading("mosquitto-log", node_from="broker", bridges=NOT_SUBSCRIBERS)
    ingest(open_session(None, None), [logs], dataset, reading)
    found = load_interest(dataset).to_arrow()
    pairs = zip(found.column("node").to_pylist(), found.column("topic").to_pylist(), strict=True)
    wanted = expected.to_arrow()
    return {(unquote(node), topic) for node, topic in pairs} == set(
        zip(wanted.column("node").to_pylist(), wanted.column("topic").to_pylist(), strict=True)
    )
