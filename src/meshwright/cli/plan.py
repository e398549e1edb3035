"""`meshwright plan`: design an overlay and keep it."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import (
    Certify,
    Costs,
    CoverageGreedy,
    CoverageRandom,
    Json,
    K,
    MaxDegree,
    MaxEdges,
    Metric,
    Objective,
    Rounds,
    Seconds,
    Seed,
    ShowProgress,
    Source,
    Steps,
    Threads,
    TimeLimit,
)
from meshwright.cli.spark import Conf, Master

EXAMPLES = (
    "meshwright plan subscriptions.csv --algorithm low --out plan",
    "meshwright plan dataset --algorithm gpa --max-edges 500 --out plan",
    "meshwright plan subscriptions.csv --costs places.csv --out plan",
    "meshwright plan subscriptions.csv --algorithm best --steps 2000 --certify --out plan",
    "meshwright plan subscriptions.csv --algorithm best --front --seconds 60 --out front",
    "meshwright plan dataset --master spark://head:7077 --out plan",
    "meshwright plan dataset --parts 8 --coverage 3 --out plan",
)


def plan(
    source: Source,
    *,
    out: Annotated[Path, typer.Option("--out", metavar="PLAN", help="The folder to write the plan to.")],
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            metavar="NAME",
            help="gm, minmax, low, gpa, gpm, ring, cd, cd1, cd2, cdmax, spidercast, spidercastm, randoma, "
            "randomm, resilient, best or exact.",
        ),
    ] = "gm",
    k: K = None,
    rounds: Rounds = None,
    max_edges: MaxEdges = None,
    max_degree: MaxDegree = None,
    coverage_greedy: CoverageGreedy = None,
    coverage_random: CoverageRandom = None,
    objective: Objective = None,
    time_limit: TimeLimit = None,
    seconds: Seconds = None,
    steps: Steps = None,
    costs: Costs = None,
    metric: Metric = False,
    certify: Certify = False,
    front: Annotated[
        bool,
        typer.Option("--front", help="Best: a plan for each highest degree worth having, and a chart."),
    ] = False,
    master: Master = None,
    conf: Conf = None,
    parts: Annotated[
        int | None,
        typer.Option(
            "--parts", metavar="P", min=1, help="On Spark: plan so many parts apart; faster, with more links."
        ),
    ] = None,
    coverage: Annotated[
        int | None,
        typer.Option(
            "--coverage", metavar="N", min=1, help="With parts: brokers that stand for a topic of one; 3."
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = 1,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Design which brokers to link, and write the plan.

    With --master, gm, minmax, low, gpa and gpm run on Spark: exact, with the same links as without, as long
    as this machine's memory allows; else, or with --parts, by divide and conquer. It says which and why.
    """
    from meshwright.cli import constructing, designing, output
    from meshwright.cli.front import check_front, plan_front
    from meshwright.cli.target import check_target
    from meshwright.designs import find
    from meshwright.errors import InputError
    from meshwright.store import write_plan

    find(algorithm)  # a name misspelled, a place not writable: told before any long work
    check_target(out, "front" if front else "plan")
    given = {
        "k": k,
        "rounds": rounds,
        "max_edges": max_edges,
        "max_degree": max_degree,
        "coverage_greedy": coverage_greedy,
        "coverage_random": coverage_random,
        "objective": objective,
        "time_limit": time_limit,
        "seconds": seconds,
        "steps": steps,
    }
    if front:
        check_front(algorithm, objective=objective, k=k)
    designing.check_parameters([algorithm], {**given, "costs": None if costs is None else str(costs)})
    if coverage is not None and parts is None and master is None:
        raise InputError("--coverage shapes a plan made in parts: add --parts P, or leave it out")
    on_spark = any(option is not None for option in (master, conf, parts, coverage))
    if on_spark:
        constructing.check(algorithm, given, parts, coverage, costs)
    interest = designing.load(source)
    link_costs = designing.load_costs(costs, interest, metric=metric)
    if front:
        plan_front(
            source,
            interest,
            out,
            seconds,
            steps,
            seed,
            threads,
            certify=certify,
            progress=progress,
            json=json,
        )
        return
    if on_spark:
        done = constructing.make(
            interest, algorithm, given, master=master, conf=conf, parts=parts, coverage=coverage,
            seed=seed, threads=threads, progress=progress,
        )  # fmt: skip
        made = designing.certified(done.plan, threads, progress=progress) if certify else done.plan
        way, lines = constructing.described(done), constructing.told(done)
    else:
        made = designing.make(
            interest, algorithm, given, seed=seed, threads=threads, progress=progress, costs=link_costs,
            certify=certify,
        )  # fmt: skip
        way, lines = {}, []
    write_plan(made, out)
    if json:
        output.answer_json({**designing.described(made), **way, "plan": str(out)})
    else:
        output.answer(made.summary(), *lines, f"written to {out}")
