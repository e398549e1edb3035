"""`diff` and `apply`: changes are explained, then applied to the folders, and only once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
import typer

from meshwright.cli.deploy import _ask_first
from meshwright.deploy.folder_store import FederationFolder
from meshwright.deploy.manifest import read_federation
from meshwright.files import atomic
from routed_plans import write_routed_plan
from terminal import meshwright


def apply_wave(plan: Path, folder: Path) -> str:
    """Write the next wave, and return what is said about it."""
    answer = meshwright("apply", plan, folder, "--wave", "next")
    assert answer.code == 0
    return answer.out


def test_diff_then_apply(tmp_path: Path) -> None:
    """Changes are explained, then applied to the folders; a second time nothing changes."""
    old = write_routed_plan(tmp_path)
    new = write_routed_plan(tmp_path, 8, seed=1, today=old)
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
    assert (
        "apply --wave next, or all of them with apply --staged DIR"
        in meshwright("apply", new, folder).complaint
    )
    shown = [apply_wave(new, folder) for _ in changes["waves"][:1]]
    again = meshwright("apply", new, folder, "--dry-run").out
    assert f"1 of {len(changes['waves'])} waves are written: go on with --wave next" in again
    shown += [apply_wave(new, folder) for _ in changes["waves"][1:]]
    assert "wave 1 of " in shown[0]
    assert "perform these steps, then write the last wave" in shown[0]
    assert f"files changed in {folder}; this was the last wave" in shown[-1]
    assert set(read_federation(folder).wiring.order) == {f"b{number}" for number in range(8)}
    again = meshwright("apply", new, folder, "--json").json
    assert (again["waves"], again["files_changed"]) == ([], [])
    assert meshwright("diff", folder, new).out == "nothing changes\n"
    (tmp_path / "i.csv").write_text("broker,host,port\nb0,h,1\n")
    words: list[str | Path] = ["--inventory", tmp_path / "i.csv"]
    assert "no brokers 'b1'" in meshwright("apply", new, folder, *words).complaint


def test_apply_in_the_middle_of_a_rollout(tmp_path: Path) -> None:
    """Without --wave everything that is left is written: only the waves that are left are listed."""
    old = write_routed_plan(tmp_path)
    new = write_routed_plan(tmp_path, 8, seed=1, today=old)
    folder = tmp_path / "federation"
    assert meshwright("export", old, "--to", "mosquitto", "--out", folder).code == 0
    waves = len(meshwright("diff", old, new, "--json").json["waves"])
    for _ in range(waves - 1):
        shown = apply_wave(new, folder)
    assert "perform these steps, then write the last wave" in shown
    every = [f"wave {number}:" for number in range(1, waves + 1)]
    explained = meshwright("apply", new, folder, "--dry-run").out
    assert f"{waves - 1} of {waves} waves are written: go on with --wave next" in explained
    written = meshwright("apply", new, folder).out
    for text in (explained, written):
        assert [line for line in every if line in text.splitlines()] == every[-1:]
    assert "go on with" not in written
    assert meshwright("diff", folder, new).out == "nothing changes\n"


def test_diff_shows_what_apply_would_do(tmp_path: Path) -> None:
    """From a folder for 2.1 with passwords, diff and apply show the same waves: reloads, access first."""
    old = write_routed_plan(tmp_path)
    new = write_routed_plan(tmp_path, 8, seed=1, today=old)
    folder, secret = tmp_path / "federation", tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    secret.chmod(0o600)
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


@pytest.mark.parametrize("words", [("--profile", "durable"), ("--mosquitto", "2.1"), ()])
def test_diff_and_apply_answer_alike(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Where all brokers must restart although the plan stays, diff shows the restarts that apply shows."""
    plan, folder = write_routed_plan(tmp_path), tmp_path / "federation"
    assert meshwright("export", plan, "--to", "mosquitto", "--out", folder).code == 0
    shown = meshwright("diff", folder, plan, *words, "--json").json
    applied = meshwright("apply", plan, folder, *words, "--dry-run", "--json").json
    common = shown.keys() & applied.keys()
    assert {name: shown[name] for name in common} == {name: applied[name] for name in common}
    assert bool(shown["restarts"]) == bool(words)
    lines = meshwright("apply", plan, folder, *words, "--dry-run").out.splitlines()
    assert meshwright("diff", folder, plan, *words).out.splitlines() == lines[:-1]
    assert lines[-1] == "dry run: nothing was changed"


