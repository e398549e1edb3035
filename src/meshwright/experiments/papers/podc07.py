"""podc07: the lemmas with numbers (sections 5 to 7), and GM run several times (section 6.4)."""

from __future__ import annotations

import math
from typing import Any

import meshwright as mw
from meshwright.experiments.checks import Claims, describe_change, falls
from meshwright.experiments.paper import BEST_STEPS, Case, Figure, Paper, grid
from meshwright.experiments.papers.podc07_evaluation import AVERAGE_DEGREE, RINGS_BY_NODES, RINGS_BY_TOPICS
from meshwright.experiments.papers.podc07_set_cover import SET_COVER, connects_every_topic
from meshwright.experiments.papers.podc07_steps import STEPS
from meshwright.experiments.plots import curve, finish, level
from meshwright.experiments.results import Results, Row, Spread


def draw_ratio(results: Results, axes: list[Any]) -> None:
    """Draw GM and our best overlay as multiples of the certified bound."""
    for topics in results.values("topics"):
        rows = [
            {"nodes": nodes, "gm": Spread.of(gm).mean / bound, "best": best / bound}
            for nodes, gm, best, bound in _bounded(results.where(topics=topics))
        ]
        own = Results(rows)
        curve(axes[0], own, "nodes", "gm", label=f"GM, {topics} topics")
        curve(axes[0], own, "nodes", "best", label=f"ours: best, {topics} topics", ours=True)
    finish(axes[0], "Links over the certified bound, Zipf", "nodes", "links / bound", ylim=(1, None))


def _bounded(results: Results) -> list[tuple[int, list[float], float, float]]:
    """Return nodes, GM's degrees, our best degree and the bound, where there is one."""
    found = []
    for row in results.where(design="best").rows:
        gm = results.where(design="gm", workload=row["workload"], nodes=row["nodes"], seed=row["seed"])
        found.append((row["nodes"], gm.column("average_degree"), row["average_degree"], row["bound_degree"]))
    return found


def ratio_claims(results: Results, claims: Claims) -> None:
    """Compare with Lemmas 6.2, 6.4 and 6.5."""
    gm = results.where(design="gm")
    edges, needed = gm.column("edges"), gm.column("mergers_needed")
    shares = [one / other for one, other in zip(edges, needed, strict=True)]
    claims.check(
        "iterations", "GM ends within min(|V|², Σ(|V_t| − 1)) iterations (Lemma 6.2)", paper="at most 1 ×",
        ours=f"{Spread.of(shares)} ×", held={"iterations": max(shares) <= 1},
    )  # fmt: skip
    cyclic = [row["cyclic_topics"] / row["topics"] for row in gm.rows]
    claims.check(
        "forests", "The sub-overlay of each topic stays a forest (proof of Lemma 6.2)", paper="no cycle",
        ours=f"{Spread.of(100 * share for share in cyclic)} % of the topics have a cycle",
        held={"topics have cycles": max(cyclic) == 0},
        reason="An edge added for one topic also joins nodes that another topic had already connected. The "
        "bound on iterations still holds, since each edge merges components of at least one topic.",
    )  # fmt: skip
    equal = {
        f"{row['workload']}, {row['topics']} topics, {row['nodes']} nodes": row["initial"] == row["updates"]
        for row in gm.rows
    }
    claims.check(
        "updates-equal-contributions",
        "The updates of Algorithm 3 add up to the contribution of all pairs at the start (Lemma 6.4)",
        paper="equal", ours=f"equal in {sum(equal.values())} of {len(equal)} cases", held=equal,
    )  # fmt: skip
    ratios = {
        f"{topics} topics, {nodes} nodes": Spread.of(degrees).mean / bound
        for topics in results.values("topics")
        for nodes, degrees, _, bound in _bounded(results.where(topics=topics))
    }
    limit = math.log(min(gm.column("subscriptions")))
    claims.check(
        "approximation", "GM uses at most ln Σ|T(v)| times the fewest links (Lemma 6.5)",
        paper=f"at most {limit:.1f} ×", ours=f"at most {Spread.of(ratios.values())} × the certified bound",
        held={label: ratio <= limit for label, ratio in ratios.items()},
    )  # fmt: skip


