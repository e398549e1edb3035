"""`diff` and `apply`: changes are explained, then applied to the folders, and only once."""

from __future__ import annotations

from pathlib import Path

from meshwright.deploy import read_federation
from routed_plans import write_routed_plan
from terminal import meshwright


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
    old = write_routed_plan(tmp_path)
    new = write_routed_plan(tmp_path, 8, seed=1, today=old)
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
    answer = meshwright("apply", new, folder).out
    assert "sessions to end" in answer
    assert "messages queue" in answer
    again = meshwright("apply", new, folder, "--json").json
    assert (again["waves"], again["files_changed"], again["outlived_sessions"]) == ([], [], {})


def test_another_secret_restarts_every_broker(tmp_path: Path) -> None:
    """Applied with another secret, every broker restarts once; no file contains the secret."""
    plan, folder, secret = write_routed_plan(tmp_path), tmp_path / "federation", tmp_path / "secret"
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
