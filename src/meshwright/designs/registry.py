"""Every design by name, for the command line, the documentation and `design`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.arrays import check_threads
from meshwright.bounds.degree_limits import require_lowest
from meshwright.bounds.prices import require_prices
from meshwright.costs import LinkCosts
from meshwright.designs.plan import Parameter, Plan
from meshwright.designs.topic_sets import check_whole
from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.jit.announce import working_seconds
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from meshwright.bounds import NodePrices, Prices
    from meshwright.designs.exact.solve import Solution
    from meshwright.progress import Progress


@dataclass(frozen=True)
class Design:
    """A named design: how to call it and what it promises."""

    name: str
    title: str
    function: str
    """Its module in this package, and its name there; imported when the design is first built."""
    parameters: dict[str, str]
    """Each parameter's name, and what it means in a few words."""
    guarantee: str
    reference: str
    required: frozenset[str] = frozenset()
    greedy: bool = True
    """Whether it runs on the engine, and so takes `threads` and `progress`."""
    seeded: bool = False
    """Whether it draws random numbers, and so takes `seed`."""
    priced: bool = False
    """Whether the prices of a lower bound help it, and so it takes `prices`."""

    def build(self, interest: Interest, **arguments: Any) -> Overlay | Solution:
        """Build the overlay of an interest."""
        module, _, name = self.function.rpartition(".")
        built: Overlay | Solution = getattr(import_module(f"meshwright.designs.{module}"), name)(
            interest, **arguments
        )
        return built


LITERAL = "the printed rule: also take links that connect nothing while they do not raise the maximum degree"
RATIO = "instead of the budget: this share of what the literal MinMax-ODA takes, 0 to 1"
ARBITRARY = "draw from all pairs, not only from those that contribute"

