"""Mosquitto is found, and its version read."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshwright.brokers import mosquitto
from meshwright.brokers.mosquitto import find_mosquitto, installed_version
from meshwright.errors import InputError, MissingDependencyError


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return two empty folders: the only one on the PATH, and the only system folder."""
    on_path, system = tmp_path / "path", tmp_path / "system"
    on_path.mkdir()
    system.mkdir()
    monkeypatch.setenv("PATH", str(on_path))
    monkeypatch.setattr(mosquitto, "SYSTEM_FOLDERS", str(system))
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
