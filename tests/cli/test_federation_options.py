"""`federation` without brokers: what it refuses, what it runs, and how it words verdicts for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import meshwright as mw
from meshwright.actions.federation import random_events
from meshwright.brokers.mosquitto import MOSQUITTO
from meshwright.churn.events import CRASH, LEAVE
from meshwright.deploy.hosts.local import Storm
from meshwright.deploy.named_trees import NamedTrees
from meshwright.deploy.proof.churn_verdict import ChurnVerdict, Count, Window
from meshwright.deploy.proof.live_plan import synthetic_plan
from meshwright.deploy.proof.verdict import Verdict
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.wiring import wire
from meshwright.workloads import zipf
from routed_plans import write_routed_plan
from terminal import meshwright

FAULT = ("t0", "b0", "b1")
EXACT = Verdict(4, 9, (), (), (), {})


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that Mosquitto 2.0 is installed."""
    pretended = replace(MOSQUITTO, version=lambda: "2.0")
    monkeypatch.setattr("meshwright.brokers.mosquitto.MOSQUITTO", pretended)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give --brokers for a synthetic plan"),
        (["--brokers", "3", "--mosquitto", "2.1"], "the installed mosquitto is older than 2.1"),
        (["--brokers", "3", "--no-ingest"], "--rate and --no-ingest need --churn"),
        (["--brokers", "3", "--rate", "100"], "--rate and --no-ingest need --churn"),
        (["--brokers", "3", "--churn", "1", "--storm"], "--churn cannot be used with --storm"),
        (["--brokers", "3", "--keep"], "--keep needs --out"),
        (["--brokers", "3", "--keep", "--out", "new", "--churn", "1"], "cannot be used with --churn"),
        (["--brokers", "3", "--profile", "x"], "no profile 'x'"),
        (["--brokers", "3", "--profile", "x", "--churn", "1"], "no profile 'x'"),
        (["--brokers", "3", "--picture", "federation.txt"], "federation.txt"),
        (["--brokers", "3", "--out", "file"], "file"),
    ],
)
def test_wrong_options_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    """Options that do not go together are refused with one line, before any broker starts."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    assert message in meshwright("federation", *words).complaint
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_too_many_brokers_are_refused(tmp_path: Path) -> None:
    """A plan with more brokers than allowed is refused; the line says how to allow them."""
    plan = write_routed_plan(tmp_path)
    complaint = meshwright("federation", plan, "--brokers", "3").complaint
    assert "6 brokers, more than 3: allow that with --brokers 6" in complaint


def test_without_mosquitto(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where mosquitto is not installed, one line says how to install it."""
    monkeypatch.undo()
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    assert "apt install mosquitto" in meshwright("federation", "--brokers", "3").complaint


class FakeRun:
    """Records how a federation is run, and answers with a given verdict."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, verdict: Verdict = EXACT) -> None:
        self.verdict, self.settings = verdict, BrokerSettings()
        self.folder, self.trees = Path(), NamedTrees((), {})
        monkeypatch.setattr("meshwright.deploy.hosts.local.run_federation", self.run_federation)
        monkeypatch.setattr("meshwright.deploy.hosts.local.publish_everywhere", lambda *_, **__: self.verdict)

    @contextmanager
    def run_federation(
        self, trees: NamedTrees, folder: Path, settings: BrokerSettings, **_: object
    ) -> Iterator[Any]:
        """Run nothing."""
        self.trees, self.folder, self.settings = trees, folder, settings
        yield SimpleNamespace(wiring=wire(trees), seconds=0.25, brokers=SimpleNamespace(folder=folder))


def test_the_answer_of_a_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer counts brokers, bridges and lines, gives the verdict, and names the folder if it is kept."""
    run = FakeRun(monkeypatch)
    plan, out = write_routed_plan(tmp_path), tmp_path / "out"
    answer = meshwright("federation", plan, "--out", out)
    wiring = wire(run.trees)
    assert (answer.code, answer.out) == (
        0,
        f"6 brokers, {len(wiring.bridges)} bridges, {wiring.topic_lines} topic lines: all up after 0.2 s\n"
        "4 messages, 9 deliveries due: 0 missing, 0 duplicate, 0 leaked\n"
        f"folders and logs are in {out}\n",
    )
    assert (run.folder, run.settings) == (out, BrokerSettings())
    assert meshwright("federation", plan, "--json", "--profile", "durable").json == {
        "plan": str(plan),
        "passed": True,
        "brokers": 6,
        "bridges": len(wiring.bridges),
        "topic_lines": wiring.topic_lines,
        "up_seconds": 0.25,
        **EXACT.figures(),
        "out": None,
    }
    assert run.settings == BrokerSettings("durable")
    assert not run.folder.exists()


