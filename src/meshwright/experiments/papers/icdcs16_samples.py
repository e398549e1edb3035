"""icdcs16, section IX-B: social graphs and samples of them by breadth-first search (Figure 3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import meshwright as mw
from meshwright.experiments.checks import Claims, near
from meshwright.experiments.paper import Case, Figure, grid
from meshwright.experiments.plots import curve, finish
from meshwright.experiments.results import Results, Row, Spread

NETWORKS = {"facebook": "Facebook", "twitter": "Twitter"}
USERS = {"facebook": 200_000, "twitter": 20_000}
"""Users of the synthetic graphs."""
SOURCES = {"given": "real graph", "synthetic": "synthetic graph"}
SEEDS = 3
"""Users from whom the search starts: 'a few' in the paper."""
KINDS = {"followees": "topics per user", "followers": "users per topic"}
GRAPHS = (
    "The social graphs are synthetic unless --graph facebook=PATH or --graph twitter=PATH gives real ones. "
    "Their settings were chosen among about a dozen with the paper's figures in view, so that nearness to "
    "Table I is weak evidence. "
    "In the synthetic Facebook, relations go both ways, and users have 19 friends on average, as in the "
    "paper's data; in the "
    "synthetic Twitter they go one way by the same law, with about 9 followees per user where the paper's "
    "data has 35. Samples come from a breadth-first search, as in "
    "the paper, and leave out users without relations in the sample."
)


class Graph(NamedTuple):
    """A social graph, and where it comes from: `given` by the user, or `synthetic`."""

    interest: mw.Interest
    source: str


def whole_graph(case: Case) -> Graph:
    """Return the graph that the user gave for a network, or a synthetic one of `users` users."""
    given = case.graph(case["network"])
    if given is not None:
        return Graph(given, "given")
    friends = case["network"] == "facebook"
    made = mw.workloads.social(
        case["users"], min_size=1, max_size=2000, exponent=1.7, both_ways=friends, seed=case.seed
    )
    return Graph(made, "synthetic")


def _people(interest: mw.Interest) -> int:
    """Return the number of users: all names of nodes and topics."""
    import pyarrow.compute as pc

    both = pc.sum(pc.is_in(interest.topic_names, interest.node_names)).as_py() or 0
    return interest.num_nodes + interest.num_topics - int(both)


def sample(interest: mw.Interest, users: int, seed: int) -> mw.Interest:
    """Return the users that a breadth-first search from a few random users finds, with all their relations.

    Users are all names of nodes and topics. The search follows relations in both directions; of the last
    level it takes users at random. Users without a relation in the sample are left out.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    only_topics = interest.topic_names.filter(pc.invert(pc.is_in(interest.topic_names, interest.node_names)))
    names = pa.concat_arrays([interest.node_names, only_topics])
    of_topic = pc.index_in(interest.topic_names, names).to_numpy()
    follower, followee = (
        interest.node_of_slot.astype(np.int64),
        of_topic[interest.node_topics].astype(np.int64),
    )
    taken = _search(follower, followee, len(names), users, np.random.default_rng(seed))
    kept = taken[follower] & taken[followee]
    return mw.Interest.from_pairs(names.take(pa.array(follower[kept])), names.take(pa.array(followee[kept])))


def _search(
    follower: NDArray[Any], followee: NDArray[Any], people: int, wanted: int, rng: Any
) -> NDArray[Any]:
    """Mark the users whom the search visits; it starts again elsewhere if it ends before it has enough."""
    one, other = np.concatenate((follower, followee)), np.concatenate((followee, follower))
    order = np.argsort(one, kind="stable")
    neighbour, ptr = other[order], np.searchsorted(one[order], np.arange(people + 1))
    taken = np.zeros(people, dtype=bool)
    level: NDArray[Any] = np.empty(0, dtype=np.int64)
    while (room := min(wanted, people) - int(taken.sum())) > 0:
        found = [neighbour[ptr[user] : ptr[user + 1]] for user in level.tolist()]
        new = np.unique(np.concatenate(found)) if found else level
        new = new[~taken[new]]
        if not len(new):
            free = np.flatnonzero(~taken)
            new = rng.choice(free, size=min(SEEDS, len(free)), replace=False)
        level = rng.permutation(new)[:room]
        taken[level] = True
    return taken


