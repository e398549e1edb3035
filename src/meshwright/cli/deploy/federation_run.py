"""The two runs behind `meshwright federation`: the proof by traffic, and churn under traffic."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from meshwright.brokers.certificates import Authority
    from meshwright.churn import Event
    from meshwright.deploy import BrokerSettings, Wiring
    from meshwright.deploy.hosts.local import RunningFederation, Storm
    from meshwright.deploy.proof.churn_verdict import Window
    from meshwright.deploy.proof.live_plan import FederationPlan
    from meshwright.deploy.proof.verdict import Verdict
    from meshwright.interest import Interest
    from meshwright.progress import Progress

NOT_SUBSCRIBERS = r"^(local|meshwright|observer)[.\-]"
"""Client ids of bridges and observers, which are not subscribers."""


@dataclass(frozen=True)
class FederationRun:
    """A federation to run, and where."""

    plan: FederationPlan
    settings: BrokerSettings
    folder: Path
    """The folder for the brokers' folders and logs."""
    temporary: Path
    """A folder that is deleted at the end."""
    progress: Progress
    authority: Authority | None = None
    """What signs the brokers' certificates, or None without TLS."""


class Outcome(NamedTuple):
    """The answer of a command."""

    figures: dict[str, Any]
    """For JSON."""
    lines: list[str]
    """For people."""
    passed: bool


def run_proof(run: FederationRun, *, storm: bool, picture: Path | None, keep: bool) -> Outcome:
    """Run the brokers, publish everywhere and judge; then storm and draw if asked."""
    from meshwright.deploy.hosts.local import publish_everywhere, run_federation, run_storm
    from meshwright.formatting import counted

    trees = run.plan.trees
    with run_federation(
        trees, run.folder, run.settings, authority=run.authority, progress=run.progress
    ) as running:
        verdict = publish_everywhere(trees, running, progress=run.progress)
        if keep:
            _keep_running(running, verdict)
    wiring = running.wiring
    figures = {
        "brokers": len(wiring.order),
        "bridges": len(wiring.bridges),
        "topic_lines": wiring.topic_lines,
        "up_seconds": running.seconds,
        **verdict.figures(),
    }
    lines = [
        f"{counted(len(wiring.order), 'broker')}, {counted(len(wiring.bridges), 'bridge')}, "
        f"{counted(wiring.topic_lines, 'topic line')}: all up after {running.seconds:.1f} s",
        *format_verdict(verdict),
    ]
    if storm:
        seen = run_storm(trees, run.plan.links, run.temporary / "storm")
        figures["storm"] = None if seen is None else {**vars(seen), "factor": seen.factor}
        lines.append(_format_storm(seen))
    if picture is not None:
        _draw(wiring, verdict, picture, title=lines[1])
        figures["picture"] = str(picture)
        lines.append(f"picture {picture}")
    return Outcome(figures, lines, verdict.passed)


def _draw(wiring: Wiring, verdict: Verdict, picture: Path, *, title: str) -> None:
    """Draw the federation, with the brokers at fault marked."""
    from meshwright.report.charts import federation_picture

    faults = (*verdict.missing, *verdict.duplicate, *verdict.leaked)
    counts = {pair: len(topics) for pair, topics in wiring.bridges.items()}
    faulty = {broker for _, _, broker in faults}
    federation_picture(wiring.order, counts, picture, faulty=faulty, title=title)


def _keep_running(running: RunningFederation, verdict: Verdict) -> None:
    """Keep the brokers running until Ctrl-C or SIGTERM, which are the normal end and not a failure."""
    import signal

    from meshwright.cli import output
    from meshwright.deploy.hosts.supervisor import supervise

    output.note(f"{format_verdict(verdict)[0]}; running in {running.brokers.folder} until Ctrl-C")
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        supervise(running, until=lambda: False, report=output.note)
    except KeyboardInterrupt:
        output.note("stopping all brokers, which write their queues")
    finally:
        signal.signal(signal.SIGTERM, before)


def _format_storm(seen: Storm | None) -> str:
    """Return a line about a storm, or about why there was none."""
    if seen is None:
        return "without trees: the links of no topic have a loop, so there is no storm"
    return (
        f"without trees: one message on {seen.topic!r} made {seen.deliveries:,} deliveries in 2 s where "
        f"{seen.expected:,} are due: {seen.factor:,.0f} times as many"
    )


def run_churn(run: FederationRun, events: int, *, rate: float, seed: int, ingest: bool) -> Outcome:
    """Run a federation under churn, judge it, and compare the interest in its logs with the live one."""
    from meshwright.deploy.hosts.churn_traffic import churn_federation
    from meshwright.deploy.proof.live_plan import LivePlan

    plan = LivePlan(run.plan, seed=seed)
    logs = run.temporary / "logs"

    def copy_logs(federation: RunningFederation) -> None:
        logs.mkdir()
        for broker in federation.brokers.running:
            log = federation.brokers.log(broker)
            shutil.copy(log, logs / f"{log.parent.name}.log")

    verdict = churn_federation(
        plan, _random_events(plan.interest(), events, seed), run.folder, run.settings,
        rate=rate, seed=seed, authority=run.authority, before_stop=copy_logs, progress=run.progress,
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
        same = _ingested_interest_is(plan.interest(), logs, run.temporary / "dataset")
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
    """Read logs into a dataset, and return whether its subscriptions are the expected ones."""
    from urllib.parse import unquote

    from meshwright.pipeline.dataset.ingest import ingest
    from meshwright.pipeline.readers.formats import Reading
    from meshwright.store.interest_files import load_interest

    reading = Reading("mosquitto-log", node_from="broker", bridges=NOT_SUBSCRIBERS)
    ingest(None, [logs], dataset, reading, allow_empty=True)
    found = load_interest(dataset).to_arrow()
    pairs = zip(found.column("node").to_pylist(), found.column("topic").to_pylist(), strict=True)
    wanted = expected.to_arrow()
    return {(unquote(node), topic) for node, topic in pairs} == set(
        zip(wanted.column("node").to_pylist(), wanted.column("topic").to_pylist(), strict=True)
    )


def format_verdict(verdict: Verdict) -> list[str]:
    """Return lines with the counts, the first five faults of each kind, and latency by hops."""
    from meshwright.formatting import counted, duration

    lines = [
        f"{counted(verdict.published, 'message')}, {verdict.expected:,} deliver"
        f"{'y' if verdict.expected == 1 else 'ies'} due: "
        f"{len(verdict.missing):,} missing, {len(verdict.duplicate):,} duplicate, "
        f"{len(verdict.leaked):,} leaked" + (f"; {verdict.relayed:,} relayed" if verdict.relayed else "")
    ]
    if verdict.relayed != verdict.predicted_relayed:
        lines.append(f"  relayed: {verdict.predicted_relayed:,} were predicted")
    for kind, faults in (
        ("missing", verdict.missing), ("duplicate", verdict.duplicate), ("leaked", verdict.leaked)
    ):  # fmt: skip
        for topic, origin, broker in faults[:5]:
            lines.append(f"  {kind}: {topic!r} published at {origin!r}, at {broker!r}")
    for hops, (count, mean, usual) in verdict.latency.items():
        distance = f"{hops} hop{'' if hops == 1 else 's'}"
        lines.append(
            f"  {distance}: {duration(mean)} on average, {duration(usual)} for 95 % ({count:,} deliveries)"
        )
    return lines
