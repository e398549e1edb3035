"""The documented ways to start a broker work: by hand, by the systemd unit, and by the compose file.

Nothing of Meshwright starts a broker here; the commands come from the exported files.
"""

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

from brokers import PROGRAM, unused_ports
from meshwright.deploy.folder_store import update_folders, write_federation
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.wiring import wire

needs_broker = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
PAIR = NamedTrees(("a", "b"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})
SECRET = b"0123456789abcdef"


def export_pair(folder: Path, settings: BrokerSettings) -> Path:
    """Export two linked brokers."""
    places = dict(zip("ab", (Endpoint("127.0.0.1", port) for port in unused_ports(2)), strict=True))
    return write_federation(PAIR, wire(PAIR), Inventory(places), settings, folder)


def commands_by_hand(folder: Path) -> list[str]:
    """Return the commands of plan.md, with the one that root runs first."""
    page = (folder / "plan.md").read_text().replace("FOLDER", "a")
    match = re.search(r"by hand: `(cd a && .*?)`.*by hand, root does it with `(.*?)`", page, re.DOTALL)
    assert match is not None
    return [match[2], match[1]] if os.getuid() == 0 else [match[1]]


def commands_by_unit(folder: Path) -> list[str]:
    """Return the commands of the systemd unit, with the folder where it is here."""
    text = (folder / "a" / "mosquitto.service").read_text().replace("/etc/meshwright/", f"{folder}/")
    options = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    before = [options["ExecStartPre"].removeprefix("+")] if os.getuid() == 0 else []
    return [*before, f"cd {options['WorkingDirectory']} && {options['ExecStart'].removeprefix('/usr/sbin/')}"]


def commands_by_compose(folder: Path) -> list[str]:
    """Return the command that a container runs as root in its working folder."""
    services = yaml.safe_load((folder / "docker-compose.yml").read_text())["services"].values()
    service = next(each for each in services if each["volumes"] == [f"./a:{each['working_dir']}"])
    shell, option, command = service["command"]
    assert (shell, option) == ("sh", "-c")
    return [f"cd a && {command if os.getuid() == 0 else command.partition(' && ')[2]}"]


WAYS = {"by hand": commands_by_hand, "by unit": commands_by_unit, "by compose": commands_by_compose}


@contextmanager
def run_commands(folder: Path, commands: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run commands in order; the last one is a broker, which stops at the end of the context."""
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


def read_log_until(process: subprocess.Popen[str], text: str) -> list[str]:
    """Read a broker's log up to a line with this text, or to its end."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            break
    return lines


def stop_and_read_errors(process: subprocess.Popen[str]) -> list[str]:
    """Stop a broker, and return the errors in the rest of its log."""
    process.terminate()
    return [line for line in read_log_until(process, "no line has this") if "Error" in line]


def wait_until_it_accepts(process: subprocess.Popen[str], folder: Path) -> None:
    """Wait until broker `a` accepts connections: before that, it may miss a signal."""
    assert " running" in read_log_until(process, " running")[-1]
    place = read_federation(folder).inventory.endpoints["a"]
    with socket.create_connection((place.host, place.port)):
        read_log_until(process, "New connection")


@needs_broker
@pytest.mark.parametrize("way", WAYS)
def test_documented_commands_start_a_broker(way: str, tmp_path: Path) -> None:
    """A broker with passwords and queues runs, reads its passwords, and keeps its queues when it stops."""
    folder = export_pair(tmp_path / "out", BrokerSettings("durable", secret=SECRET))
    with run_commands(folder, WAYS[way](folder)) as process:
        wait_until_it_accepts(process, folder)
        assert not stop_and_read_errors(process)
    assert (folder / "a" / "data" / "mosquitto.db").is_file()


@needs_broker
@pytest.mark.skipif(os.getuid() != 0, reason="only a broker started by root becomes another user")
def test_updated_files_stay_readable(tmp_path: Path) -> None:
    """Passwords that root updates still belong to the broker's user, which reads them on a reload."""
    folder = export_pair(tmp_path / "out", BrokerSettings(secret=SECRET))
    inventory = read_federation(folder).inventory
    with run_commands(folder, commands_by_hand(folder)) as process:
        wait_until_it_accepts(process, folder)
        changed = update_folders(PAIR, wire(PAIR), inventory, BrokerSettings(secret=SECRET[::-1]), folder)
        assert "a/passwords" in changed
        process.send_signal(signal.SIGHUP)
        assert "Reloading config" in read_log_until(process, "Reloading config")[-1]
        assert not stop_and_read_errors(process)


def test_password_files_are_private_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with passwords are created for their owner only; their mode is not changed afterwards."""

    def too_late(*_: object, **__: object) -> None:
        raise AssertionError("a file was readable before its mode was changed")

    monkeypatch.setattr(Path, "chmod", too_late)
    monkeypatch.setattr(os, "chmod", too_late)
    folder = export_pair(tmp_path / "out", BrokerSettings(secret=SECRET))
    inventory = Inventory({name: Endpoint("127.0.0.1", port) for port, name in enumerate("ab", start=1)})
    update_folders(PAIR, wire(PAIR), inventory, BrokerSettings(secret=SECRET[::-1]), folder)
    for name in ("passwords", "client.password", "mosquitto.conf"):
        assert (folder / "b" / name).stat().st_mode & 0o077 == 0
    assert (folder / "plan.md").stat().st_mode & 0o044
