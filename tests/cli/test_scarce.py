"""A full or read-only disk, few files, little memory: one line each, and nothing half-written."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokers import PROGRAM
from meshwright.deploy.hosts.local import run_federation
from meshwright.deploy.hosts.supervisor import _apply_request
from meshwright.deploy.inventory import extend_inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import read_named_trees
from meshwright.store.trees import read_trees
from routed_plans import write_routed_plan
from terminal import Answer, meshwright


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of a megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = (
        os.getuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=False, capture_output=True
        ).returncode
    )
    if not mounted:
        pytest.skip("only root, outside of a container, can mount a small disk")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(place: Path, left: int) -> Path:
    """Fill a disk up to some bytes; return the file that fills it."""
    free = os.statvfs(place)
    filler = place / "filler"
    filler.write_bytes(b"x" * max(0, free.f_bavail * free.f_frsize - left))
    return filler


def contents(folder: Path) -> dict[Path, bytes]:
    """Return every file of a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def limited(kind: int, value: int, *words: str | Path) -> Answer:
    """Run a command in a process with a limit."""
    done = subprocess.run(
        [sys.executable, "-m", "meshwright", *map(str, words)],
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=150,
        preexec_fn=lambda: resource.setrlimit(kind, (value, value)),
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def test_a_full_disk_in_the_middle_of_a_rollout(small_disk: Path, tmp_path: Path) -> None:
    """Without room a wave is not written at all; with room again, the rollout goes on."""
    old = write_routed_plan(tmp_path)
    new = write_routed_plan(tmp_path, 8, seed=1, today=old)
    folder = small_disk / "federation"
    assert meshwright("export", old, "--to", "mosquitto", "--out", folder).code == 0
    waves = meshwright("diff", folder, new, "--json").json["waves"]
    assert len(waves) > 1
    for number in range(1, len(waves) + 1):
        before = contents(folder)
        for left in (0, 4096, 8192):
            filler = fill(small_disk, left)
            assert "No space left on device" in meshwright("apply", new, folder, "--wave", "next").complaint
            assert contents(folder) == before
            filler.unlink()
        answer = meshwright("apply", new, folder, "--wave", "next", "--json")
        assert (answer.code, answer.json["wave"]) == (0, number)
    assert set(read_federation(folder).wiring.order) == {f"b{number}" for number in range(8)}


def test_a_full_disk_leaves_the_old_plan(small_disk: Path, tmp_path: Path) -> None:
    """Plan, route and export say so in one line and leave what was there, or nothing."""
    rows = "".join(f"b{number},t{number % 3}\n" for number in range(40))
    (tmp_path / "s.csv").write_text(f"node,topic\n{rows}")
    plan = small_disk / "plan"
    assert meshwright("plan", tmp_path / "s.csv", "--algorithm", "gm", "--out", plan).code == 0
    assert meshwright("route", plan, tmp_path / "s.csv").code == 0
    before = contents(plan)
    filler = fill(small_disk, 4096)
    refused: list[list[str | Path]] = [
        ["plan", tmp_path / "s.csv", "--algorithm", "low", "--out", plan, "--force"],
        ["route", plan, tmp_path / "s.csv"],
        ["export", plan, "--to", "mosquitto", "--out", small_disk / "federation"],
    ]
    for words in refused:
        assert "No space left on device" in meshwright(*words).complaint
    assert contents(plan) == before
    assert meshwright("plan", tmp_path / "s.csv", "--algorithm", "gm", "--out", plan).code == 0  # equal
    assert contents(plan) == before
    filler.unlink()
    assert sorted(path.name for path in small_disk.iterdir()) == ["plan"]


def test_a_plan_and_its_page_are_written_both_or_not_at_all(small_disk: Path, tmp_path: Path) -> None:
    """Room for the plan but not for its page leaves nothing of both, or what was there."""
    (tmp_path / "s.csv").write_text("node,topic\na,x\nb,x\nb,y\nc,y\n")
    advise: list[str | Path] = ["advise", tmp_path / "s.csv", "--steps", "0", "--out", small_disk / "plan"]
    fill(small_disk, 64 << 10)
    assert "No space left on device" in meshwright(*advise).complaint
    assert [path.name for path in small_disk.iterdir()] == ["filler"]
    assert meshwright("plan", tmp_path / "s.csv", "--seed", "7", "--out", small_disk / "plan").code == 0
    before = contents(small_disk)
    assert "No space left on device" in meshwright(*advise, "--force").complaint
    assert contents(small_disk) == before
    (small_disk / "filler").unlink()
    assert meshwright(*advise, "--force").code == 0
    assert f">{small_disk / 'plan'}<" in (small_disk / "plan" / "report.html").read_text()


def test_a_read_only_disk(small_disk: Path, tmp_path: Path) -> None:
    """On a read-only disk nothing is written, and one line says why; reading still works."""
    old = write_routed_plan(tmp_path)
    folder = small_disk / "federation"
    assert meshwright("export", old, "--to", "mosquitto", "--out", folder).code == 0
    before = contents(folder)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    try:
        new = write_routed_plan(tmp_path, 8, seed=1, today=old)
        refused: list[list[str | Path]] = [
            ["apply", new, folder, "--wave", "next"],
            ["export", old, "--to", "mosquitto", "--out", folder],
            ["export", old, "--to", "mosquitto", "--out", small_disk / "new"],
        ]
        for words in refused:
            assert "Read-only file system" in meshwright(*words).complaint
        assert meshwright("diff", folder, new).code == 0
    finally:
        subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    assert contents(folder) == before


@pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
def test_a_full_disk_leaves_running_brokers_alone(small_disk: Path, tmp_path: Path) -> None:
    """If a wave cannot be written, no broker of a running federation was stopped; with room, it goes on."""
    old = write_routed_plan(tmp_path, 3)
    new = write_routed_plan(tmp_path, 4, seed=1, today=old)
    with run_federation(read_named_trees(old), small_disk / "run") as federation:
        places = extend_inventory(federation.inventory, read_named_trees(new).brokers)
        records = {name: place.record() for name, place in places.endpoints.items()}
        request = {"number": "1", "plan": str(new), "relays": False, "places": records}
        before = {name: each.pid for name, each in federation.brokers.running.items()}
        filler = fill(small_disk, 0)
        _, answer = _apply_request(federation, request)
        assert "No space left on device" in str(answer.error)
        assert {name: each.pid for name, each in federation.brokers.running.items()} == before
        assert not federation.brokers.ended()
        filler.unlink()
        _, answer = _apply_request(federation, request)
        assert answer.error is None
        assert set(federation.brokers.running) == set(places.endpoints)


def try_commands(folder: Path, kind: int, value: int, message: str) -> None:
    """Run commands with a limit: each works, or ends with one line that has the message; nothing is hidden.

    A library that waits for ever without memory fails the test by its time.
    """
    plan = write_routed_plan(folder)
    rows = "".join(f"b{number},t{number % 3}\n" for number in range(40))
    (folder / "s.csv").write_text(f"node,topic\n{rows}")
    tried: list[list[str | Path]] = [
        ["plan", folder / "s.csv", "--algorithm", "gm", "--out", folder / "new"],
        ["export", plan, "--to", "mosquitto", "--out", folder / "out"],
        ["apply", plan, folder / "out"],
        ["federation", "--brokers", "60"],
    ]
    for words in tried:
        answer = limited(kind, value, *words)
        lines = [line for line in answer.err.splitlines() if "compiling kernels, " not in line]
        if answer.code:
            assert len(lines) == 1, answer.err
            assert message in answer.err or "no federation" in answer.err
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    read_trees(plan)


@pytest.mark.slow
def test_few_files(tmp_path: Path) -> None:
    """With 64 open files, commands work or say in one line what is missing."""
    try_commands(tmp_path, resource.RLIMIT_NOFILE, 64, "too many open files")


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [200, 400, 500, 560, 600, 620, 660, 700, 717, 740, 800, 1000, 1100])
def test_little_memory(tmp_path: Path, megabytes: int) -> None:
    """With any limit of the address space, commands work or say in one line that memory is out."""
    try_commands(tmp_path, resource.RLIMIT_AS, megabytes * 1_000_000, "out of memory")


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [700, 1000])
def test_little_memory_to_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, megabytes: int) -> None:
    """The same while kernels are compiled for the first time."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    (tmp_path / "work").mkdir()
    try_commands(tmp_path / "work", resource.RLIMIT_AS, megabytes * 1_000_000, "out of memory")


def test_too_little_memory_is_refused_at_once(tmp_path: Path) -> None:
    """A limit in which libraries would wait for ever is refused before they are loaded."""
    (tmp_path / "s.csv").write_text("node,topic\na,x\n")
    words: list[str | Path] = ["plan", tmp_path / "s.csv", "--algorithm", "gm", "--out", tmp_path / "plan"]
    answer = limited(resource.RLIMIT_AS, 400_000_000, *words)
    assert answer.code == 2
    assert answer.err == (
        "meshwright: error: out of memory: the address space is limited to 400 MB, and 500 MB are needed: "
        "raise the limit with ulimit -v\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["s.csv"]
