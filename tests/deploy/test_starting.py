"""Folders started as `plan.md`, the systemd unit and the compose file start them, and by nothing of ours."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from brokers import PROGRAM
from meshwright.brokers.program import free_ports
from meshwright.deploy import (
    BrokerSettings,
    Endpoint,
    Inventory,
    NamedTrees,
    TopicTree,
    read_federation,
    wire,
    write_federation,
)
from meshwright.deploy.federation.update import update_folders

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="no mosquitto is installed")
PAIR = NamedTrees(("a", "b"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})
SECRET = b"0123456789abcdef"


def written(folder: Path, chosen: BrokerSettings) -> Path:
    """Export two brokers that are linked."""
    places = dict(zip("ab", (Endpoint("127.0.0.1", port) for port in free_ports(2)), strict=True))
    return write_federation(PAIR, wire(PAIR), Inventory(places), chosen, folder)


def by_hand(folder: Path) -> list[str]:
    """Return what plan.md says to run, what root does first included."""
    page = (folder / "plan.md").read_text().replace("FOLDER", "a")
    found = re.search(r"by hand: `(cd a && .*?)`.*by hand, root does it with `(.*?)`", page, re.DOTALL)
    assert found is not None
    return [found[2], found[1]] if os.getuid() == 0 else [found[1]]


def by_unit(folder: Path) -> list[str]:
    """Return what systemd runs, with the folder where it is here."""
    text = (folder / "a" / "mosquitto.service").read_text().replace("/etc/meshwright/", f"{folder}/")
    options = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    before = [options["ExecStartPre"].removeprefix("+")] if os.getuid() == 0 else []
    return [*before, f"cd {options['WorkingDirectory']} && {options['ExecStart'].removeprefix('/usr/sbin/')}"]


def by_compose(folder: Path) -> list[str]:
    """Return what a container runs in its working folder, where root starts it."""
    services = yaml.safe_load((folder / "docker-compose.yml").read_text())["services"].values()
    service = next(each for each in services if each["volumes"] == [f"./a:{each['working_dir']}"])
    shell, option, command = service["command"]
    assert (shell, option) == ("sh", "-c")
    return [f"cd a && {command if os.getuid() == 0 else command.partition(' && ')[2]}"]


WAYS = {"by hand": by_hand, "by unit": by_unit, "by compose": by_compose}


@contextmanager
def started(folder: Path, commands: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run commands one after the other; the last one is a broker, which is ended on leaving."""
    for command in commands[:-1]:
        subprocess.run(["sh", "-c", command], cwd=folder, check=True)
    last = re.sub(r"&& (exec )?mosquitto", f"&& exec {PROGRAM}", commands[-1])
    with subprocess.Popen(
        ["sh", "-c", last], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def said(process: subprocess.Popen[str], word: str) -> list[str]:
    """Read what a broker says until a word is in it, or it has ended."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if word in line:
            break
    return lines


def answered(process: subprocess.Popen[str], folder: Path) -> None:
    """Wait until broker `a` takes connections; signals that come before that it may overlook."""
    assert " running" in said(process, " running")[-1]
    place = read_federation(folder).inventory.endpoints["a"]
    with socket.create_connection((place.host, place.port)):
        said(process, "New connection")


@needs_broker
@pytest.mark.parametrize("way", WAYS)
def test_folders_start_as_is_said(way: str, tmp_path: Path) -> None:
    """With passwords and queues, whoever starts it: the broker runs, reads them and keeps its queues."""
    folder = written(tmp_path / "out", BrokerSettings("durable", secret=SECRET))
    with started(folder, WAYS[way](folder)) as process:
        answered(process, folder)
        process.terminate()
        assert not [line for line in said(process, "never") if "Error" in line]
    assert (folder / "a" / "data" / "mosquitto.db").is_file()


@needs_broker
@pytest.mark.skipif(os.getuid() != 0, reason="only root starts a broker that becomes another user")
def test_applied_files_stay_readable(tmp_path: Path) -> None:
    """Passwords that root renews are the broker's again: it reads them when it is told to."""
    folder = written(tmp_path / "out", BrokerSettings(secret=SECRET))
    places = read_federation(folder).inventory
    with started(folder, by_hand(folder)) as process:
        answered(process, folder)
        changed = update_folders(PAIR, wire(PAIR), places, BrokerSettings(secret=SECRET[::-1]), folder)
        assert "a/passwords" in changed
        process.send_signal(signal.SIGHUP)
        said(process, "Reloading config")
        process.terminate()
        assert not [line for line in said(process, "never") if "Error" in line]


def test_passwords_are_private_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with passwords are made for their owner only, and not made so afterwards."""

    def too_late(*_: object, **__: object) -> None:
        raise AssertionError("a file was readable before its mode was changed")

    monkeypatch.setattr(Path, "chmod", too_late)
    monkeypatch.setattr(os, "chmod", too_late)
    folder = written(tmp_path / "out", BrokerSettings(secret=SECRET))
    inventory = Inventory({name: Endpoint("127.0.0.1", port) for port, name in enumerate("ab", start=1)})
    update_folders(PAIR, wire(PAIR), inventory, BrokerSettings(secret=SECRET[::-1]), folder)
    for name in ("passwords", "client.password", "mosquitto.conf"):
        assert (folder / "b" / name).stat().st_mode & 0o077 == 0
    assert (folder / "plan.md").stat().st_mode & 0o044