def counts_cell(case: Case) -> list[Row]:
    """Return the share of users with at least n followees or followers, in the whole and a sample."""
    whole, source = whole_graph(case)
    wanted = min(case["wanted"], _people(whole) // 2)  # a sample that is the whole would show nothing
    parts = {"whole": whole, "sample": sample(whole, wanted, case.seed)}
    return [
        {"part": part, "source": source, "people": interest.num_nodes, "kind": kind, **row}
        for part, interest in parts.items()
        for kind, ptr in (("followees", interest.node_ptr), ("followers", interest.topic_ptr))
        for row in _shares(ptr)
    ]


def _shares(ptr: NDArray[Any]) -> list[Row]:
    """Return the CCDF of the sizes of rows at some counts, its slope, and the share of the largest fifth."""
    sizes = np.sort(np.diff(ptr))
    sizes = sizes[sizes > 0]
    points = np.unique(np.geomspace(1, sizes[-1], 30).astype(np.int64))
    share = 1 - np.searchsorted(sizes, points) / len(sizes)
    slope = np.polyfit(np.log(points), np.log(share), 1)[0] if len(points) > 1 else 0.0
    top = sizes[-max(1, len(sizes) // 5) :].sum() / sizes.sum()
    return [
        {"count": int(count), "share": float(part), "slope": float(slope), "top_fifth": float(top)}
        for count, part in zip(points, share, strict=True)
    ]


def draw_counts(results: Results, axes: list[Any]) -> None:
    """Draw the distributions of the first seed, one panel per network."""
    for panel, network in zip(axes, NETWORKS, strict=True):
        own = results.where(network=network, seed=1)
        for part in ("whole", "sample"):
            for kind, label in KINDS.items():
                people = own.where(part=part).values("people")
                curve(
                    panel, own.where(part=part, kind=kind), "count", "share",
                    label=f"{part} of {people[0]}, {label}",
                )  # fmt: skip
        title = f"{NETWORKS[network]}, {SOURCES[own.values('source')[0]]}"
        finish(panel, title, "count", "share of users with at least this count", xscale="log", yscale="log")


def counts_claims(results: Results, claims: Claims) -> None:
    """Compare with Figure 3."""
    for network, name in NETWORKS.items():
        own = results.where(network=network)
        slopes, top = (
            {(kind, part): _of(own, kind, part, column) for kind in KINDS for part in ("whole", "sample")}
            for column in ("slope", "top_fifth")
        )
        held: dict[str, float] = {}
        for kind, text in KINDS.items():
            for what, found in (("slope", slopes), ("share of the top fifth", top)):
                ours, target = found[kind, "sample"].mean, found[kind, "whole"].mean
                held |= near(ours, target, tolerance=0.2, loose=0.4, label=f"{what} of {text}:")
        claims.check(
            f"retains-{network}", f"The sample of {name} retains the properties of the whole",
            paper="the same shape (slope and share of the top fifth ± 20 %)",
            ours="; ".join(
                f"{text}: slope {slopes[kind, 'sample']} in the sample, {slopes[kind, 'whole']} in the "
                f"whole; top fifth {top[kind, 'sample']} against {top[kind, 'whole']}"
                for kind, text in KINDS.items()
            ),
            held=held,
            reason="Breadth-first search reaches popular users first and cuts off the relations to everybody "
            "whom it does not reach, so a small sample has fewer relations per user.",
        )  # fmt: skip


def _of(results: Results, kind: str, part: str, column: str) -> Spread:
    own = results.where(kind=kind, part=part)
    return Spread.of([own.where(seed=seed).column(column)[0] for seed in own.values("seed")])


def _grid(wanted: int, seeds: int) -> tuple[Case, ...]:
    networks = [grid(seeds=seeds, network=name, users=users, wanted=wanted) for name, users in USERS.items()]
    return tuple(case for cases in networks for case in cases)


DISTRIBUTIONS = Figure(
    "fig3",
    "Followees and followers: sample against whole",
    "Followee and follower counts fall by a power law in Facebook and Twitter, and the samples of 10,000 "
    "users retain this.",
    draw_counts,
    counts_claims,
    counts_cell,
    quick=_grid(wanted=2000, seeds=3),
    full=_grid(wanted=10000, seeds=5),
    panels=2,
    version=2,
    graphs=tuple(NETWORKS),
    weight=lambda case: case["users"] / 60000,
    note=f"{GRAPHS} The paper's whole graphs have 3 and 41.7 million users; our synthetic ones have 200,000 "
    "and 20,000. A sample has at most half of the users of a real graph. The figure shows input and no "
    "overlay, so there is no curve of ours.",
)