def test_diff_of_a_secured_federation_needs_no_secret(tmp_path: Path) -> None:
    """Without the secret, the passwords of a federation count as unchanged; with another one, they change."""
    plan, folder, secret = write_routed_plan(tmp_path), tmp_path / "federation", tmp_path / "secret"
    secret.touch(mode=0o600)
    secret.write_text("0123456789abcdef")
    words: list[str | Path] = ["--secret", secret]
    assert meshwright("export", plan, "--to", "mosquitto", *words, "--out", folder).code == 0
    assert meshwright("diff", folder, plan).out == "nothing changes\n"
    assert meshwright("diff", folder, plan, *words).out == "nothing changes\n"
    secret.write_text("fedcba9876543210")
    every = sorted(read_federation(folder).wiring.order)
    assert meshwright("diff", folder, plan, *words, "--json").json["restarts"] == every


def test_diff_names_new_brokers_without_an_address(tmp_path: Path) -> None:
    """A federation on other machines is compared with a plan that has more brokers, without an inventory."""
    old = write_routed_plan(tmp_path)
    new = write_routed_plan(tmp_path, 8, seed=1, today=old)
    folder, places = tmp_path / "federation", tmp_path / "places.csv"
    places.write_text("broker,host,port\n" + "".join(f"b{number},h{number},1883\n" for number in range(6)))
    words: list[str | Path] = ["--inventory", places, "--insecure", "--out", folder]
    assert meshwright("export", old, "--to", "mosquitto", *words).code == 0
    assert "start b6" in meshwright("diff", folder, new).out
    assert "give an inventory" in meshwright("apply", new, folder, "--dry-run", "--insecure").complaint


def test_diff_of_a_rollout_shows_what_is_left(tmp_path: Path) -> None:
    """In the middle of a rollout, diff explains the waves that are left, under their numbers, like apply."""
    old = write_routed_plan(tmp_path)
    new = write_routed_plan(tmp_path, 8, seed=1, today=old)
    folder = tmp_path / "federation"
    assert meshwright("export", old, "--to", "mosquitto", "--out", folder).code == 0
    every = meshwright("diff", folder, new, "--json").json["waves"]
    apply_wave(new, folder)
    assert meshwright("diff", folder, new, "--json").json["waves"] == every[1:]
    explained = meshwright("diff", folder, new).out
    assert "wave 2:" in explained
    assert "wave 1:" not in explained


def test_orphaned_sessions_are_listed(tmp_path: Path) -> None:
    """With queues, diff and apply show the same waves and sessions to end; once applied, none is left."""
    old = write_routed_plan(tmp_path, 8, seed=1)
    new = write_routed_plan(tmp_path, today=old)
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
    assert "messages queue" in meshwright("diff", folder, new).out
    assert "sessions to end" in [apply_wave(new, folder) for _ in shown["waves"]][-1]
    again = meshwright("apply", new, folder, "--json").json
    assert (again["waves"], again["files_changed"], again["outlived_sessions"]) == ([], [], {})


