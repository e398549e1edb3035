"""Federation: run real brokers on this machine, and prove a plan by traffic, also under churn."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.brokers.certificates import Authority
    from meshwright.churn import Event
    from meshwright.deploy.hosts.local import RunningFederation
    from meshwright.deploy.proof.live_plan import FederationPlan
    from meshwright.deploy.proof.verdict import Verdict
    from meshwright.deploy.settings import BrokerSettings
    from meshwright.deploy.wiring import Wiring
    from meshwright.interest import Interest
    from meshwright.progress import Progress

MOST_BROKERS = 200
"""Brokers that may be started by default: each is a process."""
RATE = 200.0
"""Messages a second under churn."""
NOT_SUBSCRIBERS = r"^(local|meshwright|observer)[.\-]"
"""Client ids of bridges and observers, which are not subscribers."""


@dataclass(frozen=True)
class FederationChoice:
    """What to run, and how."""

    plan: Path | None = None
    """A plan's folder with trees; by default a synthetic plan of `brokers` brokers."""
    brokers: int | None = None
    """Start at most as many brokers, `MOST_BROKERS` by default."""
    storm: bool = False
    """Whether to show what happens without trees, too."""
    churn: int | None = None
    """How often brokers join, leave and crash under traffic."""
    rate: float = RATE
    ingest: bool = True
    """Under churn: whether to compare the interest with what Spark reads from the logs of brokers."""
    picture: Path | None = None
    out: Path | None = None
    """The folder for the brokers' folders and logs."""
    keep: bool = False
    """Whether to keep the brokers running until Ctrl-C, and take changes."""
    profile: str | None = None
    version: str | None = None
    secret: Path | None = None
    tls: bool = False
    allow_relays: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.churn is None and (not self.ingest or self.rate != RATE):
            raise InputError("--rate and --no-ingest need --churn: add it, or omit them")
        if self.churn is not None and self.storm:
            raise InputError("--churn cannot be used with --storm: omit one")
        if self.keep and (self.out is None or self.churn is not None):
            raise InputError(
                "--keep needs --out, where meshwright apply finds it, and cannot be used with --churn"
            )


@dataclass(frozen=True)
class Outcome:
    """What was proved."""

    figures: dict[str, Any]
    lines: list[str]
    """Lines for people."""
    passed: bool
    plan: Path | None = None
    out: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome for a JSON answer."""
        return {
            "plan": self.plan and str(self.plan),
            "passed": self.passed,
            **self.figures,
            "out": self.out and str(self.out),
        }


@dataclass(frozen=True)
class FederationRun:
    """A federation to run, and where."""

    choice: FederationChoice
    plan: FederationPlan
    settings: BrokerSettings
    folder: Path
    """The folder for the brokers' folders and logs."""
    temporary: Path
    """A folder that is deleted at the end."""
    progress: Progress | None = None
    authority: Authority | None = None
    """What signs the brokers' certificates, or None without TLS."""


