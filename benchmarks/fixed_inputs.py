"""What fixed runs are made from: interests, commands, and the folders that these leave.

Each run stands alone: what it needs is made when it is first asked for, in the folder that is current then.
"""

from __future__ import annotations

import gzip
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

import pyarrow.parquet as pq

import meshwright as mw
from meshwright.__main__ import run

RUNS: dict[str, Callable[[], Any]] = {}
"""Every run, by its name."""
PICTURES = (".png", ".svg", ".html")


def other_brokers() -> mw.Interest:
    """Return the small interest as it is when three brokers have left and two have come."""
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
        {f"b{i}": [("a/#", "a/b", "a/+/c", "d", "e/f")[(i + j) % 5] for j in range(2)] for i in range(9)}
    ),
    "changed": other_brokers,
}
HARD = ("cuboid", "lemma1", "cover", "copies", "odd")
EVERY = ("zipf", "expo", "unif", "wide", "social", "friends", "own", "small", *HARD)
SOME = ("zipf", "expo", "social", *HARD)
FEW = ("small", "expo", *HARD)


def fixed(name: str, *arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function, with these arguments, the run of that name."""

    def keep(make: Callable[..., Any]) -> Callable[..., Any]:
        RUNS[name] = partial(make, *arguments)
        return make

    return keep


@cache
def interest(name: str) -> mw.Interest:
    """Return the interest of that name."""
    return INTERESTS[name]()


@cache
def overlay(name: str, algorithm: str = "gm", **parameters: Any) -> mw.Overlay:
    """Return an overlay of that interest."""
    return mw.design(interest(name), algorithm, **parameters).overlay


def command(line: str, code: int = 0) -> Any:
    """Run a command in this process and return its answer: JSON if asked for, or the complaint if refused.

    Another exit code than the one that is due is an error.
    """
    words, out, notes, before = line.split(), io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["meshwright", *words]
    try:
        with redirect_stdout(out), redirect_stderr(notes):
            run()
    except SystemExit as ended:
        if ended.code != code:
            shown = f"{out.getvalue()}{notes.getvalue()}"
            raise RuntimeError(f"{line} ends with {ended.code}: {shown}") from ended
    finally:
        sys.argv = before
    if code == 2:
        return notes.getvalue().splitlines()[-1]
    return json.loads(out.getvalue()) if "--json" in words else out.getvalue()


def files(folder: str | Path) -> dict[str, Any]:
    """Return what each file in a folder holds; of pictures and pages the names only."""
    found = sorted(file for file in Path(folder).rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): content(file) for file in found}


def content(file: Path) -> Any:
    """Return what a file holds: a table, JSON or text, whatever wrote it."""
    if file.suffix == ".parquet":
        return pq.read_table(file)
    if file.suffix == ".json":
        return json.loads(file.read_text(encoding="utf-8"))
    if file.suffix in PICTURES:
        return None
    data = file.read_bytes()
    return (gzip.decompress(data) if file.suffix == ".gz" else data).decode(errors="backslashreplace")


@cache
def written(name: str, text: str) -> str:
    """Write a file, and return its name."""
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(text.encode("utf-8", "surrogateescape"))
    return name


@cache
def dataset(name: str) -> str:
    """Write an interest, and return its folder."""
    return str(mw.write_dataset(interest(name), f"dataset-{name}"))


@cache
def planned(name: str, words: str = "") -> str:
    """Plan an interest by the command, and return the plan's folder."""
    out = re.sub(r"\W+", "-", f"plan {name} {words}".strip())
    command(f"plan {dataset(name)} --out {out} {words}")
    return out


@cache
def routed(name: str, words: str = "", today: str | None = None) -> str:
    """Plan an interest, add trees, by hops or as like today's as can be, and return the plan's folder."""
    folder = str(shutil.copytree(planned(name, words), f"{planned(name, words)}-{today or 'trees'}"))
    command(f"route {folder} {dataset(name)} {f'--objective stable --today {today}' if today else ''}")
    return folder


def inventory(name: str, *, tls: bool = False) -> str:
    """Write where the brokers of an interest are, and return the file's name."""
    rows = [
        f"{broker},10.0.{i // 250}.{i % 250 + 1},{1883 + tls * i},{tls and i % 3 == 0}\n"
        for i, broker in enumerate(interest(name).node_names.to_pylist())
    ]
    return written(f"places-{name}-{tls}.csv", "broker,host,port,tls\n" + "".join(rows))