DESIGNS: dict[str, Design] = {
    design.name: design
    for design in (
        Design(
            "gm", "Greedy Merge", "greedy.gm",
            {"rounds": "run again this often on unused pairs", "max_edges": "stop at this many links",
             "max_degree": "no more links per broker than this",
             "costs": "what links cost: weigh contribution against it"},
            "every topic connected; links at most ln(Σ|T(v)|) × the fewest possible",
            "podc07, Alg. 3",
        ),
        Design(
            "minmax", "MinMax-ODA", "greedy.minmax",
            {"max_edges": "stop at this many links", "max_degree": "no more links per broker than this",
             "literal": LITERAL},
            "every topic connected; maximum degree at most O(log(|V|·|T|)) × the lowest possible",
            "icdcs10, section II-A",
        ),
        Design(
            "low", "Low-ODA", "greedy.low",
            {"k": "1 favours few links, large values a low maximum degree (3)",
             "max_edges": "stop at this many links", "max_degree": "no more links per broker than this",
             "costs": "what links cost: weigh contribution against it",
             "strict": "take the sparing link only if it is better than 1/k of the best",
             "literal": "the printed rule: the same links for every finite k"},
            "every topic connected; average within O(k·log(|V|·|T|)) of the fewest links and maximum degree "
            "within O((|V|/k)·log(|V|·|T|)) of the lowest",
            "icdcs10, section III",
        ),
        Design(
            "gpa", "GPA", "greedy.gpa", {"max_edges": "the budget: links in all", "ratio": RATIO},
            "at most m links; at least 1 − 1/e of the best support that m links can give",
            "icdcs16, Alg. 1", frozenset({"max_edges"}),
        ),
        Design(
            "gpm", "GPM", "greedy.gpm",
            {"max_degree": "the budget: links per broker", "ratio": RATIO, "literal": LITERAL},
            "no broker has more than d links; at least 1 − e^(−1/6) of the best support under that limit",
            "icdcs16, Alg. 3", frozenset({"max_degree"}),
        ),
        Design(
            "ring", "ring per topic", "rings_and_stars.ring", {},
            "every topic connected by a ring of its own; no bound on links: the contrast to the others",
            "podc07, section 8", greedy=False,
        ),
        Design(
            "cd", "CD-ODA", "rings_and_stars.cd", {},
            "every topic a star, so of diameter 2 at most; no bound on links (2.3 × GM's in the paper)",
            "icdcs10, section VI", greedy=False,
        ),
        Design(
            "cd1", "CD-ODA-I", "rings_and_stars.cd1", {},
            "every topic a star, so of diameter 2 at most; no bound on links",
            "icdcs10, section VI-A", greedy=False,
        ),
        Design(
            "cd2", "CD-ODA-II", "rings_and_stars.cd2", {},
            "every topic a star, so of diameter 2 at most; no bound on links (1.8 × GM's in the paper)",
            "icdcs10, section VI-B", greedy=False,
        ),
        Design(
            "cdmax", "CD-Max", "rings_and_stars.cdmax",
            {"k": "1 favours few links, above 2 a lower maximum degree by several hubs for a topic (1)"},
            "every topic of diameter 2 at most; maximum degree never above CD-ODA-II's",
            "ours, on icdcs10, section VI", greedy=False,
        ),
        Design(
            "spidercast", "SpiderCast", "spidercast.spidercast",
            {"coverage_greedy": "neighbours for each topic by greedy picks (3)",
             "coverage_random": "neighbours for each topic by random picks (1)"},
            "each broker linked to K_g + K_r subscribers of each of its topics, or to all; no centre needed",
            "icdcs16, section IX", greedy=False, seeded=True,
        ),
        Design(
            "spidercastm", "SpiderCastM", "spidercast.spidercastm",
            {"max_degree": "the budget: links per broker", "ratio": RATIO,
             "coverage_greedy": "neighbours for each topic by greedy picks (3)",
             "coverage_random": "neighbours for each topic by random picks (1)"},
            "no broker has more than d links; no bound on support",
            "icdcs16, section IX", frozenset({"max_degree"}),
            greedy=False, seeded=True,
        ),
        Design(
            "randoma", "RandomA", "random.randoma",
            {"max_edges": "the budget: links in all", "ratio": RATIO, "arbitrary": ARBITRARY},
            "at most m links, each contributing unless arbitrary; no bound on support: the contrast to GPA",
            "icdcs16, section IX", frozenset({"max_edges"}),
            greedy=False, seeded=True,
        ),
        Design(
            "randomm", "RandomM", "random.randomm",
            {"max_degree": "the budget: links per broker", "ratio": RATIO, "arbitrary": ARBITRARY},
            "no broker has more than d links, each contributing unless arbitrary; no bound on support: the "
            "contrast to GPM",
            "icdcs16, section IX", frozenset({"max_degree"}),
            greedy=False, seeded=True,
        ),
        Design(
            "resilient", "2-topic-connected", "resilient.resilient",
            {"k": "1: connected, as by GM; 2: still connected when any one broker fails (2)"},
            "every topic of three subscribers or more stays connected when any one broker fails; no link can "
            "be taken away",
            "ours; the problem is that of Chen, Vitenberg and Jacobsen, PODC 2013",
        ),
        Design(
            "best", "Best", "best.best",
            {"objective": "edges, degree or balanced: what to better, GM, MinMax-ODA or Low-ODA (edges)",
             "k": "balanced: Low-ODA's, which it starts from (3)",
             "seconds": "improve for this long (20)",
             "steps": "or for this many steps, the same on every machine"},
            "every topic connected; never more links than GM, or neither more links nor a higher maximum "
            "degree than MinMax-ODA or Low-ODA(k), by objective",
            "ours", seeded=True, priced=True,
        ),
        Design(
            "exact", "Exact", "exact.solve.solve",
            {"objective": "edges: fewest links; degree: lowest maximum degree, then fewest links (edges)",
             "time_limit": "stop after this many seconds with the best so far (60)"},
            "every topic connected, at the optimum if time is enough: small instances only; otherwise never "
            "worse than GM and MinMax-ODA",
            "podc07, section 5, states the problem",
        ),
    )
}  # fmt: skip


def find(algorithm: str) -> Design:
    """Return the design of that name, or say which there are."""
    if not isinstance(algorithm, str):
        raise InputError(f"the algorithm is {type(algorithm).__name__}: give one name, such as 'gm'")
    if algorithm not in DESIGNS:
        near = get_close_matches(str(algorithm).lower(), DESIGNS, n=1, cutoff=0.5)
        meant = f"did you mean {near[0]!r}? There are" if near else "choose one of"
        raise InputError(f"no algorithm {algorithm!r}: {meant} {', '.join(DESIGNS)}")
    return DESIGNS[algorithm]