def federation(
    choice: FederationChoice,
    *,
    target: str | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> Outcome:
    """Start brokers from a plan, publish everywhere, and count; all brokers are stopped at the end.

    `say` takes lines while brokers are kept running, which ends with a KeyboardInterrupt.

    Raises
    ------
    MissingDependencyError
        If the broker or an MQTT client is not installed.
    InputError
        If the plan has no trees, has too many brokers, or a broker ends by itself.
    """
    from meshwright.actions.export import BrokerChoice
    from meshwright.brokers.certificates import Authority
    from meshwright.deploy.folder_store import require_stopped
    from meshwright.deploy.targets import DEFAULT_TARGET, load_target
    from meshwright.files.atomic import check_target
    from meshwright.report.sheet import check_chart

    name = target or DEFAULT_TARGET
    installed, newest = load_target(name).kind.version(), load_target(name).versions[-1]
    if choice.version == newest != installed:
        raise InputError(f"the installed {name} is older than {newest}: omit --{name}, or install {newest}")
    if choice.picture is not None:
        check_chart(choice.picture)
    if choice.out is not None:
        check_target(choice.out, "federation")
        require_stopped(choice.out)
    planned = _plan(choice)
    profile = choice.profile or ("plain" if choice.churn is None else "durable")
    brokers = BrokerChoice(profile=profile, version=choice.version or installed, secret=choice.secret)
    with tempfile.TemporaryDirectory(prefix="meshwright-") as temporary:
        run = FederationRun(
            choice,
            planned,
            brokers.settings(name),
            Path(temporary) / "federation" if choice.out is None else choice.out,
            Path(temporary),
            progress,
            Authority(Path(temporary) / "authority") if choice.tls else None,
        )
        if choice.churn is not None:
            outcome = run_churn(run, choice.churn)
        else:
            outcome = run_proof(run, say or (lambda _: None))
    return replace(outcome, plan=choice.plan, out=choice.out)


def _plan(choice: FederationChoice) -> FederationPlan:
    """Return the plan of a folder, or a synthetic one, with as many brokers as allowed."""
    from meshwright.deploy.proof.live_plan import read_federation_plan, synthetic_plan

    if choice.plan is not None:
        planned = read_federation_plan(choice.plan)
    elif choice.brokers is None:
        raise InputError("no plan: give one, or give --brokers for a synthetic plan of that size")
    else:
        planned = synthetic_plan(choice.brokers, loops=choice.storm, seed=choice.seed)
    trees = planned.trees.deployable(allow_relays=choice.allow_relays)
    most = choice.brokers or MOST_BROKERS
    if len(trees.brokers) > most:
        raise InputError(
            f"the plan has {len(trees.brokers)} brokers, more than {most}: "
            f"allow that with --brokers {len(trees.brokers)}, or sample its dataset"
        )
    return replace(planned, trees=trees)


def run_proof(run: FederationRun, say: Callable[[str], None]) -> Outcome:
    """Run the brokers, publish everywhere and judge; then storm and draw if asked.

    Brokers that are kept run until a KeyboardInterrupt; `say` takes lines meanwhile.
    """
    from meshwright.deploy.hosts.local import publish_everywhere, run_federation, run_storm

    trees, picture = run.plan.trees, run.choice.picture
    with run_federation(
        trees, run.folder, run.settings, authority=run.authority, progress=run.progress
    ) as running:
        verdict = publish_everywhere(trees, running, progress=run.progress)
        if run.choice.keep:
            _keep_running(running, verdict, say)
    wiring = running.wiring
    figures = {**wiring.figures(), "up_seconds": running.seconds, **verdict.figures()}
    lines = [f"{wiring.size}: all up after {running.seconds:.1f} s", *verdict.lines]
    if run.choice.storm:
        seen = run_storm(trees, run.plan.links, run.temporary / "storm")
        figures["storm"] = None if seen is None else {**vars(seen), "factor": seen.factor}
        none = "without trees: the links of no topic have a loop, so there is no storm"
        lines.append(none if seen is None else str(seen))
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


def _keep_running(running: RunningFederation, verdict: Verdict, say: Callable[[str], None]) -> None:
    """Keep the brokers running until Ctrl-C, which is the normal end and not a failure."""
    from meshwright.deploy.hosts.supervisor import supervise

    say(f"{verdict.lines[0]}; running in {running.brokers.folder} until Ctrl-C")
    try:
        supervise(running, until=lambda: False, report=say)
    except KeyboardInterrupt:
        say("stopping all brokers, which write their queues")


def run_churn(run: FederationRun, events: int) -> Outcome:
    """Run a federation under churn, judge it, and compare the interest in its logs with the live one."""
    from meshwright.deploy.hosts.churn_traffic import churn_federation
    from meshwright.deploy.proof.live_plan import LivePlan

    seed, rate, logs = run.choice.seed, run.choice.rate, run.temporary / "logs"
    plan = LivePlan(run.plan, seed=seed)

    def copy_logs(federation: RunningFederation) -> None:
        logs.mkdir()
        for broker in federation.brokers.running:
            log = federation.brokers.log(broker)
            shutil.copy(log, logs / f"{log.parent.name}.log")

    verdict = churn_federation(
        plan, random_events(plan.interest(), events, seed), run.folder, run.settings,
        rate=rate, seed=seed, authority=run.authority, before_stop=copy_logs, progress=run.progress,
    )  # fmt: skip
    figures = {
        "profile": run.settings.profile,
        run.settings.target: run.settings.version,
        **verdict.figures(),
    }
    lines, passed = list(verdict.lines), verdict.passed
    if run.choice.ingest:
        same = _ingested_interest_is(plan.interest(), logs, run.temporary / "dataset", run.settings.target)
        figures["interest_from_logs"] = same
        compared = "equals" if same else "does NOT equal"
        lines.append(f"the interest that Spark reads from the brokers' logs {compared} the live interest")
        passed = passed and same
    return Outcome(figures, lines, passed)


def random_events(interest: Interest, count: int, seed: int) -> list[Event]:
    """Return random churn in which every second leave is a crash."""
    from meshwright.churn import Event, random_churn
    from meshwright.churn.events import CRASH, LEAVE

    events = [event for round_ in random_churn(interest, count, seed=seed) for event in round_]
    leaves = [place for place, event in enumerate(events) if event.event == LEAVE]
    for place in leaves[1::2]:
        events[place] = Event(CRASH, events[place].node)
    return events


def _ingested_interest_is(expected: Interest, logs: Path, dataset: Path, target: str) -> bool:
    """Read logs into a dataset, and return whether its subscriptions are the expected ones."""
    from urllib.parse import unquote

    from meshwright.pipeline.dataset.ingest import ingest
    from meshwright.pipeline.readers.formats import Reading
    from meshwright.store.interest_files import load_interest

    reading = Reading(f"{target}-log", node_from="broker", bridges=NOT_SUBSCRIBERS)
    ingest(None, [logs], dataset, reading, allow_empty=True)
    found = load_interest(dataset).to_arrow()
    pairs = zip(found.column("node").to_pylist(), found.column("topic").to_pylist(), strict=True)
    wanted = expected.to_arrow()
    return {(unquote(node), topic) for node, topic in pairs} == set(
        zip(wanted.column("node").to_pylist(), wanted.column("topic").to_pylist(), strict=True)
    )
