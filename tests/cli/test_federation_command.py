"""`federation`, `diff` and `apply`: real brokers, told in figures, and changed as planned."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import meshwright as mw
from brokers import PROGRAM
from meshwright.deploy import read_federation
from meshwright.workloads import zipf
from terminal import meshwright

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="no mosquitto is installed")


def planned(folder: Path, brokers: int = 6, *, seed: int = 0, today: Path | None = None) -> Path:
    """Write a plan with trees, those of another kept as far as possible."""
    interest = zipf(brokers, 5, size=3, seed=seed)
    mw.write_dataset(interest, folder / f"dataset-{brokers}-{seed}")
    plan = folder / f"plan-{brokers}-{seed}"
    mw.write_plan(mw.design(interest, "gm", rounds=3), plan)
    words: list[str | Path] = [] if today is None else ["--objective", "stable", "--today", today]
    assert meshwright("route", plan, folder / f"dataset-{brokers}-{seed}", *words).code == 0
    return plan


@needs_broker
def test_a_plan_is_proved(tmp_path: Path) -> None:
    """The plan's brokers run, every message comes once, the storm is counted, and a picture is drawn."""
    plan = planned(tmp_path)
    words: list[str | Path] = ["--storm", "--picture", tmp_path / "f.png", "--out", tmp_path / "run"]
    answer = meshwright("federation", plan, *words, "--json")
    assert answer.code == 0
    told = answer.json
    assert (told["missing"], told["duplicate"], told["leaked"], told["passed"]) == (0, 0, 0, True)
    assert told["brokers"] == 6
    assert told["storm"]["factor"] > 100
    assert (tmp_path / "f.png").stat().st_size > 0
    assert len(list((tmp_path / "run").glob("*/broker.log"))) == 6


@needs_broker
def test_a_made_up_federation_under_churn() -> None:
    """Without a plan one is made up; churn is told event by event, and the answer is yes."""
    answer = meshwright("federation", "--brokers", "5", "--churn", "2", "--no-ingest")
    assert (answer.code, answer.err) == (0, "")
    assert "at the end: " in answer.out
    assert answer.out.count("topics whose tree changes") == 2


