"""Every design by name, and each of their parameters with its type and range.

The options of the command line, the checks of calls in Python and the pages about designs are made from this
list. It imports nothing else, so that help is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.designs.exact import Solution
    from meshwright.overlay import Overlay


@dataclass(frozen=True)
class ParameterType:
    """The values that a parameter takes."""

    kind: type[int] | type[float] | type[bool] | type[str]
    metavar: str = ""
    """What stands for a value in the help of its option."""
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    usual: str = ""
    """A remark about usual values, for errors."""

    def check(self, name: str, value: object) -> None:
        """Refuse a value of another type or out of range.

        >>> PARAMETERS["ratio"].check("ratio", 1.5)
        Traceback (most recent call last):
        ...
        meshwright.errors.InputError: ratio is 1.5: give a number from 0 to 1 (0.2 is usual)
        """
        if not self._takes(value):
            raise InputError(f"{name} is {value!r}: {self._wanted()}{self.usual}")

    @property
    def range(self) -> str:
        """The values that it takes, as help shows them: `x>=1`; nothing where any will do.

        >>> PARAMETERS["ratio"].range, PARAMETERS["k"].range, PARAMETERS["strict"].range
        ('0<=x<=1', 'x>=1', '')
        """
        if self.most is not None:
            return f"{self.least}<=x<={self.most}"
        return "" if self.least is None else f"x>={self.least}"

    def _takes(self, value: object) -> bool:
        if isinstance(value, bool) or self.kind is bool:
            return isinstance(value, bool) and self.kind is bool
        if self.kind is str:
            return value in self.choices
        numbers = int if self.kind is int else (int, float)
        return (
            isinstance(value, numbers)
            and (self.least is None or self.least <= value)
            and (self.most is None or value <= self.most)
        )

    def _wanted(self) -> str:
        if self.kind is bool:
            return "give True or False, or leave it out"
        if self.kind is str:
            return f"choose {' or '.join(self.choices)}"
        number = "give a whole number" if self.kind is int else "give a number"
        if self.most is not None:
            return f"{number} from {self.least} to {self.most}"
        return f"{number} of at least {self.least}" if self.least else f"{number} of 0 or more"


PARAMETERS: dict[str, ParameterType] = {
    "k": ParameterType(float, "K", least=1),
    "rounds": ParameterType(int, "R", least=1),
    "max_edges": ParameterType(int, "M", least=0),
    "max_degree": ParameterType(int, "D", least=0),
    "ratio": ParameterType(float, "R", least=0, most=1, usual=" (0.2 is usual)"),
    "literal": ParameterType(bool),
    "strict": ParameterType(bool),
    "arbitrary": ParameterType(bool),
    "coverage_greedy": ParameterType(int, "N", least=0),
    "coverage_random": ParameterType(int, "N", least=0),
    "variant": ParameterType(str, choices=("neighbours", "weight", "density")),
    "objective": ParameterType(str, choices=("edges", "degree", "balanced", "front")),
    "time_limit": ParameterType(float, "S", least=0),
    "seconds": ParameterType(float, "S", least=0),
    "steps": ParameterType(int, "N", least=0),
}
"""Every parameter of a design but `costs`, which are a table."""


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
    preset: Mapping[str, str] = field(default_factory=dict)
    """The parameters that its name stands for."""
    narrower: Mapping[str, ParameterType] = field(default_factory=dict)
    """The parameters of which it takes fewer values than `PARAMETERS` says."""

    def load(self) -> Callable[..., Overlay | Solution]:
        """Import the function that builds the overlay of an interest."""
        module, _, name = self.function.rpartition(".")
        return partial(getattr(import_module(f"meshwright.designs.{module}"), name), **self.preset)

    def used(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that it uses; best uses k only for the objective balanced."""
        idle = {"k"} if self.name == "best" and given.get("objective") != "balanced" else set()
        return {name: value for name, value in given.items() if name in self.parameters.keys() - idle}


LITERAL = "the printed rule: also take links that connect nothing while they do not raise the maximum degree"
RATIO = "instead of the budget: this share of what the literal MinMax-ODA takes, 0 to 1"
ARBITRARY = "draw from all pairs, not only from those that contribute"

