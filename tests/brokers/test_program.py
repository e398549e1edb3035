"""The mosquitto program is found, its version is read, and ports are free."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from meshwright.brokers import program
from meshwright.brokers.program import find_mosquitto, free_ports, installed_version
from meshwright.errors import InputError, MissingDependencyError


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return two empty folders: the only one on the PATH, and the only system folder."""
    on_path, system = tmp_path / "path", tmp_path / "system"
    on_path.mkdir()
    system.mkdir()
    monkeypatch.setenv("PATH", str(on_path))
    monkeypatch.setattr(program, "SYSTEM_FOLDERS", str(system))
    return on_path, system


def install(folder: Path, text: str = "", code: int = 0) -> str:
    """Write a mosquitto that prints a text and exits with a code."""
    file = folder / "mosquitto"
    file.write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n", encoding="utf-8")
    file.chmod(0o700)
    return str(file)


def test_the_path_comes_before_system_folders(folders: tuple[Path, Path]) -> None:
    """Mosquitto is found in a system folder, but one on the PATH comes first."""
    on_path, system = folders
    with pytest.raises(MissingDependencyError, match="mosquitto is not installed: apt install mosquitto"):
        find_mosquitto()
    second = install(system)
    assert find_mosquitto() == second
    first = install(on_path)
    assert find_mosquitto() == first


@pytest.mark.parametrize(
    ("text", "code", "version"),
    [
        ("mosquitto version 1.6.9", 3, "2.0"),
        ("mosquitto version 2.0.18", 3, "2.0"),
        ("mosquitto version 2.1.2", 0, "2.1"),
        ("mosquitto version 2.10.0", 0, "2.1"),
        ("mosquitto version 3.0.0", 0, "2.1"),
    ],
)
def test_versions(text: str, code: int, version: str, folders: tuple[Path, Path]) -> None:
    """The version is read from the help text, whatever the exit code, and rounded to a known one."""
    install(folders[0], text, code)
    assert installed_version() == version


def test_a_program_without_a_version(folders: tuple[Path, Path]) -> None:
    """A program of that name that does not state a version is rejected by its path."""
    path = install(folders[0], "hello")
    with pytest.raises(InputError, match=f"{path} -h does not state its version"):
        installed_version()


def test_free_ports() -> None:
    """Ports are different and can be bound, one by one and all together."""
    ports = free_ports(20)
    assert len(set(ports)) == 20
    servers = [socket.create_server(("127.0.0.1", port)) for port in ports]
    taken = free_ports(20)
    for server in servers:
        server.close()
    assert not set(ports) & set(taken)
    assert free_ports(0) == []
