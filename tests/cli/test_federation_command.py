"""`federation`: real brokers, judged in figures, and changed by `apply` while they run."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brokers import PROGRAM
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
def test_a_synthetic_federation_under_churn() -> None:
    """Without a plan a synthetic one runs; each event of the churn has a line, and the exit code is 0."""
    answer = meshwright("federation", "--brokers", "5", "--churn", "2", "--no-ingest")
    assert (answer.code, answer.err) == (0, "")
    assert "at the end: " in answer.out
    assert answer.out.count("topics whose tree changes") == 2


<<<<<<< HEAD
def test_federation_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused: no plan and no number, too many brokers, options that do not go together, no mosquitto."""
    if PROGRAM is not None:
        assert "--brokers" in meshwright("federation").complaint
        plan = planned(tmp_path)
        assert "--brokers 6" in meshwright("federation", plan, "--brokers", "3").complaint
        assert "--churn" in meshwright("federation", "--brokers", "3", "--no-ingest").complaint
        assert "--churn" in meshwright("federation", "--brokers", "3", "--rate", "100").complaint
        assert "--out" in meshwright("federation", "--brokers", "3", "--keep").complaint
        for words in (["--storm"], ["--secret", "none"]):
            complaint = meshwright("federation", "--brokers", "3", "--churn", "1", *words).complaint
            assert "--churn cannot be used with --storm or --secret" in complaint
        keep: list[str | Path] = ["--keep", "--out", tmp_path / "out", "--churn", "1"]
        assert "cannot be used with --churn" in meshwright("federation", "--brokers", "3", *keep).complaint
        for words in ([], ["--churn", "1"]):
            complaint = meshwright("federation", "--brokers", "3", "--profile", "x", *words).complaint
            assert "no profile 'x'" in complaint
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("meshwright.brokers.program.SYSTEM_FOLDERS", str(tmp_path))
    assert "apt install mosquitto" in meshwright("federation", "--brokers", "3").complaint


def test_diff_then_apply(tmp_path: Path) -> None:
    """Changes are explained, then applied to the folders; a second time nothing changes."""
    old = planned(tmp_path)
    new = planned(tmp_path, 8, seed=1, today=old)
    changes = meshwright("diff", old, new, "--json").json
    starts = {step["broker"] for wave in changes["waves"] for step in wave if step["action"] == "start"}
    assert starts == {"b6", "b7"}
    reloads = meshwright("diff", old, new, "--mosquitto", "2.1", "--json").json
    assert (reloads["restarts"], bool(changes["restarts"])) == ([], True)
    assert (changes["old"], changes["new"]) == (str(old), str(new))
    assert meshwright("diff", old, old).out == "nothing changes\n"
    folder = tmp_path / "federation"
    assert meshwright("export", old, "--to", "mosquitto", "--out", folder).code == 0
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert "dry run: nothing was changed" in meshwright("apply", new, folder, "--dry-run").out
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    answer = meshwright("apply", new, folder)
    assert answer.code == 0
    assert f"files changed in {folder}" in answer.out
    assert set(read_federation(folder).wiring.order) == {f"b{number}" for number in range(8)}
    again = meshwright("apply", new, folder, "--json").json
    assert (again["waves"], again["files_changed"]) == ([], [])
    assert meshwright("diff", folder, new).out == "nothing changes\n"
    assert (
        "has no passwords: omit" in meshwright("apply", new, folder, "--secret", new / "plan.json").complaint
    )
    (tmp_path / "i.csv").write_text("broker,host,port\nb0,h,1\n")
    words: list[str | Path] = ["--inventory", tmp_path / "i.csv"]
    assert "no brokers 'b1'" in meshwright("apply", new, folder, *words).complaint


