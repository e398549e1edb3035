"""Fragments: bridges for brokers that keep their own configuration, listener, users and persistence."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from brokers import PROGRAM, count_deliveries, subscriptions, unused_ports, wait_until
from meshwright.interest import Interest
from meshwright.store.datasets import write_dataset
from terminal import meshwright

HELD = {"a": ["m/#"], "b": ["m/+", "n"], "c": ["m/x", "n"]}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Return a plan of groups with trees."""
    dataset, made = tmp_path / "dataset", tmp_path / "plan"
    write_dataset(Interest.from_dict(HELD, kind="mqtt"), dataset)
    assert meshwright("plan", dataset, "--out", made).code == 0
    assert meshwright("route", made, dataset).code == 0
    return made


def inventory(folder: Path, ports: dict[str, int]) -> Path:
    """Write an inventory with a user, a password file and a configuration for each broker."""
    rows = ["broker,host,port,user,password_file,config"]
    for broker, port in ports.items():
        (folder / f"{broker}.word").write_text(f"word of {broker}\n")
        rows.append(f"{broker},127.0.0.1,{port},bridge,{broker}.word,{broker}/own.conf")
    (folder / "brokers.csv").write_text("\n".join(rows) + "\n")
    return folder / "brokers.csv"


def own_configuration(folder: Path, broker: str, port: int) -> Path:
    """Write a broker's own configuration: listener, users, access list, persistence, and include_dir."""
    home = folder / broker
    (home / "conf.d").mkdir(parents=True)
    (home / "data").mkdir()
    passwords = home / "passwords"
    passwords.touch()
    for user, word in (("bridge", f"word of {broker}"), ("me", "mine")):
        subprocess.run(["mosquitto_passwd", "-b", str(passwords), user, word], check=True)
    lines = [
        f"listener {port} 127.0.0.1", "allow_anonymous false", f"password_file {passwords}",
        f"acl_file {home / 'access'}", "persistence true", f"persistence_location {home / 'data'}/",
        "log_dest stderr", "log_type notice", "log_type information", "log_type subscribe",
        "user root", f"include_dir {home / 'conf.d'}",
    ]  # fmt: skip
    (home / "own.conf").write_text("\n".join(lines) + "\n")
    return home / "own.conf"


def test_a_fragment_has_bridges_only(tmp_path: Path, plan: Path) -> None:
    """No listener, no persistence, no anonymous clients; a user and its password at the other end."""
    ports = {broker: 20000 + place for place, broker in enumerate(HELD)}
    words: list[str | Path] = ["--to", "mosquitto", "--fragment", "--inventory", inventory(tmp_path, ports)]
    answer = meshwright("export", plan, *words, "--out", tmp_path / "out")
    assert answer.code == 0
    assert "b: needs include_dir with meshwright.conf" in answer.out
    assert "a: needs user bridge, with" in answer.out
    assert "not checked: there is no" in answer.out
    assert sorted(path.name for path in (tmp_path / "out" / "b").iterdir()) == [
        "meshwright.conf",
        "required.md",
    ]
    text = (tmp_path / "out" / "b" / "meshwright.conf").read_text()
    assert "remote_username bridge\nremote_password word of a\n" in text
    for word in ("listener", "persistence", "allow_anonymous", "log_", "max_"):
        assert f"\n{word}" not in text
    assert (tmp_path / "out" / "b" / "meshwright.conf").stat().st_mode & 0o077 == 0
    assert "word of" not in (tmp_path / "out" / "federation.json").read_text()
    required = (tmp_path / "out" / "a" / "required.md").read_text()
    assert "user bridge\ntopic " in required
    assert meshwright("lint", tmp_path / "out" / "b" / "meshwright.conf").code == 0


def test_fragments_are_changed_by_apply(tmp_path: Path, plan: Path) -> None:
    """Diff and apply know that a folder has fragments, and write nothing else."""
    out = tmp_path / "out"
    assert meshwright("export", plan, "--to", "mosquitto", "--fragment", "--out", out).code == 0
    dataset, other = tmp_path / "more", tmp_path / "other"
    write_dataset(Interest.from_dict({**HELD, "d": ["m/x"]}, kind="mqtt"), dataset)
    assert meshwright("plan", dataset, "--out", other).code == 0
    assert meshwright("route", other, dataset).code == 0
    assert "start d" in meshwright("diff", out, other).out
    assert meshwright("apply", other, out).code == 0
    assert sorted(path.name for path in (out / "d").iterdir()) == ["meshwright.conf", "required.md"]
    assert "connection meshwright.d>" in (out / "d" / "meshwright.conf").read_text()
    assert not (out / "docker-compose.yml").exists()
    assert "0 files changed" in meshwright("apply", other, out).out


