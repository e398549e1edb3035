"""The package: wheel and sdist build, and the wheel runs in an empty environment without a compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]


def run(*words: str | Path, cwd: Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program without what this process has on its path for Python; `path` replaces PATH."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CC", "CXX")}
    environment = {**kept, "PATH": os.environ["PATH"] if path is None else path}
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both from what git knows, as a release does."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "source"
    listed = run("git", "ls-files", "-z", cwd=CHECKOUT).stdout.split("\0")
    for name in filter(None, listed):
        if (CHECKOUT / name).is_file() and not name.startswith(("benchmarks/", "tests/", "web/")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, source / name)
    build = "from setuptools import build_meta as b; b.build_sdist('..'); b.build_wheel('..')"
    venv.create(folder / "builder", with_pip=True)
    programs = folder / "builder" / "bin"
    there = run(programs / "pip", "install", "-q", "setuptools>=77", cwd=folder)  # as pyproject.toml wants
    if there.returncode:
        pytest.skip(f"pip reaches no setuptools: {there.stderr.strip().splitlines()[-1]}")
    done = run(programs / "python", "-c", build, cwd=source)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_what_is_inside(built: Path) -> None:
    """The wheel is for any platform; it and the sdist have types, the pages' assets and the licence."""
    (wheel,) = built.glob("*.whl")
    (sdist,) = built.glob("*.tar.gz")
    assert wheel.name.endswith("-py3-none-any.whl")
    inside = zipfile.ZipFile(wheel).namelist()
    with tarfile.open(sdist) as archive:
        packed = archive.getnames()
    for needed in ("meshwright/py.typed", "meshwright/report/assets/graph_view.js", "LICENSE"):
        assert any(name.endswith(needed) for name in inside), needed
        assert any(name.endswith(needed) for name in packed), needed
    assert not [name for name in inside if name.startswith("tests")]


@pytest.mark.slow
def test_it_runs_in_an_empty_environment(built: Path, tmp_path: Path) -> None:
    """Without a compiler in sight, `pip install` of the wheel is enough to plan and verify."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "empty", with_pip=True)
    programs = tmp_path / "empty" / "bin"
    installed = run(programs / "pip", "install", "-q", "--only-binary", ":all:", wheel, cwd=tmp_path, path="")
    if "No matching distribution" in installed.stderr or "connection" in installed.stderr.lower():
        pytest.skip(f"pip reaches no packages: {installed.stderr.strip().splitlines()[-1]}")
    assert installed.returncode == 0, installed.stderr
    (tmp_path / "s.csv").write_text("node,topic\na,x\nb,x\n", encoding="utf-8")
    for words in (["--version"], ["plan", "s.csv", "--out", "plan"], ["verify", "plan", "s.csv"]):
        done = run(programs / "meshwright", *words, cwd=tmp_path, path=str(programs))
        assert done.returncode == 0, done.stderr


def test_release_notes_are_the_newest_part_of_the_changelog() -> None:
    """`make release-notes` prints what the changelog says of the package's version, and nothing else."""
    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    _, newest, *_ = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    heading, _, notes = newest.partition("\n")
    assert heading.startswith(f"## {version} ")
    assert run("make", "--silent", "release-notes", cwd=CHECKOUT).stdout == notes