DESIGNS: dict[str, Design] = {
    design.name: design
    for design in (
        Design(
            "gm", "Greedy Merge", "by_contribution.gm",
            {"rounds": "run again this often on unused pairs", "max_edges": "stop at this many links",
             "max_degree": "no more links per broker than this",
             "costs": "what links cost: weigh contribution against it"},
            "every topic connected; links at most ln(Σ|T(v)|) × the fewest possible",
            "podc07, Alg. 3",
        ),
        Design(
            "minmax", "MinMax-ODA", "by_contribution.minmax",
            {"max_edges": "stop at this many links", "max_degree": "no more links per broker than this",
             "literal": LITERAL},
            "every topic connected; maximum degree at most O(log(|V|·|T|)) × the lowest possible",
            "icdcs10, section II-A",
        ),
        Design(
            "low", "Low-ODA", "by_contribution.low",
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
            "gpa", "GPA", "by_contribution.gpa", {"max_edges": "the budget: links in all", "ratio": RATIO},
            "at most m links; at least 1 − 1/e of the best support that m links can give",
            "icdcs16, Alg. 1", frozenset({"max_edges"}),
        ),
        Design(
            "gpm", "GPM", "by_contribution.gpm",
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
            "cd", "CD-ODA", "rings_and_stars.cd",
            {"variant": "what makes a hub: its neighbours (CD-ODA), their weight (-I) or density (-II) "
             "(neighbours)"},
            "every topic a star, so of diameter 2 at most; no bound on links (in the paper 2.3 × GM's by "
            "neighbours, 1.8 × by density)",
            "icdcs10, section VI", greedy=False,
        ),
        Design(
            "cdmax", "CD-Max", "rings_and_stars.cdmax",
            {"k": "1 favours few links, above 2 a lower maximum degree by several hubs for a topic (1)"},
            "every topic of diameter 2 at most; maximum degree never above CD-ODA-II's",
            "ours, on icdcs10, section VI", greedy=False,
        ),
        Design(
            "spidercast", "SpiderCast", "chance.spidercast",
            {"coverage_greedy": "neighbours for each topic by greedy picks (3)",
             "coverage_random": "neighbours for each topic by random picks (1)"},
            "each broker linked to K_g + K_r subscribers of each of its topics, or to all; no centre needed",
            "icdcs16, section IX", greedy=False, seeded=True,
        ),
        Design(
            "spidercastm", "SpiderCastM", "chance.spidercastm",
            {"max_degree": "the budget: links per broker", "ratio": RATIO,
             "coverage_greedy": "neighbours for each topic by greedy picks (3)",
             "coverage_random": "neighbours for each topic by random picks (1)"},
            "no broker has more than d links; no bound on support",
            "icdcs16, section IX", frozenset({"max_degree"}),
            greedy=False, seeded=True,
        ),
        Design(
            "randoma", "RandomA", "chance.randoma",
            {"max_edges": "the budget: links in all", "ratio": RATIO, "arbitrary": ARBITRARY},
            "at most m links, each contributing unless arbitrary; no bound on support: the contrast to GPA",
            "icdcs16, section IX", frozenset({"max_edges"}),
            greedy=False, seeded=True,
        ),
        Design(
            "randomm", "RandomM", "chance.randomm",
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
            {"objective": "edges, degree or balanced: what to better, GM, MinMax-ODA or Low-ODA (edges); by "
             "plan, front: one plan per maximum degree on the trade-off, and a chart",
             "k": "balanced: Low-ODA's, which it starts from (3)",
             "seconds": "improve for this long (20)",
             "steps": "or for this many steps, the same on every machine"},
            "every topic connected; never more links than GM, or neither more links nor a higher maximum "
            "degree than MinMax-ODA or Low-ODA(k), by objective",
            "ours", seeded=True, priced=True,
            narrower={"objective": ParameterType(str, choices=("edges", "degree", "balanced"))},
        ),
        Design(
            "exact", "Exact", "exact.solve",
            {"objective": "edges: fewest links; degree: lowest maximum degree, then fewest links (edges)",
             "time_limit": "stop after this many seconds with the best so far (60)"},
            "every topic connected, at the optimum if time is enough: small instances only; otherwise never "
            "worse than GM and MinMax-ODA",
            "podc07, section 5, states the problem",
            narrower={"objective": ParameterType(str, choices=("edges", "degree"))},
        ),
    )
}  # fmt: skip


VARIANTS = {
    "cd1": ("CD-ODA-I", "cd", {"variant": "weight"}),
    "cd2": ("CD-ODA-II", "cd", {"variant": "density"}),
}
"""Designs by the names that the paper gives to variants: the title, and what the name stands for."""


