"""`meshwright plan`: design an overlay and keep it."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Json, K, MaxDegree, MaxEdges, Rounds, Seed, ShowProgress, Source, Threads

EXAMPLES = (
    "meshwright plan subscriptions.csv --algorithm low --out plan",
    "meshwright plan dataset --algorithm gpa --max-edges 500 --out plan",
)


def plan(
    source: Source,
    *,
    out: Annotated[Path, typer.Option("--out", metavar="PLAN", help="The folder to write the plan to.")],
    algorithm: Annotated[
        str, typer.Option("--algorithm", metavar="NAME", help="gm, minmax, low, gpa, gpm or ring.")
    ] = "gm",
    k: K = None,
    rounds: Rounds = None,
    max_edges: MaxEdges = None,
    max_degree: MaxDegree = None,
    seed: Seed = 0,
    threads: Threads = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Design which brokers to link, and write the plan."""
    from meshwright.cli import designing, output
    from meshwright.cli.target import check_target
    from meshwright.designs import find
    from meshwright.store import write_plan

    find(algorithm)  # a name misspelled, a place not writable: told before any long work
    check_target(out, "plan")
    given = {"k": k, "rounds": rounds, "max_edges": max_edges, "max_degree": max_degree}
    designing.check_parameters([algorithm], given)
    interest = designing.load(source)
    made = designing.make(interest, algorithm, given, seed=seed, threads=threads, progress=progress)
    write_plan(made, out)
    if json:
        output.answer_json({**designing.described(made), "plan": str(out)})
    else:
        output.answer(made.summary(), f"written to {out}")