def test_diff_shows_what_apply_would_do(tmp_path: Path) -> None:
    """From a folder for 2.1 with passwords, diff and apply show the same waves: reloads, access first."""
    old = planned(tmp_path)
    new = planned(tmp_path, 8, seed=1, today=old)
    folder, secret = tmp_path / "federation", tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    words: list[str | Path] = ["--mosquitto", "2.1", "--secret", secret, "--out", folder]
    assert meshwright("export", old, "--to", "mosquitto", *words).code == 0
    shown = meshwright("diff", folder, new, "--json").json
    applied = meshwright("apply", new, folder, "--secret", secret, "--dry-run", "--json").json
    assert shown["waves"] == applied["waves"]
    assert (applied["dry_run"], applied["running"], applied["new_secret"]) == (True, False, False)
    assert not shown["restarts"]
    assert {step["action"] for step in shown["waves"][0]} == {"reload"}
    assert meshwright("diff", folder, new, "--mosquitto", "2.0", "--json").json["restarts"]
    assert meshwright("diff", folder, new, "--profile", "durable", "--json").json["restarts"]
    assert "give the --secret" in meshwright("apply", new, folder).complaint


def test_orphaned_sessions_are_listed(tmp_path: Path) -> None:
    """With queues, diff and apply show the same waves and sessions to end; once applied, none is left."""
    old = planned(tmp_path, 8, seed=1)
    new = planned(tmp_path, today=old)
    folder = tmp_path / "federation"
    words: list[str | Path] = ["--to", "mosquitto", "--profile", "durable", "--out", folder]
    assert meshwright("export", old, *words).code == 0
    shown = meshwright("diff", folder, new, "--json").json
    applied = meshwright("apply", new, folder, "--dry-run", "--json").json
    assert {name: shown[name] for name in shown.keys() & applied.keys()} == {
        name: applied[name] for name in shown.keys() & applied.keys()
    }
    assert shown["waves"] == meshwright("diff", old, new, "--profile", "durable", "--json").json["waves"]
    assert shown["outlived_sessions"]
    assert not {"b6", "b7"} & shown["outlived_sessions"].keys()
    assert shown["quiet"] == []
    assert "sessions to end" in meshwright("diff", folder, new).out
    answer = meshwright("apply", new, folder).out
    assert "sessions to end" in answer
    assert "messages queue" in answer
    again = meshwright("apply", new, folder, "--json").json
    assert (again["waves"], again["files_changed"], again["outlived_sessions"]) == ([], [], {})


def test_another_secret_restarts_every_broker(tmp_path: Path) -> None:
    """Applied with another secret, every broker restarts once; no file contains the secret."""
    plan, folder, secret = planned(tmp_path), tmp_path / "federation", tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    words: list[str | Path] = [plan, folder, "--secret", secret]
    assert meshwright("export", plan, "--to", "mosquitto", "--secret", secret, "--out", folder).code == 0
    assert meshwright("apply", *words, "--json").json["files_changed"] == []
    secret.write_text("fedcba9876543210")
    answer = meshwright("apply", *words, "--dry-run")
    assert answer.out.startswith("another secret: every broker restarts, with new passwords\n")
    assert "nothing changes" not in answer.out
    changes = meshwright("apply", *words, "--json").json
    assert changes["new_secret"]
    assert changes["restarts"] == [f"b{number}" for number in range(6)]
    assert "b0/passwords" in changes["files_changed"]
    assert meshwright("apply", *words).out == f"nothing changes\n0 files changed in {folder}\n"
    assert all(b"fedcba" not in file.read_bytes() for file in folder.rglob("*") if file.is_file())


=======
>>>>>>> w/deploy
@needs_broker
def test_apply_to_a_running_federation(tmp_path: Path) -> None:
    """A federation that is kept running takes a new plan, once; Ctrl-C ends it with exit code 0."""
    old = write_routed_plan(tmp_path)
    new = write_routed_plan(tmp_path, 8, seed=1, today=old)
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
        assert (
            "is running: stop it" in meshwright("export", old, "--to", "mosquitto", "--out", folder).complaint
        )
        assert (folder / "b7" / "broker.log").is_file()
        assert meshwright("apply", new, folder, "--json").json["files_changed"] == []
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert "0 missing, 0 duplicate, 0 leaked" in out