def test_a_fault_is_the_answer_no(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing message makes the exit code 1, and is named."""
    FakeRun(monkeypatch, Verdict(4, 9, (FAULT,), (), (), {}))
    answer = meshwright("federation", "--brokers", "3")
    assert answer.code == 1
    assert "missing: 't0' published at 'b0', at 'b1'" in answer.out
    assert not meshwright("federation", "--brokers", "3", "--json").json["passed"]


def test_a_storm_and_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A storm runs on a plan with loops; a picture marks the brokers at fault; both are in the answer."""
    run = FakeRun(monkeypatch, Verdict(4, 9, (FAULT,), (), (("t0", "b0", "b2"),), {}))
    stormed: list[Any] = []
    drawn: list[Any] = []

    def fake_storm(trees: NamedTrees, links: Any, folder: Path) -> Storm:
        stormed.append((trees, links, folder.name))
        return Storm("t0", "b0", 3, 300)

    monkeypatch.setattr("meshwright.deploy.hosts.local.run_storm", fake_storm)
    monkeypatch.setattr(
        "meshwright.report.charts.federation_picture",
        lambda *given, **named: drawn.append((given, named)),
    )
    picture = tmp_path / "f.png"
    words = ["--brokers", "4", "--storm", "--picture", str(picture)]
    answer = meshwright("federation", *words)
    plan, wiring = synthetic_plan(4, loops=True), wire(run.trees)
    assert stormed == [(plan.trees, plan.links, "storm")]
    counts = {pair: len(topics) for pair, topics in wiring.bridges.items()}
    title = "4 messages, 9 deliveries due: 1 missing, 0 duplicate, 1 leaked"
    assert drawn == [((wiring.order, counts, picture), {"faulty": {"b1", "b2"}, "title": title})]
    assert answer.out.splitlines()[-2:] == [
        "without trees: one message on 't0' made 300 deliveries in 2 s where 3 are due: 100 times as many",
        f"picture {picture}",
    ]
    figures = meshwright("federation", *words, "--json").json
    assert figures["storm"] == {
        "topic": "t0", "origin": "b0", "expected": 3, "deliveries": 300, "factor": 100.0
    }  # fmt: skip
    assert figures["picture"] == str(picture)


def test_kept_running_until_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --keep the federation is supervised until Ctrl-C, which is a normal end."""
    FakeRun(monkeypatch)

    def supervise(federation: Any, *, until: Any, report: Any) -> None:
        assert not until()
        report("3 files changed")
        raise KeyboardInterrupt

    monkeypatch.setattr("meshwright.deploy.hosts.supervisor.supervise", supervise)
    answer = meshwright("federation", "--brokers", "3", "--keep", "--out", tmp_path / "out")
    assert answer.code == 0
    assert answer.err.splitlines() == [
        "meshwright: 4 messages, 9 deliveries due: 0 missing, 0 duplicate, 0 leaked; running in "
        f"{tmp_path / 'out'} until Ctrl-C",
        "meshwright: 3 files changed",
        "meshwright: stopping all brokers, which write their queues",
    ]


@pytest.mark.parametrize(("leaked", "same"), [(0, True), (0, False), (1, True)])
def test_the_answer_of_churn(monkeypatch: pytest.MonkeyPatch, leaked: int, same: bool) -> None:
    """Each event has a line; the exit code is 0 only if the verdict passes and the logs give the interest."""
    window = Window("leave", "b1", 0.0, ended=0.5)
    asked: dict[str, Any] = {}

    def fake_churn(plan: Any, events: Any, folder: Path, settings: Any, **named: Any) -> ChurnVerdict:
        asked.update(events=len(events), settings=settings, **named)
        return ChurnVerdict(EXACT, [window], leaked, EXACT, (), 9.0)

    monkeypatch.setattr("meshwright.deploy.hosts.churn_traffic.churn_federation", fake_churn)
    monkeypatch.setattr("meshwright.actions.federation._ingested_interest_is", lambda *_: same)
    answer = meshwright("federation", "--brokers", "4", "--churn", "3", "--rate", "50", "--seed", "7")
    assert answer.code == (0 if same and not leaked else 1)
    verdict = "4 messages, 9 deliveries due: 0 missing, 0 duplicate, 0 leaked"
    assert answer.out.splitlines() == [
        "leave of b1: 500 ms in 1 wave",
        f"outside of these: {verdict}",
        f"at the end: {verdict}",
        "the interest that Spark reads from the brokers' logs "
        f"{'equals' if same else 'does NOT equal'} the live interest",
    ]
    assert (asked["events"], asked["rate"], asked["seed"]) == (3, 50.0, 7)
    assert asked["settings"] == BrokerSettings("durable")
    figures = meshwright("federation", "--brokers", "4", "--churn", "3", "--no-ingest", "--json").json
    assert figures == {
        "plan": None,
        "passed": not leaked,
        "profile": "durable",
        "mosquitto": "2.0",
        "events": 1,
        "seconds": 9.0,
        "calm": EXACT.figures(),
        "final": EXACT.figures(),
        "leaked": leaked,
        "windows": [window.figures()],
        "out": None,
    }


def test_a_verdict() -> None:
    """The counts come first, then five faults of each kind, then latency by hops."""
    fault = ("x", "a", "b")
    verdict = Verdict(1_000, 2_000, (fault,) * 6, (fault,), (), {1: (1_234, 0.0042, 0.25), 2: (1, 3.0, 3.0)})
    assert verdict.lines == [
        "1,000 messages, 2,000 deliveries due: 6 missing, 1 duplicate, 0 leaked",
        *["  missing: 'x' published at 'a', at 'b'"] * 5,
        "  duplicate: 'x' published at 'a', at 'b'",
        "  1 hop: 4.2 ms on average, 250 ms for 95 % (1,234 deliveries)",
        "  2 hops: 3.0 s on average, 3.0 s for 95 % (1 deliveries)",
    ]


def test_a_storm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A storm states deliveries and the factor; without a loop the line says why there is none."""
    assert str(Storm("x", "a", 6, 12_000)) == (
        "without trees: one message on 'x' made 12,000 deliveries in 2 s where 6 are due: 2,000 times as many"
    )
    FakeRun(monkeypatch)
    monkeypatch.setattr("meshwright.deploy.hosts.local.run_storm", lambda *_: None)
    answer = meshwright("federation", "--brokers", "4", "--storm")
    none = "without trees: the links of no topic have a loop, so there is no storm"
    assert answer.out.splitlines()[-1] == none


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "leave of b: 500 ms in 1 wave"),
        (
            {"waves": 2, "restarts": ["a", "c"], "reloads": ["d"]},
            "leave of b: 500 ms in 2 waves, 2 restarted, 1 reloaded",
        ),
        (
            {
                "spans": dict.fromkeys("xyz", (0.0, 1.0)),
                "changed_topics": frozenset("x"),
                "changed_trees": Count(9, 1_000, 1, 2),
                "unchanged_trees": Count(9, 20, 3, 4),
            },
            "leave of b: 500 ms in 1 wave; "
            "of 1,000 deliveries on 1 topics whose tree changes 1 missing, 2 duplicate; "
            "of 20 deliveries on 2 topics whose tree stays but a broker restarts or reloads "
            "3 missing, 4 duplicate",
        ),
        (
            {"unexcused": 2, "ended": 100.0},
            "leave of b: 1 min 40 s in 1 wave; 2 lost or duplicate on undisturbed paths; NOT over in time",
        ),
    ],
)
def test_a_window(fields: dict[str, Any], line: str) -> None:
    """A window states the event, its duration and actions, the counts of affected topics, and faults."""
    assert str(Window("leave", "b", 0.0, **{"ended": 0.5, **fields})) == line


def test_every_second_leave_is_a_crash() -> None:
    """Random churn is that of the library, with every second leave as a crash of the same broker."""
    interest = zipf(12, 6, size=3, seed=0)
    events = random_events(interest, 20, 1)
    plain = [event for round_ in mw.churn.random_churn(interest, 20, seed=1) for event in round_]
    assert [event.node for event in events] == [event.node for event in plain]
    assert [event.event for event in events if event.event in (LEAVE, CRASH)][:4] == [LEAVE, CRASH] * 2
    assert {event.event for event in plain} & {CRASH} == set()