def design(
    interest: Any,
    algorithm: str = "gm",
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
    costs: LinkCosts | None = None,
    certify: bool = False,
    prices: Prices | None = None,
    lowest: NodePrices | None = None,
    reference: Overlay | None = None,
    **parameters: Parameter,
) -> Plan:
    """Design an overlay for an interest, or for whatever `Interest.of` takes, by a named algorithm.

    Parameters left out or None take the design's defaults. `seed` matters to random designs only, `costs` to
    those that weigh a link's contribution against its cost. With `certify` the plan has a proof of how many
    links are needed at least: the given `prices` of the same interest, or prices computed now. A design that
    keeps degrees low also gets a proof of the links needed at its degree, and of the lowest maximum degree,
    unless that is given as `lowest`. The seconds of `best` include the time for both. With a `ratio` the
    budget is that share of what the `reference` takes, by default the literal MinMax-ODA of the interest; the
    plan states the ratio and the budget.

    >>> import meshwright as mw
    >>> interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}})
    >>> mw.design(interest, "gm").overlay.edges
    [('a', 'b'), ('a', 'c')]
    """
    interest = Interest.of(interest)
    chosen = find(algorithm)
    seed = _plain(seed)
    check_whole("seed", seed)
    check_threads(threads)
    given = {name: _plain(value) for name, value in parameters.items() if value is not None}
    weighing = {} if costs is None else {"costs": costs}
    if costs is not None and not isinstance(costs, LinkCosts):
        raise InputError(f"costs are {type(costs).__name__}: make them by LinkCosts or load_costs")
    for name in (*given, *weighing):
        if name not in chosen.parameters:
            known = ", ".join(chosen.parameters) or "none"
            raise InputError(f"{algorithm} takes no parameter {name!r}: leave it out; it takes: {known}")
    if "ratio" in given:
        given = _with_budget(chosen, interest, given, reference, threads, progress)
    for name in sorted(chosen.required - given.keys()):
        instead = ", or ratio" if "ratio" in chosen.parameters else ""
        raise InputError(f"{algorithm} needs {name}, {chosen.parameters[name]}{instead}: give it")
    taken = {name: value for name, value in given.items() if name != "ratio"}
    running = {"threads": threads, "progress": progress} if chosen.greedy else {}
    seeding = {"seed": seed} if chosen.seeded else {}
    if prices is not None:
        prices = require_prices(prices)
        prices.check(interest)
    if lowest is not None:
        lowest = require_lowest(lowest)
        lowest.check(interest)
    from meshwright.designs import certified

    timing = certified.Timing(algorithm, given) if certify else None
    if timing is not None:
        from meshwright import bounds

        if prices is None:
            prices = bounds.prices(interest, seconds=timing.for_prices, threads=threads, progress=progress)
        taken |= timing.for_search
    pricing = {"prices": prices} if chosen.priced else {}
    from meshwright.jit import compiler  # noqa: F401  numba is imported before the clock starts

    if chosen.greedy:
        from meshwright.greedy.kernels import sweep  # noqa: F401  and so are the engine's kernels
    began = working_seconds()
    built = chosen.build(interest, **taken, **weighing, **running, **seeding, **pricing)
    seconds = working_seconds() - began
    overlay, solver_bound = (
        (built, None) if isinstance(built, Overlay) else (built.overlay, built.links_needed)
    )
    stated = given if costs is None else {**given, "costs": costs.description}
    plan = Plan(overlay, algorithm, stated, seed, seconds, costs, solver_bound=solver_bound)
    if timing is None:
        return plan
    return certified.prove_degrees(
        replace(plan, prices=prices),
        lowest=lowest,
        seconds=timing.for_degrees,
        threads=threads,
        progress=progress,
    )


def _with_budget(
    chosen: Design,
    interest: Interest,
    given: dict[str, Any],
    reference: Overlay | None,
    threads: int,
    progress: Progress | None,
) -> dict[str, Any]:
    """Return the parameters with the budget that follows from their ratio (icdcs16, Eq. 36)."""
    from meshwright.designs.literal import budget_of, check_ratio, literal_minmax

    (budget,) = chosen.required  # a design with a ratio needs exactly one budget
    if budget in given:
        raise InputError(f"ratio and {budget} both set the budget of {chosen.name}: give one of them")
    check_ratio(given["ratio"])
    if reference is None:
        reference = literal_minmax(interest, threads=threads, progress=progress)
    reference = Overlay.of(reference)
    if reference.interest.fingerprint != interest.fingerprint:
        raise InputError("the reference was made for another interest: give an overlay of this one")
    return {budget: budget_of(reference, given["ratio"], budget), **given}


def _plain(value: Any) -> Any:
    """Turn numpy scalars into Python numbers, which JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value