def test_federation_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan and no number, too many brokers, options that do not go together, and no mosquitto."""
    if PROGRAM is not None:
        assert "--brokers" in meshwright("federation").complaint
        assert "--brokers 6" in meshwright("federation", planned(tmp_path), "--brokers", "3").complaint
        assert "--churn" in meshwright("federation", "--brokers", "3", "--no-ingest").complaint
        assert "--out" in meshwright("federation", "--brokers", "3", "--keep").complaint
        for words in ([], ["--churn", "1"]):
            told = meshwright("federation", "--brokers", "3", "--profile", "x", *words).complaint
            assert "no profile 'x'" in told
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("meshwright.brokers.program.SYSTEM_FOLDERS", str(tmp_path))
    assert "apt install mosquitto" in meshwright("federation", "--brokers", "3").complaint


def test_diff_then_apply(tmp_path: Path) -> None:
    """Explained first, then applied to the folders; a second time nothing changes, no file is touched."""
    old = planned(tmp_path)
    new = planned(tmp_path, 8, seed=1, today=old)
    told = meshwright("diff", old, new, "--json").json
    starts = {step["broker"] for wave in told["waves"] for step in wave if step["action"] == "start"}
    assert starts == {"b6", "b7"}
    reloads = meshwright("diff", old, new, "--mosquitto", "2.1", "--json").json
    assert (reloads["restarts"], bool(told["restarts"])) == ([], True)
    assert meshwright("diff", old, old).out == "nothing changes\n"
    folder = tmp_path / "federation"
    assert meshwright("export", old, "--to", "mosquitto", "--out", folder).code == 0
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert "dry run" in meshwright("apply", new, folder, "--dry-run").out
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    assert meshwright("apply", new, folder).code == 0
    assert set(read_federation(folder).wiring.order) == {f"b{number}" for number in range(8)}
    again = meshwright("apply", new, folder, "--json").json
    assert (again["waves"], again["files_changed"]) == ([], [])
    assert meshwright("diff", folder, new).out == "nothing changes\n"
    assert "passwords" in meshwright("apply", new, folder, "--secret", new / "plan.json").complaint
    (tmp_path / "i.csv").write_text("broker,host,port\nb0,h,1\n")
    words: list[str | Path] = ["--inventory", tmp_path / "i.csv"]
    assert "no brokers 'b1'" in meshwright("apply", new, folder, *words).complaint


def test_diff_says_what_apply_would_do(tmp_path: Path) -> None:
    """From a folder for 2.1 with passwords, diff tells the waves that apply tells: reloads, access first."""
    old = planned(tmp_path)
    new = planned(tmp_path, 8, seed=1, today=old)
    folder, secret = tmp_path / "federation", tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    words: list[str | Path] = ["--mosquitto", "2.1", "--secret", secret, "--out", folder]
    assert meshwright("export", old, "--to", "mosquitto", *words).code == 0
    told = meshwright("diff", folder, new, "--json").json
    asked = meshwright("apply", new, folder, "--secret", secret, "--dry-run", "--json").json
    assert told["waves"] == asked["waves"]
    assert not told["restarts"]
    assert {step["action"] for step in told["waves"][0]} == {"reload"}
    assert meshwright("diff", folder, new, "--mosquitto", "2.0", "--json").json["restarts"]


def test_sessions_that_last_are_told(tmp_path: Path) -> None:
    """With queues, diff and apply tell the same waves and the sessions to end; once applied, none is left."""
    old = planned(tmp_path, 8, seed=1)
    new = planned(tmp_path, today=old)
    folder = tmp_path / "federation"
    words: list[str | Path] = ["--to", "mosquitto", "--profile", "durable", "--out", folder]
    assert meshwright("export", old, *words).code == 0
    told = meshwright("diff", folder, new, "--json").json
    asked = meshwright("apply", new, folder, "--dry-run", "--json").json
    assert {name: told[name] for name in told.keys() & asked.keys()} == {
        name: asked[name] for name in told.keys() & asked.keys()
    }
    assert told["waves"] == meshwright("diff", old, new, "--profile", "durable", "--json").json["waves"]
    assert told["outlived_sessions"]
    assert not {"b6", "b7"} & told["outlived_sessions"].keys()
    assert told["quiet"] == []
    answer = meshwright("apply", new, folder).out
    assert "sessions to end" in answer
    assert "messages wait" in answer
    again = meshwright("apply", new, folder, "--json").json
    assert (again["waves"], again["files_changed"], again["outlived_sessions"]) == ([], [], {})


def test_another_secret_is_another_federation(tmp_path: Path) -> None:
    """Applied with another secret, every broker is told to start anew, once; the secret stands nowhere."""
    plan, folder, secret = planned(tmp_path), tmp_path / "federation", tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    words: list[str | Path] = [plan, folder, "--secret", secret]
    assert meshwright("export", plan, "--to", "mosquitto", "--secret", secret, "--out", folder).code == 0
    assert meshwright("apply", *words, "--json").json["files_changed"] == []
    secret.write_text("fedcba9876543210")
    answer = meshwright("apply", *words, "--dry-run")
    assert "another secret" in answer.out
    assert "nothing changes" not in answer.out
    told = meshwright("apply", *words, "--json").json
    assert told["new_secret"]
    assert told["restarts"] == [f"b{number}" for number in range(6)]
    assert "b0/passwords" in told["files_changed"]
    assert "nothing changes" in meshwright("apply", *words).out
    assert all(b"fedcba" not in file.read_bytes() for file in folder.rglob("*") if file.is_file())


@needs_broker
def test_apply_to_a_running_federation(tmp_path: Path) -> None:
    """A federation that is kept running takes a new plan; once is enough; Ctrl-C ends it with code 0."""
    old = planned(tmp_path)
    new = planned(tmp_path, 8, seed=1, today=old)
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "meshwright", "federation", str(old), "--keep", "--out", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert "until Ctrl-C" in running.stderr.readline()
        for _ in range(100):
            if (folder / "running.json").is_file():
                break
            time.sleep(0.05)
        answer = meshwright("apply", new, folder, "--json")
        assert (answer.code, answer.err) == (0, "")
        assert answer.json["running"]
        acted = {step["broker"] for wave in answer.json["waves"] for step in wave}
        assert acted >= {"b6", "b7", *answer.json["restarts"]}
        assert {f"{broker}/mosquitto.conf" for broker in acted} <= set(answer.json["files_changed"])
        assert "is kept running" in meshwright("export", old, "--to", "mosquitto", "--out", folder).complaint
        assert (folder / "b7" / "broker.log").is_file()
        assert meshwright("apply", new, folder, "--json").json["files_changed"] == []
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert "0 missing, 0 duplicate, 0 leaked" in out
