"""Where compiled kernels are kept: where the user can write, and nobody else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import meshwright
from meshwright.jit import compiler

MINE = f"meshwright-{os.getuid()}"
"""The folder of kernels in the folder that all users share."""
chosen = compiler.cache_folder.__wrapped__
"""What chooses a folder anew, whatever was chosen before in this process."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let nothing be said about where to keep kernels, but where users' and temporary files are."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    return tmp_path


def blocked(place: Path) -> Path:
    """Return a place below which nothing can be made, by whomever."""
    place.write_text("a file, no folder", encoding="utf-8")
    return place / "below"


def test_kernels_go_to_the_users_cache(place: Path) -> None:
    """Each room has a folder of its own in the user's cache, for the user's eyes only."""
    folder = chosen("greedy")
    assert folder is not None
    assert folder.parent == place / "user" / "meshwright"
    assert folder.name.startswith("greedy-")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.iterdir()) == []
    assert chosen("churn") not in (None, folder)


def test_the_home_is_where_the_cache_is_if_nobody_says(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without XDG_CACHE_HOME it is ~/.cache."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(place))
    folder = chosen("greedy")
    assert folder is not None
    assert folder.parent == place / ".cache" / "meshwright"


def test_numba_cache_dir_comes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NUMBA_CACHE_DIR is set, kernels go there and nowhere else."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(place / "told"))
    folder = chosen("greedy")
    assert folder is not None
    assert folder.parent == place / "told"
    assert not (place / "user").exists()


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_what_cannot_be_written_is_passed_over(
    place: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """If neither of these can be written, kernels go to a folder of ours among the temporary ones."""
    monkeypatch.setenv(variable, str(blocked(place / "blocked")))
    folder = chosen("greedy")
    assert folder is not None
    assert folder.parent == place / "shared" / MINE


def test_nowhere_to_write(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If nothing can be written, kernels are compiled in every run, and the announcement says what helps."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked(place / "blocked")))
    monkeypatch.setattr(tempfile, "tempdir", str(blocked(place / "another")))
    assert chosen("greedy") is None
    monkeypatch.setattr(compiler, "cache_folder", chosen)
    assert "in every run: set NUMBA_CACHE_DIR" in compiler.announcement("greedy")
    compiler.keep("greedy")
    assert compiler.is_kept("greedy") == bool(compiler.config.DISABLE_JIT)


def test_folders_of_others_are_not_trusted(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code is run: it is not taken from a folder that belongs to somebody else."""
    monkeypatch.setattr(os, "getuid", lambda: place.stat().st_uid + 1)
    assert chosen("greedy") is None


@pytest.mark.skipif(bool(compiler.config.DISABLE_JIT), reason="there is nothing to compile")
def test_the_packages_own_folder_is_left_alone(place: Path) -> None:
    """A package that cannot be written compiles all the same, into the user's cache; a second run loads."""
    package = place / "site" / "meshwright"
    source = Path(meshwright.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = sorted(package.rglob("*"))
    for folder in (package, *(path for path in before if path.is_dir())):
        folder.chmod(0o500)
    program = (
        "from numba.core import event\n"
        "from meshwright import measure\n"
        "with event.install_recorder('numba:compile') as recorder: measure.prepare()\n"
        "print(measure.__file__, len(recorder.buffer) > 0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    for compiles in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True
        )
        assert done.stdout.split() == [str(package / "measure" / "__init__.py"), str(compiles)]
    assert sorted(package.rglob("*")) == before
    assert [*(place / "user" / "meshwright").glob("measure-*/**/*.nbi")]
    for folder in (package, *(path for path in before if path.is_dir())):
        folder.chmod(0o700)
