"""`federation`: real brokers, judged in figures, and changed by `apply` while they run."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from brokers import PROGRAM, wait_until
from routed_plans import write_routed_plan
from terminal import meshwright

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")


@needs_broker
def test_a_plan_is_proved(tmp_path: Path) -> None:
    """The plan's brokers run, every message arrives once, the storm is counted, and a picture is drawn."""
    plan = write_routed_plan(tmp_path)
    words: list[str | Path] = ["--storm", "--picture", tmp_path / "f.png", "--out", tmp_path / "run"]
    answer = meshwright("federation", plan, *words, "--json")
    assert answer.code == 0
    figures = answer.json
    assert (figures["missing"], figures["duplicate"], figures["leaked"]) == (0, 0, 0)
    assert (figures["passed"], figures["brokers"]) == (True, 6)
    # Far more on an idle machine; a busy one delivers fewer messages in two seconds.
    assert figures["storm"]["factor"] > 10
    assert (tmp_path / "f.png").stat().st_size > 0
    assert len(list((tmp_path / "run").glob("*/broker.log"))) == 6


@needs_broker
@pytest.mark.slow
def test_a_synthetic_federation_under_churn() -> None:
    """Without a plan a synthetic one runs; each event of the churn has a line, and the exit code is 0."""
    answer = meshwright("federation", "--brokers", "5", "--churn", "2", "--no-ingest")
    assert (answer.code, answer.err) == (0, "")
    assert "at the end: " in answer.out
    assert answer.out.count("topics whose tree changes") == 2


@needs_broker
def test_apply_to_a_running_federation(tmp_path: Path) -> None:
    """A federation that is kept running takes a new plan, once; Ctrl-C ends it with exit code 0."""
    old = write_routed_plan(tmp_path)
    new = write_routed_plan(tmp_path, 8, seed=1, today=old)
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "meshwright", "federation", str(old), "--keep", "--out", str(folder)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running,
        ExitStack() as stack,
    ):
        stack.callback(running.kill)  # if an assertion fails, it would run on
        assert running.stderr is not None
        assert "until Ctrl-C" in running.stderr.readline()
        wait_until((folder / "running.json").is_file, "running.json is written", [running])
        assert "are running and would change: add --yes" in meshwright("apply", new, folder).complaint
        answer = meshwright("apply", new, folder, "--yes", "--json")
        assert (answer.code, answer.err) == (0, "")
        assert answer.json["running"]
        acted = {step["broker"] for wave in answer.json["waves"] for step in wave}
        assert acted >= {"b6", "b7", *answer.json["restarts"]}
        assert {f"{broker}/mosquitto.conf" for broker in acted} <= set(answer.json["files_changed"])
        refused = meshwright("export", old, "--to", "mosquitto", "--out", folder).complaint
        assert f"is running, by process {running.pid} on " in refused
        assert (folder / "b7" / "broker.log").is_file()
        assert meshwright("apply", new, folder, "--json").json["files_changed"] == []
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert "0 missing, 0 duplicate, 0 leaked" in out