def cuboid_cell(case: Case) -> list[Row]:
    """Measure GM, our best overlay and the bound on the cuboid of Lemma 6.6."""
    k, m = case["k"], case["m"]
    interest = mw.workloads.cuboid(k, m)
    prices = mw.bounds.prices(interest)
    best = mw.design(interest, "best", steps=BEST_STEPS, prices=prices, seed=case.seed)
    return [
        {
            "nodes": interest.num_nodes,
            "topics": interest.num_topics,
            "gm": len(mw.design(interest, "gm").overlay),
            "best": len(best.overlay),
            "bound": prices.bound,
            "halves_connect": _halves_connect(interest),
            "gm_paper": 2 * k + k * m,
            "optimum_paper": 2 * k + 2 * m,
            "topics_paper": 2 * (2**k - 1) * m,
            "nodes_paper": 2 + m + k,
        }
    ]


def _halves_connect(interest: mw.Interest) -> bool:
    """Return whether every topic is connected if both halves are linked to every other node."""
    names = interest.node_names.to_pylist()
    halves = [node for node, name in enumerate(names) if name.startswith("half")]
    others = [node for node in range(len(names)) if node not in halves]
    return connects_every_topic(interest, [(half, node) for half in halves for node in others])


def draw_cuboid(results: Results, axes: list[Any]) -> None:
    """Draw links by k for k = m."""
    for column, label in (("gm", "GM"), ("optimum_paper", "enough: 2k + 2m")):
        curve(axes[0], _square(results), "k", column, label=label)
    for column, label in (("best", "ours: best"), ("bound", "ours: certified bound")):
        curve(axes[0], _square(results), "k", column, label=label, ours=True)
    finish(axes[0], "Cuboid with k = m", "k", "links", ylim=(0, None))


def _square(results: Results) -> Results:
    return Results([row for row in results.rows if row["k"] == row["m"]])


def cuboid_claims(results: Results, claims: Claims) -> None:
    """Compare with Lemma 6.6."""
    for name, claim, ours, paper, text in (
        ("size", "The cuboid has 2·(2^k − 1)·m topics", "topics", "topics_paper", "2·(2^k − 1)·m"),
        ("nodes", "The cuboid has 2 + m + k nodes", "nodes", "nodes_paper", "2 + m + k"),
        ("greedy", "GM makes 2k + k·m links on the cuboid", "gm", "gm_paper", "2k + k·m"),
    ):
        held = {f"k = {row['k']}, m = {row['m']}": row[ours] == row[paper] for row in results.rows}
        claims.check(
            name, claim, paper=text, ours=f"equal in {sum(held.values())} of {len(held)} cases", held=held
        )
    held = {
        f"k = {row['k']}, m = {row['m']}": row["halves_connect"] and row["bound"] == row["optimum_paper"]
        for row in results.rows
    }
    ratios = [row["best"] / row["optimum_paper"] for row in results.rows]
    claims.check(
        "optimum", "2k + 2m links, from both halves to every other node, are enough and the optimum",
        paper="2k + 2m", held=held,
        ours=f"connected, and proven by the certified bound, in {sum(held.values())} of {len(held)} cases; "
        f"our best overlay has {Spread.of(ratios)} × as many",
    )  # fmt: skip
    square = _square(results)
    by_k = {row["k"]: [row["gm"] / row["optimum_paper"]] for row in square.rows}
    held = {f"k = {k}": math.isclose(ratio, (2 + k) / 4) for k, (ratio,) in by_k.items()}
    claims.check(
        "ratio", "With k = m, GM's ratio is (2 + k) / 4, which grows as log |T|", paper="(2 + k) / 4",
        ours=describe_change(by_k), held=held,
    )  # fmt: skip


def rounds_cell(case: Case) -> list[Row]:
    """Measure GM run several times, or our 2-connected design: diameters, topics that a failure splits."""
    interest = mw.workloads.zipf(case["nodes"], 100, size=10, seed=case.seed)
    rounds = case["rounds"]
    plan = mw.design(interest, "gm", rounds=rounds) if rounds else mw.design(interest, "resilient")
    diameters = mw.measure.diameters(plan.overlay)
    return [
        {
            "average_degree": plan.figures["average_degree"],
            "mean_diameter": diameters.mean,
            "max_diameter": diameters.maximum,
            "weak_topics": len(mw.measure.weak_topics(plan.overlay)),
        }
    ]