def test_mistakes(tmp_path: Path, plan: Path) -> None:
    """A secret does not fit, and a password file must be there and hold one line."""
    words: list[str | Path] = ["export", plan, "--to", "mosquitto", "--fragment", "--out", tmp_path / "out"]
    (tmp_path / "secret").write_text("0123456789abcdef" * 4)
    (tmp_path / "secret").chmod(0o600)
    assert "omit the secret" in meshwright(*words, "--secret", tmp_path / "secret").complaint
    listed = inventory(tmp_path, {broker: 20000 + place for place, broker in enumerate(HELD)})
    (tmp_path / "a.word").write_text("")
    assert "must hold one password" in meshwright(*words, "--inventory", listed).complaint
    (tmp_path / "a.word").unlink()
    assert "cannot read the password file" in meshwright(*words, "--inventory", listed).complaint
    assert not (tmp_path / "out").exists()


def says(log: Path, text: str) -> bool:
    """Return whether a log has a text."""
    return text in log.read_text()


def run(homes: dict[str, Path], ports: dict[str, int], topic: str, due: dict[str, int]) -> dict[str, int]:
    """Start the brokers from their own configurations, publish at c, and stop them; count deliveries."""
    logs = {broker: home / "broker.log" for broker, home in homes.items()}
    running: list[subprocess.Popen[bytes]] = []
    included = [file.read_text() for home in homes.values() for file in (home / "conf.d").iterdir()]
    bridges = sum(text.count("\nconnection ") for text in included)
    asked = sum(len(re.findall(r"^topic \S+ (?:both|in) ", text, re.MULTILINE)) for text in included)
    try:
        for broker, home in homes.items():
            with logs[broker].open("wb") as log:
                running.append(subprocess.Popen([str(PROGRAM), "-c", str(home / "own.conf")], stderr=log))
            wait_until(partial(says, logs[broker], " running"), f"{broker} runs", running)

        def connected() -> bool:
            return sum(log.read_text().count(" as meshwright.") for log in logs.values()) >= bridges

        def subscribed() -> bool:
            return sum(subscriptions(log, r"meshwright\.\S+") for log in logs.values()) >= asked

        wait_until(connected, f"{bridges} bridges are up", running)
        wait_until(subscribed, f"the bridges hold {asked} subscriptions", running)
        return asyncio.run(count_deliveries(ports, "c", topic, due, username="me", password="mine"))
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait(timeout=10)


@pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
@pytest.mark.skipif(shutil.which("mosquitto_passwd") is None, reason="mosquitto_passwd is not installed")
def test_an_included_fragment_adds_bridges_and_nothing_else(tmp_path: Path, plan: Path) -> None:
    """Included, the bridges come up as their user; the rest of the configuration stays; removed, they end."""
    ports = dict(zip(HELD, unused_ports(len(HELD)), strict=True))
    homes = {broker: own_configuration(tmp_path, broker, port).parent for broker, port in ports.items()}
    before = {broker: (home / "own.conf").read_text() for broker, home in homes.items()}
    listed, out = inventory(tmp_path, ports), tmp_path / "out"
    words: list[str | Path] = ["--to", "mosquitto", "--fragment", "--inventory", listed, "--out", out]
    answer = meshwright("export", plan, *words)
    assert answer.out.count("checked: ") == 3
    assert "MISSING" not in answer.out
    for broker, home in homes.items():
        rights = (out / broker / "required.md").read_text().partition("```text\n")[2].partition("```")[0]
        (home / "access").write_text(f"user me\ntopic readwrite #\n\n{rights}")
        (home / "access").chmod(0o600)
        shutil.copy(out / broker / "meshwright.conf", home / "conf.d")
    everywhere = {"a": 1, "b": 1, "c": 1}
    assert run(homes, ports, "m/x", everywhere) == everywhere
    assert sum((home / "broker.log").read_text().count(" as meshwright.") for home in homes.values()) >= 2
    assert {broker: (home / "own.conf").read_text() for broker, home in homes.items()} == before
    for home in homes.values():
        (home / "conf.d" / "meshwright.conf").unlink()
    alone = {"a": 0, "b": 0, "c": 1}
    assert run(homes, ports, "m/x", alone) == alone