def lookup(algorithm: str) -> Design | None:
    """Return the design of that name, or of a variant's name; None for any other."""
    if algorithm in VARIANTS:
        title, name, preset = VARIANTS[algorithm]
        return replace(DESIGNS[name], name=algorithm, title=title, parameters={}, preset=preset)
    return DESIGNS.get(algorithm)


def find(algorithm: str) -> Design:
    """Return the design of that name, or say which there are."""
    if not isinstance(algorithm, str):
        raise InputError(f"the algorithm is {type(algorithm).__name__}: give one name, such as 'gm'")
    found = lookup(algorithm)
    if found is None:
        near = get_close_matches(str(algorithm).lower(), DESIGNS, n=1, cutoff=0.5)
        meant = f"did you mean {near[0]!r}? There are" if near else "choose one of"
        raise InputError(f"no algorithm {algorithm!r}: {meant} {', '.join(DESIGNS)}")
    return found


def describe_parameter(name: str) -> str:
    """Return what a parameter means for each design that takes it.

    >>> describe_parameter("rounds")
    'gm: run again this often on unused pairs'
    """
    takers: dict[str, list[str]] = {}
    for known in DESIGNS.values():
        if name in known.parameters:
            takers.setdefault(known.parameters[name], []).append(known.name)
    return "; ".join(f"{', '.join(names)}: {meaning}" for meaning, names in takers.items())


def check_parameters(
    names: Sequence[str], given: Mapping[str, Any], *, options: bool = False, several: bool = False
) -> None:
    """Refuse parameters that no design takes, that do not fit each other, or that a design lacks.

    `options` says that errors name options of the command line; `several`, that the caller may add a design.

    Raises
    ------
    InputError
        If a parameter is unknown, out of range, missing, or at odds with another one.
    """
    designs = [find(name) for name in names]
    given = {name: value for name, value in given.items() if value is not None}

    def spell(name: str) -> str:
        return f"--{name.replace('_', '-')}" if options else name

    for name in given:
        if not any(name in chosen.parameters for chosen in designs):
            _refuse_unknown(designs, name, spell(name) if options else f"parameter {name!r}", several)
        for chosen in designs:
            declared = chosen.narrower.get(name, PARAMETERS.get(name))
            if name in chosen.parameters and declared is not None:
                declared.check(spell(name), given[name])
    for chosen in designs:
        _check_required(chosen, given, spell)
    for one, other in (("strict", "costs"), ("literal", "costs")):
        if one in given and other in given:
            raise InputError(f"{spell(one)} and {spell(other)} cannot be combined: leave one of them out")
    if "seconds" in given and "steps" in given:
        raise InputError(f"{spell('seconds')} and {spell('steps')} both limit the search: give one of them")
    if "k" in given and not any("k" in chosen.used(given) for chosen in designs):
        raise InputError(
            f"{spell('k')} applies to best only with {spell('objective')} balanced: add that, or leave "
            f"{spell('k')} out"
        )


def _check_required(chosen: Design, given: Mapping[str, Any], spell: Callable[[str], str]) -> None:
    by_ratio = "ratio" in chosen.parameters
    for name in sorted(chosen.required):
        if by_ratio and "ratio" in given:
            if name in given:
                both = f"{spell('ratio')} and {spell(name)}"
                raise InputError(f"{both} both set the budget of {chosen.name}: give one of them")
        elif name not in given:
            instead = f", or {spell('ratio')}" if by_ratio else ""
            raise InputError(
                f"{chosen.name} needs {spell(name)}, {chosen.parameters[name]}{instead}: give it"
            )


def _refuse_unknown(designs: Sequence[Design], name: str, spelled: str, several: bool) -> None:
    """Refuse a parameter that none of the designs takes, and say which do, or what they take."""
    asked = ", ".join(chosen.name for chosen in designs)
    take = "takes" if len(designs) == 1 else "take"
    takers = [known.name for known in DESIGNS.values() if name in known.parameters]
    if takers:
        instead = f", or {'add' if several else 'take'} {' or '.join(takers)}"
    else:
        known = dict.fromkeys(parameter for chosen in designs for parameter in chosen.parameters)
        instead = f"; {'it takes' if len(designs) == 1 else 'they take'}: {', '.join(known) or 'none'}"
    raise InputError(f"{asked} {take} no {spelled}: leave it out{instead}")
