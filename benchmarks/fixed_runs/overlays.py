"""Fixed runs of overlays: designs, growth, costs, measures, routes and churn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

import meshwright as mw
from benchmarks.fixed_runs.data import files
from benchmarks.fixed_runs.inputs import (
    EVERY,
    FEW,
    HARD,
    SOME,
    command,
    dataset,
    fixed,
    interest,
    overlay,
    planned,
    written,
)
from meshwright.greedy.engine import Start

# In the commit that the digests come from, `measure` has the functions that check overlays and prices.
_checks: Any = mw.measure if hasattr(mw.measure, "check_prices") else mw.verify
_verify_overlay: Any = getattr(_checks, "verify_overlay", None) or _checks.verify

# -- designs ----------------------------------------------------------------------------------------

Settings = Sequence[dict[str, Any]]
STEPS = {"steps": 1_500, "seed": 3}
LIMIT = {"time_limit": 900.0}
BALANCED = {**STEPS, "objective": "balanced"}
COVERAGE: Settings = ({}, {"coverage_greedy": 2, "seed": 1}, {"coverage_greedy": 0, "coverage_random": 3})
DESIGNS: dict[str, tuple[str, Sequence[str], Settings]] = {
    "gm": ("gm", EVERY, ({},)),
    "gm/rounds": ("gm", FEW, ({"rounds": 2}, {"rounds": 3, "max_edges": 900})),
    "gm/budgets": ("gm", SOME, ({"max_edges": 40}, {"max_degree": 5})),
    "gm/certified": ("gm", (*FEW, "friends"), ({"certify": True}, {"certify": True, "threads": 2})),
    "minmax": ("minmax", EVERY, ({},)),
    "minmax/budgets": ("minmax", SOME, ({"max_edges": 40}, {"max_degree": 4})),
    "minmax/literal": ("minmax", SOME, ({"literal": True}, {"literal": True, "max_edges": 40})),
    "low": ("low", EVERY, ({},)),
    "low/strict": ("low", SOME, [{"strict": True, **given} for given in ({}, {"k": 1}, {"k": 1.5})]),
    "low/k": ("low", SOME, ({"k": 1}, {"k": 1.5}, {"k": 10}, {"k": np.inf}, {"k": 2, "max_degree": 6})),
    "gpa": ("gpa", SOME, ({"max_edges": 30}, {"max_edges": 600})),
    "gpa/ratio": ("gpa", SOME, ({"ratio": 0.2},)),
    "gpm": ("gpm", SOME, ({"max_degree": 2}, {"max_degree": 5})),
    "gpm/literal": ("gpm", SOME, ({"max_degree": 2, "literal": True}, {"ratio": 0.2, "literal": True})),
    "ring": ("ring", EVERY, ({},)),
    "cd": ("cd", EVERY, ({},)),
    "cd1": ("cd1", EVERY, ({},)),
    "cd2": ("cd2", EVERY, ({},)),
    "cdmax": ("cdmax", SOME, ({}, {"k": 2}, {"k": 4})),
    "spidercast": ("spidercast", SOME, COVERAGE),
    "spidercastm": ("spidercastm", SOME, [{"max_degree": 6, **given} for given in COVERAGE]),
    "randoma": ("randoma", SOME, ({"max_edges": 50}, {"max_edges": 700, "seed": 1})),
    "randomm": ("randomm", SOME, ({"max_degree": 3}, {"max_degree": 6, "seed": 1})),
    "randoma/arbitrary": ("randoma", SOME, ({"max_edges": 50, "arbitrary": True},)),
    "randomm/arbitrary": ("randomm", SOME, ({"max_degree": 3, "arbitrary": True, "seed": 1},)),
    "resilient/1": ("resilient", SOME, ({"k": 1},)),
    "resilient/2": ("resilient", (*FEW, "friends", "own", "zipf"), ({"k": 2},)),
    "best/edges": ("best", (*FEW, "own"), (STEPS, {**STEPS, "seed": 4, "threads": 2})),
    "best/degree": ("best", (*FEW, "own"), ({**STEPS, "objective": "degree"},)),
    "best/balanced": ("best", FEW, (BALANCED, {**BALANCED, "k": 6})),
    "exact/edges": ("exact", ("tiny", "mid", "deep", "odd", "cover"), ({**LIMIT, "objective": "edges"},)),
    "exact/degree": ("exact", ("tiny", "mid", "deep", "odd", "cover"), ({**LIMIT, "objective": "degree"},)),
}


def designed(algorithm: str, names: Sequence[str], settings: Settings) -> Any:
    """Design each interest with each setting."""
    return [made(mw.design(interest(name), algorithm, **given)) for name in names for given in settings]


def made(plan: mw.Plan) -> Any:
    """Return the data of a plan: links, parameters, figures and prices."""
    prices = None if plan.prices is None else (plan.prices.bound, plan.prices.scaled, plan.prices.q)
    proven = plan.prices and _checks.check_prices(plan.overlay.interest, plan.prices.scaled)
    stated = plan.algorithm, plan.stated_parameters, plan.seed, plan.figures
    return plan.overlay, stated, prices, proven


for _name, _asked in DESIGNS.items():
    fixed(f"design/{_name}", *_asked)(designed)


@fixed("design/threads")
def threads() -> Any:
    """Design on two threads, and with the prices of another plan."""
    plans = [mw.design(interest("unif"), name, threads=2) for name in ("gm", "minmax", "low")]
    prices = mw.design(interest("small"), "gm", certify=True).prices
    best = mw.design(interest("small"), "best", certify=True, prices=prices, steps=400)
    return [made(plan) for plan in (*plans, best)]


@fixed("design/front")
def front() -> Any:
    """Plan the front: the fewest links for each maximum degree."""
    line = f"plan {dataset('small')} --algorithm best --objective front --steps 3000 --certify"
    line += " --out front --json"
    return command(line), files("front")


@fixed("grow/start", "start")
@fixed("grow/candidates", "candidates")
@fixed("grow/topics", "topics")
@fixed("grow/budgets", "budgets")
def grown(what: str) -> Any:
    """Grow by each rule: from a start, among candidate pairs, for some topics, within budgets."""
    half, ring = overlay("expo").prefix(300), overlay("expo", "ring")
    pairs = [(i, (7 * i + 11) % 1_000) for i in range(1_000) if i != (7 * i + 11) % 1_000]
    options: dict[str, Settings] = {
        "start": (
            {"start": half},
            {"start": ring, "max_edges": 9},
            {"start": Start(None, np.arange(1_000, dtype=np.int32) % 9)},
        ),
        "candidates": (
            {"candidates": mw.candidates.among(range(0, 1_000, 3))},
            {"candidates": mw.candidates.pairs(pairs)},
            {"candidates": mw.candidates.star(17, range(400))},
            {"candidates": mw.candidates.all_but(overlay("expo"))},
            {"candidates": mw.candidates.all_but(pairs), "start": half, "threads": 2},
        ),
        "topics": ({"topics": range(0, 100, 7)}, {"topics": [3, 5], "start": half, "max_degree": 9}),
        "budgets": ({"max_edges": 77}, {"max_degree": 3, "threads": 2}, {"max_edges": 500, "max_degree": 4}),
    }
    by = mw.rules.gm, mw.rules.minmax, mw.rules.low(2)
    return [mw.grow(interest("expo"), rule, **given) for rule in by for given in options[what]]


@fixed("costs/pairs", "pairs")
@fixed("costs/places", "places")
def weighed(kind: str) -> Any:
    """Design with costs of links, and compute the costs of other designs."""
    settings: Sequence[tuple[str, dict[str, Any]]] = (
        ("gm", {}),
        ("gm", {"max_edges": 20}),
        ("low", {}),
        ("low", {"k": 1.5}),
        ("low", {"k": np.inf}),
    )
    found: list[Any] = []
    for name in ("small", "lemma1", "own"):
        nodes = interest(name).node_names.to_pylist()
        if kind == "places":
            east, north = np.arange(len(nodes)) * 37 % 101 / 10, np.arange(len(nodes)) * 53 % 89 / 7
            costs = mw.LinkCosts.from_coordinates(interest(name), nodes, east, north)
            rows = [f"{node},{x},{y}\n" for node, x, y in zip(nodes, east, north, strict=True)]
            file = written(f"places-of-{name}.csv", "node,x,y\n" + "".join(rows))
        else:
            u, v = np.triu_indices(len(nodes), 1)
            ends, price = ([nodes[i] for i in u], [nodes[i] for i in v]), 1 + (u * 31 + v * 17) % 23 / 4
            costs = mw.LinkCosts.from_pairs(interest(name), *ends, price)
            rows = [f"{a},{b},{cost}\n" for a, b, cost in zip(*ends, price, strict=True)]
            file = written(f"pairs-of-{name}.csv", "u,v,cost\n" + "".join(rows))
        plan, loaded = planned(name, f"--costs {file}"), mw.load_costs(file, interest(name))
        found += [made(mw.design(interest(name), by, costs=costs, **given)) for by, given in settings]
        found += [costs.fingerprint, loaded.fingerprint, files(plan)]
        found += [command(f"compare {dataset(name)} --algorithms gm,minmax,low,cd2 --costs {file} --json")]
        found += [command(f"verify {plan} {dataset(name)} {more} --json") for more in ("", f"--costs {file}")]
    return found


@fixed("workloads")
def workloads() -> Any:
    """Generate interests, and raw events of one of them."""
    mw.workloads.write_raw_events(interest("small"), Path("raw"), files=3, seed=4)
    held = [interest(name) for name in EVERY]
    popularity = mw.workloads.zipf_popularity(50, 0.7), mw.workloads.uniform_popularity(9)
    return held, [(own.node_ptr, own.node_topics) for own in held], popularity, files("raw")


# -- measures and routes ----------------------------------------------------------------------------

SCOPES: tuple[Literal["induced", "whole"], ...] = ("induced", "whole")
COSTS: tuple[Literal["filtering", "diameter"], ...] = ("filtering", "diameter")
BOUNDS = ((3, 0), (20, 6), (900, 40_000))
MEASURES: dict[str, Callable[[mw.Overlay], Any]] = {
    "support": lambda own: (
        mw.measure.support(own),
        mw.measure.support_curve(own),
        verified(own),
    ),
    "contributions": lambda own: mw.measure.contributions(own.interest, own.u, own.v),
    "components": mw.measure.components,
    "degrees": mw.measure.degrees,
    "diameters": lambda own: [
        mw.measure.diameters(own, scope=scope, effort=effort) for scope in SCOPES for effort in (None, 500)
    ],
    "filtering": lambda own: (mw.measure.filtering_costs(own), mw.measure.filtering_costs(own).maximum),
    "soc": lambda own: [
        (asked := mw.measure.soc(own, degree=degree, cost=cost, measure=measure), asked.verdict)
        for measure in COSTS
        for degree, cost in BOUNDS
    ],
    "redundancy": lambda own: (mw.measure.redundant_edges(own), mw.measure.weak_topics(own)),
}


def verified(own: mw.Overlay) -> Any:
    """Verify an overlay, and return all that is found."""
    found = _verify_overlay(own)
    facts = found.connected, found.split_topics, found.contributions_agree
    return facts, found.components, found.support, found.degrees


def measured() -> list[mw.Overlay]:
    """Return complete and partial overlays, and one without links."""
    whole = [overlay(name) for name in ("expo", "social", *HARD)]
    others = [overlay("expo", "gpa", max_edges=200), overlay("small", "gpm", max_degree=2)]
    return [*whole, *others, overlay("lemma1", "minmax"), mw.Overlay.empty(interest("small"))]


for _name, _measure in MEASURES.items():
    fixed(f"measure/{_name}", _measure)(lambda measure: [measure(each) for each in measured()])


@fixed("routes/hops", "hops")
@fixed("routes/load", "load")
@fixed("routes/stable", "stable")
def trees(objective: str) -> Any:
    """Choose trees with equal rates, with other rates, and with publishers. Partial overlays need relays."""
    found = []
    for own in measured():
        topics, nodes = own.interest.num_topics, own.interest.num_nodes
        links = list(zip(own.u.tolist(), own.v.tolist(), strict=True))
        today = [(i % topics, *link) for i in range(90) for link in links[i % 3 :: 7]]
        publishers = [(i * 5 % nodes, i * 3 % topics) for i in range(40)]
        settings: Settings = ({}, {"rates": np.arange(topics) * 7 % 13 / 4}, {"publishers": publishers})
        for given in settings:
            chosen = mw.route(own, objective, **given, today=today if objective == "stable" else ())
            ways = mw.routes.hops(chosen), mw.routes.loads(chosen), mw.routes.stretch(chosen)
            stated = mw.routes.figures(chosen), chosen.unreachable, chosen.relay
            found.append((chosen.to_arrow(), chosen.links, ways, stated))
    return found


# -- churn ------------------------------------------------------------------------------------------

POLICIES: dict[str, mw.churn.Policy] = {
    "naive": mw.churn.Policy("naive"),
    "shadow": mw.churn.Policy("shadow"),
    "tidy": mw.churn.Policy("tidy"),
    "rebuild": mw.churn.Policy("rebuild"),
    "greedy": mw.churn.Policy("shadow", backups="greedy", coverage=2, rho=1.5),
    "letter": mw.churn.Policy("shadow", window=None, rebuild_backups=True, local_degree=False),
    "tidy-few": mw.churn.Policy("tidy", window=8, steps=5, lose=2, slack=2, moves=4),
}


def mixed_rounds(begun: mw.Interest) -> Iterator[list[mw.churn.Event]]:
    """Yield rounds of every kind: joins, leaves, bursts, changed subscriptions, and all of these together."""
    event, topics = mw.churn.Event, begun.topic_names.to_pylist()
    yield from mw.churn.random_churn(begun, 60, seed=5)
    for i in range(30):
        yield [
            event("join", f"own-{i}", (topics[i % 20], topics[(3 * i + 1) % 20], topics[(7 * i + 2) % 20]))
        ]
        yield [event("subscribe", f"own-{i}", (topics[20 + i % 5],))]
        yield [event("unsubscribe", f"own-{i}", (topics[i % 20],))]
        if i % 6 == 5:
            yield [event("crash", f"own-{i - j}") for j in range(1, 4)]
            newcomers = [event("join", f"more-{i}-{j}", tuple(topics[j : j + 4])) for j in range(3)]
            yield [
                event("leave", f"own-{i - 4}"),
                event("unsubscribe", f"own-{i}", topics[20:25][i % 5 :][:1]),
                *newcomers,
            ]


def churned(policy: mw.churn.Policy, burst: int) -> Any:
    """Return every repair of live overlays, and their final state."""
    found: list[Any] = []
    for begun in (overlay("expo", "low"), overlay("small")):
        bursts = mw.churn.random_churn(begun.interest, 40, seed=6, burst=4)
        live = mw.LiveOverlay(begun, policy, seed=2)
        run = mw.churn.replay(live, bursts if burst > 1 else mixed_rounds(begun.interest))
        backups = {node: live.backups(node) for node in live.nodes}
        found.append((run.repairs, run.rounds, run.figures, live.overlay(), live.interest(), backups))
        found.append(live.audit())
    return found


for _name, _policy in POLICIES.items():
    fixed(f"churn/{_name}", _policy, 1)(churned)
fixed("churn/bursts", POLICIES["shadow"], 4)(churned)


@fixed("churn/chaos")
def chaos() -> Any:
    """Let brokers fail, and repair with each policy."""
    whole = [overlay(name) for name in ("small", "own", "lemma1")]
    return [mw.churn.chaos(own, most=3, samples=8, policies=mw.churn.POLICIES, seed=1) for own in whole]