def draw_rounds(results: Results, axes: list[Any]) -> None:
    """Draw diameter and degree by rounds, and the topics that one failure splits."""
    gm, ours = (
        Results([row for row in results.rows if bool(row["rounds"]) == wanted]) for wanted in (True, False)
    )
    left, right = axes
    for column, label in (("max_diameter", "largest"), ("mean_diameter", "mean")):
        curve(left, gm, "rounds", column, label=f"GM, {label}")
        level(left, ours.mean(column), label=f"ours: resilient, {label}", ours=True)
    finish(left, "Diameter of a topic", "rounds of GM", "links", ylim=(0, None))
    curve(right, gm, "rounds", "weak_topics", label="GM: topics that one failure splits")
    curve(right, gm, "rounds", "average_degree", label="GM: average degree")
    level(right, ours.mean("average_degree"), label="ours: average degree of resilient", ours=True)
    finish(right, "Connectivity and its price", "rounds of GM", "topics, or links per node", ylim=(0, None))


def rounds_claims(results: Results, claims: Claims) -> None:
    """Compare with section 6.4."""
    gm = Results([row for row in results.rows if row["rounds"]])
    diameter, weak = gm.by("rounds", "mean_diameter"), gm.by("rounds", "weak_topics")
    claims.check(
        "diameter", "Running GM several times reduces the diameter of the topics", paper="falls",
        ours=describe_change(diameter), held=falls(diameter),
    )  # fmt: skip
    first, *others = weak.values()
    claims.check(
        "connectivity", "Running GM several times improves connectivity", paper="improves",
        ours=f"topics that one failure splits: {describe_change(weak)}",
        held={f"round {i}": max(values) < min(first) for i, values in enumerate(others, start=2)},
    )  # fmt: skip


BOUNDS = Figure(
    "bounds",
    "Iterations, updates and approximation of GM (Lemmas 6.2, 6.4, 6.5)",
    "GM ends within Σ(|V_t| − 1) iterations, updates each unit of contribution once, and uses at most "
    "ln Σ|T(v)| times the fewest links.",
    draw_ratio,
    ratio_claims,
    table="fig2",
    note="The fewest links are unknown; a certified lower bound stands for them.",
)

CUBOID = Figure(
    "cuboid",
    "The cuboid, on which GM is a factor of log |T| from the optimum (Lemma 6.6)",
    "GM makes 2k + k·m links where 2k + 2m are enough.",
    draw_cuboid,
    cuboid_claims,
    cuboid_cell,
    quick=grid(seeds=1, k=(3, 4, 5, 6), m=(3, 4, 5, 6)),
    full=grid(seeds=1, k=tuple(range(3, 10)), m=tuple(range(3, 10))),
    weight=lambda case: 0.0015 * 2.0 ** case["k"],
)

ROUNDS = Figure(
    "rounds",
    "GM run several times (section 6.4)",
    "Running GM again on unused pairs improves connectivity and reduces the diameter of the topics.",
    draw_rounds,
    rounds_claims,
    rounds_cell,
    quick=grid(seeds=3, nodes=1000, rounds=(0, 1, 2, 3, 4)),
    full=grid(seeds=5, nodes=4000, rounds=(0, 1, 2, 3, 4)),
    panels=2,
    weight=lambda case: 0.06 * case["nodes"] / 1000,
    note="rounds = 0 stands for our design `resilient`, in which every topic survives any one failure.",
)

PAPER = Paper(
    "podc07",
    "Constructing Scalable Overlays for Pub-Sub with Many Topics",
    "Chockler, Melamed, Tock, Vitenberg (PODC 2007)",
    (AVERAGE_DEGREE, STEPS, RINGS_BY_NODES, RINGS_BY_TOPICS, BOUNDS, CUBOID, SET_COVER, ROUNDS),
)