def test_another_secret_restarts_every_broker(tmp_path: Path) -> None:
    """Applied with another secret, every broker restarts once; no file contains the secret."""
    plan, folder, secret = write_routed_plan(tmp_path), tmp_path / "federation", tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    secret.chmod(0o600)
    words: list[str | Path] = [plan, folder, "--secret", secret]
    assert meshwright("export", plan, "--to", "mosquitto", "--secret", secret, "--out", folder).code == 0
    assert meshwright("apply", *words, "--json").json["files_changed"] == []
    secret.write_text("fedcba9876543210")
    secret.chmod(0o600)
    answer = meshwright("apply", *words, "--dry-run")
    assert answer.out.startswith("another secret: every broker restarts, with new passwords\n")
    assert "nothing changes" not in answer.out
    changes = meshwright("apply", *words, "--json").json
    assert changes["new_secret"]
    assert changes["restarts"] == [f"b{number}" for number in range(6)]
    assert "b0/passwords" in changes["files_changed"]
    assert meshwright("apply", *words).out == f"nothing changes\n0 files changed in {folder}\n"
    assert all(b"fedcba" not in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_a_rogue_bridge_is_named_and_removed_first(tmp_path: Path) -> None:
    """A bridge that was added by hand is shown by file and line, and its removal is the first wave."""
    plan, folder = write_routed_plan(tmp_path), tmp_path / "federation"
    assert meshwright("export", plan, "--to", "mosquitto", "--out", folder).code == 0
    clean = meshwright("diff", folder, plan, "--drift")
    assert (clean.code, clean.out) == (0, "nothing changes\n")
    file = folder / "b1" / "mosquitto.conf"
    lines = file.read_text().count("\n")
    with file.open("a") as opened:
        opened.write("connection rogue\naddress 10.0.0.9:1883\nremote_password hunter2\ntopic # both 0\n")
    file.chmod(0o666)
    (folder / "b2" / "mosquitto.conf").unlink()
    found = meshwright("diff", folder, plan, "--drift")
    assert found.code == 1
    assert found.out.splitlines()[:5] == [
        f"drift: b1/mosquitto.conf, line {lines + 1}: added: connection rogue",
        f"drift: b1/mosquitto.conf, line {lines + 2}: added: address 10.0.0.9:1883",
        f"drift: b1/mosquitto.conf, line {lines + 3}: added: remote_password …",
        f"drift: b1/mosquitto.conf, line {lines + 4}: added: topic # both 0",
        "drift: b1/mosquitto.conf: its mode is 0666, more open than 0640",
    ]
    assert "drift: b2/mosquitto.conf: it is missing" in found.out
    assert "wave 1:\n  restart b1; without # ↔ 10.0.0.9:1883\nwave 2:\n  restart b2" in found.out
    for answer in (meshwright("diff", folder, plan), meshwright("apply", plan, folder, "--dry-run")):
        assert answer.code == 0
        assert "restart b1; without # ↔ 10.0.0.9:1883" in answer.out
        assert "nothing changes" not in answer.out
    assert meshwright("diff", folder, plan, "--json").json["restarts"] == ["b1", "b2"]
    assert "restart b1" in meshwright("apply", plan, folder).out
    assert meshwright("diff", folder, plan, "--drift").code == 0
    assert "hunter2" not in file.read_text()
    assert "is not a federation's folder" in meshwright("diff", plan, plan, "--drift").complaint


def test_drift_of_passwords_and_removed_lines(tmp_path: Path) -> None:
    """Edited access lists need a reload, removed bridges a restart that brings them back."""
    plan, folder, secret = write_routed_plan(tmp_path), tmp_path / "federation", tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    secret.chmod(0o600)
    words: list[str | Path] = ["--secret", secret]
    assert meshwright("export", plan, "--to", "mosquitto", *words, "--out", folder).code == 0
    with (folder / "b0" / "access").open("a") as opened:
        opened.write("user mallory\ntopic readwrite #\n")
    (folder / "b0" / "passwords").write_text("")
    text = (folder / "b5" / "mosquitto.conf").read_text()
    (folder / "b5" / "mosquitto.conf").write_text(text[: text.rindex("connection ")])
    found = meshwright("diff", folder, plan, "--drift").out
    assert "b0/access, line " in found
    assert "added: user mallory" in found
    assert "drift: b0/passwords: it has changed" in found
    assert "removed: connection meshwright.b5>" in found
    waves = meshwright("apply", plan, folder, *words, "--dry-run", "--json").json["waves"]
    assert [(step["action"], step["broker"]) for step in waves[0]] == [("reload", "b0"), ("restart", "b5")]
    assert waves[0][1]["added"]
    assert meshwright("apply", plan, folder, *words).code == 0
    assert meshwright("diff", folder, plan, "--drift", *words).code == 0


def test_a_profile_changes_by_waves(tmp_path: Path) -> None:
    """Export refuses another profile or version; apply changes it, and every broker restarts."""
    plan, folder = write_routed_plan(tmp_path), tmp_path / "federation"
    words: list[str | Path] = ["export", plan, "--to", "mosquitto", "--out", folder]
    assert meshwright(*words).code == 0
    assert "change it in waves with meshwright apply" in meshwright(*words, "--profile", "durable").complaint
    changes = meshwright("apply", plan, folder, "--profile", "durable", "--json").json
    assert changes["restarts"] == [f"b{number}" for number in range(6)]
    assert read_federation(folder).settings.profile == "durable"
    assert "cleansession false" in (folder / "b5" / "mosquitto.conf").read_text()
    assert meshwright("diff", folder, plan, "--drift").code == 0
    staged = meshwright("apply", plan, folder, "--profile", "plain", "--staged", tmp_path / "staged")
    assert f"the files of each wave are in {tmp_path / 'staged'}; {folder} was not changed" in staged.out
    assert "cleansession true" in (tmp_path / "staged" / "last" / "b5" / "mosquitto.conf").read_text()
    assert "exclude each other" in meshwright("apply", plan, folder, "--wave", "1", "--dry-run").complaint


PATIENT = """
from meshwright.__main__ import run
from meshwright.files import atomic
atomic.PATIENCE = 240.0
run()
"""
"""The program, but a command waits long for its turn: on a busy machine the others take their time."""


def test_three_changes_at_once(tmp_path: Path) -> None:
    """Three applies at the same time follow one another, each whole; a holder that stays is named."""
    plan, folder = write_routed_plan(tmp_path), tmp_path / "federation"
    assert meshwright("export", plan, "--to", "mosquitto", "--out", folder).code == 0
    words: list[str | Path] = [sys.executable, "-c", PATIENT, "apply", plan, folder, "--profile"]
    started = [
        subprocess.Popen([*words, profile], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for profile in ("durable", "plain", "durable")
    ]
    ended = [(*process.communicate(timeout=300), process.returncode) for process in started]
    assert [(err, code) for _, err, code in ended] == [("", 0)] * 3
    assert meshwright("diff", folder, plan, "--drift").code == 0
    with (
        pytest.MonkeyPatch.context() as patch,
        ThreadPoolExecutor(1) as other,
        FederationFolder(folder).lock(),
    ):
        patch.setattr(atomic, "PATIENCE", 0.1)
        complaint = other.submit(meshwright, "apply", plan, folder).result().complaint
    assert f"the federation in {folder} is in use by process {os.getpid()} on " in complaint
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("content", ["", "{}", '{"set_aside": {}, "writes": 3, "removals": {}}'])
def test_a_damaged_journal_is_one_line(tmp_path: Path, content: str) -> None:
    """Whatever an interrupted change left, commands say how to go on; lint reads the files as they are."""
    plan, folder = write_routed_plan(tmp_path), tmp_path / "federation"
    assert meshwright("export", plan, "--to", "mosquitto", "--out", folder).code == 0
    (folder / ".update").mkdir()
    (folder / ".update" / "journal.json").write_text(content)
    for words in (
        ("diff", folder, plan),
        ("apply", plan, folder),
        ("export", plan, "--to", "mosquitto", "--out", folder),
    ):
        complaint = meshwright(*words).complaint
        assert f"{folder}/.update/journal.json is damaged: " in complaint
        assert f"remove {folder}/.update, then meshwright diff --drift" in complaint
    assert meshwright("lint", folder).code == 0
    shutil.rmtree(folder / ".update")
    assert meshwright("diff", folder, plan, "--drift").code == 0


def test_readers_leave_an_interrupted_change_to_the_next_writer(tmp_path: Path) -> None:
    """Diff and a dry run show the change as made and write nothing; apply completes it."""
    plan, folder = write_routed_plan(tmp_path), tmp_path / "federation"
    assert meshwright("export", plan, "--to", "mosquitto", "--out", folder).code == 0
    stage, names = folder / ".update", ["plan.md", "b0/mosquitto.conf", "federation.json"]
    stage.mkdir()
    for number, name in enumerate(names):
        (folder / name).rename(stage / str(number))
    (folder / "plan.md").write_text("of an earlier plan")
    (folder / "federation.json").write_bytes((stage / "2").read_bytes())
    writes = [[f".update/{number}", name] for number, name in enumerate(names)]
    journal = {"set_aside": {}, "writes": writes, "removals": {}}
    (stage / "journal.json").write_text(json.dumps(journal))
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert meshwright("diff", folder, plan, "--drift").out == "nothing changes\n"
    assert meshwright("apply", plan, folder, "--dry-run").code == 0
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    assert meshwright("apply", plan, folder).code == 0
    assert not stage.exists()
    assert (folder / "plan.md").read_bytes() == before[stage / "0"]


@pytest.mark.parametrize("agreed", [True, False])
def test_apply_asks_on_a_terminal(
    agreed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The changes are shown first; a no changes nothing and ends with code 1."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        asked.append(text)
        return agreed

    monkeypatch.setattr(typer, "confirm", confirm)
    with nullcontext() if agreed else pytest.raises(typer.Exit) as ended:
        _ask_first(Path("federation"), ["restart b1"], json=False)
    assert asked == ["Change the running brokers of federation?"]
    shown = capsys.readouterr().err
    assert "restart b1" in shown
    assert agreed or ("nothing was changed" in shown and ended is not None and ended.value.exit_code == 1)
