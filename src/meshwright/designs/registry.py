"""Every design by name, for the command line, the documentation and `design`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meshwright import measure
from meshwright.designs import gm, gpa, gpm, low, minmax, ring
from meshwright.designs.plan import Parameter, Plan
from meshwright.errors import InputError
from meshwright.greedy import prepare

if TYPE_CHECKING:
    from meshwright.greedy import Progress
    from meshwright.interest import Interest
    from meshwright.overlay import Overlay


@dataclass(frozen=True)
class Design:
    """A named design: how to call it and what it promises."""

    name: str
    title: str
    build: Callable[..., Overlay]
    parameters: dict[str, str]
    """Each parameter's name, and what it means in a few words."""
    guarantee: str
    reference: str
    required: frozenset[str] = frozenset()
    greedy: bool = True
    """Whether it runs on the engine, and so takes `threads` and `progress`."""


DESIGNS: dict[str, Design] = {
    design.name: design
    for design in (
        Design(
            "gm", "Greedy Merge", gm.gm,
            {"rounds": "run again this often on unused pairs", "max_edges": "stop at this many links",
             "max_degree": "no more links per broker than this"},
            "every topic connected; links at most ln(Σ|T(v)|) × the fewest possible",
            "podc07, Alg. 3",
        ),
        Design(
            "minmax", "MinMax-ODA", minmax.minmax,
            {"max_edges": "stop at this many links", "max_degree": "no more links per broker than this"},
            "every topic connected; maximum degree at most O(log(|V|·|T|)) × the lowest possible",
            "icdcs10, section II-A",
        ),
        Design(
            "low", "Low-ODA", low.low,
            {"k": "1 favours few links, large values a low maximum degree (3)",
             "max_edges": "stop at this many links", "max_degree": "no more links per broker than this"},
            "every topic connected; average within O(k·log(|V|·|T|)) of the fewest links and maximum degree "
            "within O((|V|/k)·log(|V|·|T|)) of the lowest",
            "icdcs10, section III",
        ),
        Design(
            "gpa", "GPA", gpa.gpa, {"max_edges": "the budget: links in all"},
            "at most m links; at least 1 − 1/e of the best support that m links can give",
            "icdcs16, Alg. 1", frozenset({"max_edges"}),
        ),
        Design(
            "gpm", "GPM", gpm.gpm, {"max_degree": "the budget: links per broker"},
            "no broker has more than d links; at least 1 − e^(−1/6) of the best support under that limit",
            "icdcs16, Alg. 3", frozenset({"max_degree"}),
        ),
        Design(
            "ring", "ring per topic", ring.ring, {},
            "every topic connected by a ring of its own; no bound on links: the contrast to the others",
            "podc07, section 8", greedy=False,
        ),
    )
}  # fmt: skip


def find(algorithm: str) -> Design:
    """Return the design of that name, or say which there are."""
    if algorithm not in DESIGNS:
        raise InputError(f"no algorithm {algorithm!r}: choose one of {', '.join(DESIGNS)}")
    return DESIGNS[algorithm]


def design(
    interest: Interest,
    algorithm: str = "gm",
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
    **parameters: Parameter,
) -> Plan:
    """Design an overlay for an interest by a named algorithm.

    Parameters left out or None take the design's defaults. `seed` matters to random designs only.

    >>> import meshwright as mw
    >>> interest = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}, "c": {"y"}})
    >>> mw.design(interest, "gm").overlay.edges
    [('a', 'b'), ('a', 'c')]
    """
    chosen = find(algorithm)
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in given:
        if name not in chosen.parameters:
            known = ", ".join(chosen.parameters) or "none"
            raise InputError(f"{algorithm} takes no parameter {name!r}; it takes: {known}")
    for name in sorted(chosen.required - given.keys()):
        raise InputError(f"{algorithm} needs {name}: {chosen.parameters[name]}")
    running = {"threads": threads, "progress": progress} if chosen.greedy else {}
    prepare(progress)  # compiling is not the design's time
    measure.prepare(progress)
    began = time.perf_counter()
    overlay = chosen.build(interest, **given, **running)
    return Plan(overlay, algorithm, given, seed, time.perf_counter() - began)
