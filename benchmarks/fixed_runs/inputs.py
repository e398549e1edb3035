"""The inputs of fixed runs: interests, commands, and the folders that commands write.

Each run is independent: an input is made when a run first asks for it, in the current folder.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from typing import Any

import meshwright as mw
from meshwright.__main__ import run

RUNS: dict[str, Callable[[], Any]] = {}
"""All runs, by name."""
BAD_INPUT = 2
"""Exit code of a command that rejects its input."""


def other_brokers() -> mw.Interest:
    """Return the small interest after three brokers have left and two have joined."""
    small = interest("small")
    staying = {name: small.topics_of(name) for name in small.node_names.to_pylist()[3:]}
    return mw.Interest.from_dict(staying | {"new-0": ["t00", "t04", "t11"], "new-1": ["t02", "t24"]})


SETS = [{1, 2, 3, 4}, {3, 4, 5, 6}, {1, 3, 5, 7}, {2, 4, 6, 8}, {7, 8}, {1, 8}]
INTERESTS: dict[str, Callable[[], mw.Interest]] = {
    "zipf": lambda: mw.workloads.zipf(2_000, 200, alpha=2.0, min_size=10, max_size=90, seed=1),
    "expo": lambda: mw.workloads.expo(1_000, 100, size=10, seed=2),
    "unif": lambda: mw.workloads.unif(3_000, 300, size=8, seed=3),
    "wide": lambda: mw.workloads.zipf(500, 900, min_size=20, max_size=300, exponent=1.2, seed=4),
    "social": lambda: mw.workloads.social(800, min_size=5, max_size=60, seed=5),
    "friends": lambda: mw.workloads.social(300, size=4, locality=0.8, both_ways=True, seed=6),
    "own": lambda: mw.workloads.synthetic(
        200, mw.workloads.exponential_popularity(40), mw.workloads.Sizes.of(None, 2, 9, 2.0), seed=7
    ),
    "small": lambda: mw.workloads.zipf(60, 25, size=5, seed=8),
    "tiny": lambda: mw.workloads.unif(8, 6, size=3, seed=9),
    "mid": lambda: mw.workloads.zipf(30, 20, size=6, seed=1),
    "deep": lambda: mw.workloads.zipf(25, 50, size=14, seed=6),
    "many": lambda: mw.workloads.unif(90_000, 1_000, size=10, seed=10),
    "cuboid": lambda: mw.workloads.cuboid(4, 6),
    "lemma1": lambda: mw.workloads.lemma1(12),
    "cover": lambda: mw.workloads.single_node_cover(SETS),
    "copies": lambda: mw.workloads.cover_copies(SETS, 4),
    "odd": lambda: mw.Interest.from_dict({7: ["x"], 12: ["x", "y"], 3: [], 100: ["y", "z"], 40: ["x", "y"]}),
    "levels": lambda: mw.Interest.from_dict(
        {f"b{i}": [("a/#", "a/b", "a/+/c", "d", "e/f")[(i + j) % 5] for j in range(2)] for i in range(9)},
        kind="mqtt",
    ),
    "changed": other_brokers,
}
HARD = ("cuboid", "lemma1", "cover", "copies", "odd")
EVERY = ("zipf", "expo", "unif", "wide", "social", "friends", "own", "small", *HARD)
SOME = ("zipf", "expo", "social", *HARD)
FEW = ("small", "expo", *HARD)


def fixed(name: str, *arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function with these arguments as a run."""

    def keep(make: Callable[..., Any]) -> Callable[..., Any]:
        RUNS[name] = partial(make, *arguments)
        return make

    return keep


@cache
def interest(name: str) -> mw.Interest:
    """Return an interest by name."""
    return INTERESTS[name]()


@cache
def overlay(name: str, algorithm: str = "gm", **parameters: Any) -> mw.Overlay:
    """Return an overlay of a named interest."""
    return mw.design(interest(name), algorithm, **parameters).overlay


def command(line: str, code: int = 0) -> Any:
    """Run a command in this process and require its exit code; return its answer if that is JSON.

    Answers in words and complaints are for people, so they are not data. Bad input must give a complaint.
    """
    words, out, notes, before = line.split(), io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["meshwright", *words]
    found: Any = 0
    try:
        with redirect_stdout(out), redirect_stderr(notes):
            run()
    except SystemExit as ended:
        found = ended.code or 0
    finally:
        sys.argv = before
    if found != code:
        raise RuntimeError(f"{line} ends with {found}: {out.getvalue()}{notes.getvalue()}")
    if code == BAD_INPUT:
        if not notes.getvalue().strip():
            raise RuntimeError(f"{line} is rejected without a reason")
        return None
    return json.loads(out.getvalue()) if "--json" in words else None


@cache
def written(name: str, text: str) -> str:
    """Write a file and return its name."""
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(text.encode("utf-8", "surrogateescape"))
    return name


@cache
def dataset(name: str) -> str:
    """Write a dataset and return its folder."""
    return str(mw.write_dataset(interest(name), f"dataset-{name}"))


@cache
def planned(name: str, words: str = "") -> str:
    """Run `plan` and return the folder of the plan."""
    out = re.sub(r"\W+", "-", f"plan {name} {words}".strip())
    command(f"plan {dataset(name)} --out {out} {words}")
    return out


@cache
def routed(name: str, words: str = "", today: str | None = None) -> str:
    """Run `plan` and `route` (by hops, or close to the trees of today); return the folder of the plan."""
    folder = str(shutil.copytree(planned(name, words), f"{planned(name, words)}-{today or 'trees'}"))
    command(f"route {folder} {dataset(name)} {f'--objective stable --today {today}' if today else ''}")
    return folder


def inventory(name: str, *, tls: bool = False) -> str:
    """Write an inventory of the brokers of an interest and return the name of the file."""
    rows = [
        f"{broker},10.0.{i // 250}.{i % 250 + 1},{1883 + tls * i},{tls and i % 3 == 0}\n"
        for i, broker in enumerate(interest(name).node_names.to_pylist())
    ]
    return written(f"places-{name}-{tls}.csv", "broker,host,port,tls\n" + "".join(rows))
