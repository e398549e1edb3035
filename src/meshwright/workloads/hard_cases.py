"""Interests on which greedy designs do badly, from the papers' proofs.

Node names are chosen so that their order, which settles ties, gives the figures stated here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import product

from meshwright.errors import InputError
from meshwright.interest import Interest
from meshwright.names import Name


def cuboid(k: int, m: int) -> Interest:
    """Return the cuboid of podc07, Lemma 6.6, on which GM is worse than the optimum by a factor ~ log |T|.

    The topics are the cells (side, column, layer) of a cuboid of 2 × (2^k − 1) × m. The nodes, in order:
    `half1`, `half2` (the paper's Stwo) hold one side each; `layer1` … `layer<m>` (Sm) one layer each;
    `slab1` … `slab<k>` (Sk), slab i the 2^(i−1) columns from 2^(i−1) − 1 on. Linking both halves to every
    other node, 2k + 2m edges, is enough; GM links the slabs to everything: 2k + k·m.

    >>> cuboid(3, 4)
    Interest(9 nodes, 56 topics, 168 subscriptions)
    """
    if k < 1 or m < 3:
        raise InputError(f"a cuboid of k = {k} and m = {m}: k must be at least 1 and m at least 3")
    columns = range(2**k - 1)
    held: dict[str, list[tuple[int, int, int]]] = {}
    for side in range(2):
        held[f"half{side + 1}"] = list(product([side], columns, range(m)))
    for layer in range(m):
        held[_name("layer", layer + 1, m)] = list(product(range(2), columns, [layer]))
    for i in range(k):
        slab = columns[2**i - 1 : 2 ** (i + 1) - 1]
        held[_name("slab", i + 1, k)] = list(product(range(2), slab, range(m)))
    wide = (2, len(columns), m)
    return Interest.from_dict(
        {
            node: [
                "-".join(_name("", part, width) for part, width in zip(cell, wide, strict=True))
                for cell in cells
            ]
            for node, cells in held.items()
        }
    )


def lemma1(n: int) -> Interest:
    """Return the interest of icdcs10, Lemma 1, on which MinMax-ODA uses Θ(n) times too many edges.

    n nodes v1 … vn in order, n² topics t_ij: v1 holds all, v_i holds t_ij and t_ji for each j. GM makes the
    star around v1, n − 1 edges; MinMax-ODA 11, 21, 31, 46 edges for n = 6, 8, 10, 12.

    >>> lemma1(6)
    Interest(6 nodes, 36 topics, 91 subscriptions)
    """
    if n < 2:
        raise InputError(f"Lemma 1 with {n} nodes: give at least 2")
    topic = {(i, j): f"{_name('t', i, n)}-{_name('', j, n)}" for i, j in product(range(1, n + 1), repeat=2)}
    held: dict[str, Iterable[Name]] = {_name("v", 1, n): list(topic.values())}
    for i in range(2, n + 1):
        held[_name("v", i, n)] = [name for pair, name in topic.items() if i in pair]
    return Interest.from_dict(held)


def single_node_cover(sets: Sequence[Iterable[Hashable]]) -> Interest:
    """Return the set-cover reduction of podc07, Lemma 5.2: the neighbours of `hub` are a cover.

    A topic for each element of the sets' union; node `hub` holds all, node `set<i>` the elements of sets[i].
    In every topic-connected overlay the hub's neighbours form a cover, and any cover, with the other nodes
    linked to each other, makes one. So the hub's lowest possible degree is the size of the smallest cover.

    >>> single_node_cover([{1, 2}, {2, 3}, {3}])
    Interest(4 nodes, 3 topics, 8 subscriptions)
    """
    named = _named_sets(sets)
    universe = set().union(*named)
    return Interest.from_dict({"hub": universe, **_set_nodes(named)})


def single_node_copies(interest: Interest, node: Name) -> Interest:
    """Return the reduction of podc07, Lemma 5.1, from the degree of one node to the degree of all.

    Of n nodes, `node` stays one, and each other one becomes n − 1 copies `name#1` … with the same topics. For
    d ≥ 3, the copies have an overlay of maximum degree d if and only if the interest has one in which `node`
    has degree d (SN-TCO): the copies of a node form a cycle, and each has at most one link more.

    >>> single_node_copies(single_node_cover([{1, 2}, {2, 3}, {3}]), "hub")
    Interest(10 nodes, 3 topics, 18 subscriptions)
    """
    names = interest.node_names.to_pylist()
    if node not in names:
        raise InputError(f"no node {node!r} among the {len(names)} nodes: check the spelling")
    copies = len(names) - 1
    held: dict[str, Iterable[Name]] = {}
    for name in names:
        own = (
            [str(name)] if name == node else [f"{name}#{_name('', j, copies)}" for j in range(1, copies + 1)]
        )
        if any(copy in held for copy in own):
            raise InputError(f"node {name!r} reads like a copy of another node: rename it")
        held.update(dict.fromkeys(own, interest.topics_of(name)))
    return Interest.from_dict(held)


def cover_copies(sets: Sequence[Iterable[Hashable]], m: int) -> Interest:
    """Return the set-cover reduction of podc07, Lemma 7.1, by which Min-TCO has no constant approximation.

    m topics `element/1` … `element/m` for each element of the sets' union; node `copy<j>` holds all those
    of number j, node `set<i>` all m of each element of sets[i]. In every topic-connected overlay the
    set nodes linked to a copy form a cover; copies share no topic. Linking each copy to an optimal cover, and
    the set nodes to each other, is enough: |cover|·m + |sets|² edges.

    >>> cover_copies([{1, 2}, {2, 3}], 3)
    Interest(5 nodes, 9 topics, 21 subscriptions)
    """
    if m < 1:
        raise InputError(f"{m} copies: give at least 1")
    named = _named_sets(sets)
    universe = set().union(*named)
    copied = [{_copy(element, j, m) for element in own for j in range(1, m + 1)} for own in named]
    held = _set_nodes(copied)
    for j in range(1, m + 1):
        held[_name("copy", j, m)] = {_copy(element, j, m) for element in universe}
    return Interest.from_dict(held)


def _name(word: str, number: int, largest: int) -> str:
    """Pad the number, so that names sort by it."""
    return f"{word}{number:0{len(str(largest))}d}"


def _copy(element: str, number: int, copies: int) -> str:
    return f"{element}/{_name('', number, copies)}"


def _named_sets(sets: Sequence[Iterable[Hashable]]) -> list[set[str]]:
    distinct = [set(own) for own in sets]
    universe = set().union(*distinct)
    if not universe:
        raise InputError("the sets hold no element: give at least one set with one element")
    if len({str(element) for element in universe}) < len(universe):
        raise InputError("two elements of the sets read the same (such as 1 and '1'): rename one of them")
    return [{str(element) for element in own} for own in distinct]


def _set_nodes(named: list[set[str]]) -> dict[str, Iterable[Name]]:
    return {_name("set", i, len(named)): own for i, own in enumerate(named, start=1)}
