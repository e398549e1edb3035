"""Fragments: bridges for brokers that keep their own configuration, listener, users and persistence."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from brokers import PROGRAM
from meshwright.brokers.processes import free_ports
from meshwright.deploy.federation.traffic import load_aiomqtt
from meshwright.interest import Interest
from meshwright.store import write_dataset
from terminal import meshwright

HELD = {"a": ["m/#"], "b": ["m/+", "n"], "c": ["m/x", "n"]}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Return a plan of groups with trees."""
    dataset, made = tmp_path / "dataset", tmp_path / "plan"
    write_dataset(Interest.from_dict(HELD), dataset)
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
        "log_dest stderr", "user root", f"include_dir {home / 'conf.d'}",
    ]  # fmt: skip
    (home / "own.conf").write_text("\n".join(lines) + "\n")
    return home / "own.conf"


def test_a_fragment_has_bridges_only(tmp_path: Path, plan: Path) -> None:
    """No listener, no persistence, no anonymous clients; a user and its password at the other end."""
    ports = {broker: 20000 + place for place, broker in enumerate(HELD)}
    words = ["--to", "mosquitto", "--fragment", "--inventory", inventory(tmp_path, ports)]
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
    write_dataset(Interest.from_dict({**HELD, "d": ["m/x"]}), dataset)
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
    words = ["export", plan, "--to", "mosquitto", "--fragment", "--out", tmp_path / "out"]
    (tmp_path / "secret").write_text("0123456789abcdef")
    assert "omit the secret" in meshwright(*words, "--secret", tmp_path / "secret").complaint
    listed = inventory(tmp_path, {broker: 20000 + place for place, broker in enumerate(HELD)})
    (tmp_path / "a.word").write_text("")
    assert "must hold one password" in meshwright(*words, "--inventory", listed).complaint
    (tmp_path / "a.word").unlink()
    assert "cannot read the password file" in meshwright(*words, "--inventory", listed).complaint
    assert not (tmp_path / "out").exists()


async def deliveries(ports: dict[str, int], topic: str) -> dict[str, int]:
    """Publish at c and count what arrives at each broker within a second."""
    aiomqtt = load_aiomqtt()
    seen = dict.fromkeys(ports, 0)
    login = {"username": "me", "password": "mine"}

    async def listen(broker: str, ready: asyncio.Event) -> None:
        async with aiomqtt.Client("127.0.0.1", ports[broker], **login) as client:
            await client.subscribe("#")
            ready.set()
            async for _ in client.messages:
                seen[broker] += 1

    flags = {broker: asyncio.Event() for broker in ports}
    tasks = [asyncio.create_task(listen(broker, flag)) for broker, flag in flags.items()]
    await asyncio.gather(*(flag.wait() for flag in flags.values()))
    async with aiomqtt.Client("127.0.0.1", ports["c"], **login) as client:
        await client.publish(topic, b"1", qos=1)
    await asyncio.sleep(1.0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return seen


def run(homes: dict[str, Path], ports: dict[str, int], topic: str, *, bridges: bool) -> dict[str, int]:
    """Start the brokers from their own configurations, publish, and stop them."""
    running = []
    try:
        for broker, home in homes.items():
            with (home / "broker.log").open("wb") as log:
                running += [subprocess.Popen([str(PROGRAM), "-c", str(home / "own.conf")], stderr=log)]
            end = time.monotonic() + 10
            while "running" not in (home / "broker.log").read_text() and time.monotonic() < end:
                time.sleep(0.02)
            assert broker
        end = time.monotonic() + 10
        while bridges and time.monotonic() < end:
            logs = "".join((home / "broker.log").read_text() for home in homes.values())
            if logs.count(" as meshwright.") >= 2:
                break
            time.sleep(0.05)
        time.sleep(0.3)
        return asyncio.run(deliveries(ports, topic))
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait(timeout=10)


@pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
@pytest.mark.skipif(shutil.which("mosquitto_passwd") is None, reason="mosquitto_passwd is not installed")
def test_an_included_fragment_adds_bridges_and_nothing_else(tmp_path: Path, plan: Path) -> None:
    """Included, the bridges come up as their user; the rest of the configuration stays; removed, they end."""
    ports = dict(zip(HELD, free_ports(len(HELD)), strict=True))
    homes = {broker: own_configuration(tmp_path, broker, port).parent for broker, port in ports.items()}
    before = {broker: (home / "own.conf").read_text() for broker, home in homes.items()}
    listed, out = inventory(tmp_path, ports), tmp_path / "out"
    words = ["--to", "mosquitto", "--fragment", "--inventory", listed, "--out", out]
    answer = meshwright("export", plan, *words)
    assert answer.out.count("checked: ") == 3
    assert "MISSING" not in answer.out
    for broker, home in homes.items():
        rights = (out / broker / "required.md").read_text().partition("```text\n")[2].partition("```")[0]
        (home / "access").write_text(f"user me\ntopic readwrite #\n\n{rights}")
        (home / "access").chmod(0o600)
        shutil.copy(out / broker / "meshwright.conf", home / "conf.d")
    assert run(homes, ports, "m/x", bridges=True) == {"a": 1, "b": 1, "c": 1}
    assert {broker: (home / "own.conf").read_text() for broker, home in homes.items()} == before
    for home in homes.values():
        (home / "conf.d" / "meshwright.conf").unlink()
    assert run(homes, ports, "m/x", bridges=False) == {"a": 0, "b": 0, "c": 1}
