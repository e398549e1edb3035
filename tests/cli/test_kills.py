"""`kill -9` at random moments: everything opens as the old or the new, and a second run completes.

A process that has loaded everything forks one process for each run, so that a run takes a fraction of a
second.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SERVER = """
import sys, os, random, signal, time, json, shutil
from pathlib import Path
sys.path[:0] = sys.argv[4:]
import meshwright as mw
from meshwright.cli.main import build_app, execute
from meshwright.deploy import change
from meshwright.store.datasets import read_dataset
from meshwright.store.interest_files import load_interest
from meshwright.store.plans import read_plan
from meshwright.store.trees import read_trees
from meshwright.deploy.manifest import read_federation
from meshwright.files.folder_change import CompletedFolder, digest
build_app()
mw.route(mw.design(mw.Interest.from_dict({"a": {"x"}, "b": {"x"}}), "gm").overlay)  # loads the kernels

base, moments, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
os.chdir(base)

def run(work, kill_after=None):
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = work()
        finally:
            os._exit(code or 0)
    began = time.monotonic()
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return status, time.monotonic() - began

def command(words):
    return lambda: execute(words.split())

def opens(what, states):
    def look():
        found = states[what]()
        return 0 if found else 1
    return look

def plan_size(path):
    return len(read_plan(path).edges)

def whole(folder):
    files = read_federation(folder).files
    with CompletedFolder(folder) as inside:
        return files and all(digest(inside.read(name)) == known for name, known in files.items())

COMMANDS = {
    "plan": "plan new.csv --algorithm gm --force --out work/plan",
    "route": "route work/plan old.csv --objective load",
    "export": "export routed-old --to mosquitto --inventory moved.csv --out work/federation",
    "apply": "apply routed-new work/federation --wave next",
    "ingest": "ingest new.csv --out work/dataset",
}
STATES = {
    "plan": lambda: plan_size("work/plan") in (plan_size("routed-old"), plan_size("routed-new")),
    "route": lambda: read_trees("work/plan").described["objective"] in ("hops", "load"),
    "export": lambda: whole("work/federation"),
    "apply": lambda: whole("work/federation"),
    "ingest": lambda: read_dataset("work/dataset").fingerprint in FINGERPRINTS,
}
FINGERPRINTS = [load_interest(f"{name}.csv").canonical().fingerprint for name in ("old", "new")]

def reset():
    shutil.rmtree("work", ignore_errors=True)
    shutil.copytree("saved", "work")

chance = random.Random(seed)
seconds = {}
for name, words in COMMANDS.items():
    for _ in range(3):
        reset()
        status, took = run(command(words))
        assert status == 0, (name, status)
        seconds[name] = min(took, seconds.get(name, took))
killed = {name: 0 for name in COMMANDS}
tried = 0
while sum(killed.values()) < moments:
    name = list(COMMANDS)[tried % len(COMMANDS)]
    tried += 1
    assert tried < 5 * moments, "hardly any run is killed in time"
    reset()
    status, _ = run(command(COMMANDS[name]), kill_after=chance.uniform(0, seconds[name]))
    killed[name] += os.WIFSIGNALED(status)
    status, _ = run(opens(name, STATES))
    assert status == 0, (name, "does not open", sorted(p.name for p in Path("work").iterdir()))
    status, _ = run(command(COMMANDS[name]))
    assert status == 0, (name, "a second run fails")
    left = [str(path) for path in Path("work").rglob(".*") if path.name != ".lock"]
    assert not left, (name, left)
print(json.dumps(killed))
"""


def prepared(folder: Path) -> Path:
    """Write subscriptions, plans and a federation to change."""
    from terminal import meshwright

    for name, seed in (("old", 1), ("new", 2)):
        chance = random.Random(seed)
        rows = sorted({(f"b{chance.randrange(12)}", f"t{chance.randrange(6)}") for _ in range(40)})
        (folder / f"{name}.csv").write_text("node,topic\n" + "".join(f"{b},{t}\n" for b, t in rows))
        words: list[str | Path] = [
            "plan",
            folder / f"{name}.csv",
            "--algorithm",
            "gm",
            "--out",
            folder / f"routed-{name}",
        ]
        assert meshwright(*words).code == 0
        assert meshwright("route", folder / f"routed-{name}", folder / f"{name}.csv").code == 0
    (folder / "saved").mkdir()
    shutil.copytree(folder / "routed-old", folder / "saved" / "plan")
    words = ["export", folder / "routed-old", "--to", "mosquitto", "--out", folder / "saved" / "federation"]
    assert meshwright(*words).code == 0
    brokers = "".join(f"b{number},127.0.0.1,{7000 + number}\n" for number in range(12))
    (folder / "moved.csv").write_text(f"broker,host,port\n{brokers}")
    words = ["ingest", folder / "old.csv", "--out", folder / "saved" / "dataset"]
    assert meshwright(*words).code == 0
    return folder


@pytest.mark.parametrize("moments", [6, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_commands_leave_the_old_or_the_new(tmp_path: Path, moments: int) -> None:
    """Plan, route, export, apply and ingest, killed at any moment, leave what opens, and can be repeated."""
    base = prepared(tmp_path)
    paths = [str(Path(__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-c", SERVER, base, str(moments), "7", *paths],
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    killed = json.loads(done.stdout.splitlines()[-1])
    assert sum(killed.values()) == moments
    assert min(killed.values()) >= moments // 20


@pytest.mark.slow
def test_a_killed_ingest_on_spark_leaves_the_old_dataset(tmp_path: Path) -> None:
    """Ingest, killed while Spark works or while it writes, leaves the old dataset or the new one."""
    from meshwright import Interest
    from meshwright.store.datasets import read_dataset, write_dataset

    old = Interest.from_dict({"a": {"x"}})
    (tmp_path / "rows.csv").write_text("node,topic\n" + "".join(f"n{i},t{i % 7}\n" for i in range(500)))
    words: list[str | Path] = [
        sys.executable,
        "-m",
        "meshwright",
        "ingest",
        tmp_path / "rows.csv",
        "--out",
        tmp_path / "data",
        "--master",
        "local[2]",
    ]
    began = time.monotonic()
    write_dataset(old, tmp_path / "data")
    subprocess.run(words, check=True, capture_output=True)
    new, seconds = read_dataset(tmp_path / "data").fingerprint, time.monotonic() - began
    chance = random.Random(3)
    for _ in range(4):
        write_dataset(old, tmp_path / "data")
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            time.sleep(chance.uniform(0.3, 1.0) * seconds)
            os.kill(running.pid, signal.SIGKILL)
        assert read_dataset(tmp_path / "data").fingerprint in (old.fingerprint, new)
    subprocess.run(words, check=True, capture_output=True)
    assert read_dataset(tmp_path / "data").fingerprint == new
    assert not list(tmp_path.glob(".data.*"))
