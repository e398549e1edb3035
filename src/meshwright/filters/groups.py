"""Overlap groups: the connected components of the relation "some topic matches both filters".

Two different filters without wildcards never overlap. So only filters with wildcards go into a trie:

1. The trie is joined with itself. Where two of its nodes stand for compatible beginnings, their filters are
   compared level by level; nodes whose filters are all in one group are not visited again.
2. Each filter without wildcards looks for *one* match in the trie. Further matches would tell nothing:
   filters that match a common topic overlap, so step 1 has joined them.

Step 1 visits pairs of nodes with compatible beginnings, step 2 costs a walk per filter. A million filters, 1%
of them with wildcards, take a few seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from meshwright.filters.mqtt import ONE, REST, has_wildcard, unshared, written_out

NONE = -1
"""No filter."""
FEW = 16
"""A node with at most this many children is checked for uniformity after each join."""


class Node:
    """A node of the trie: the filters that begin with the levels on the way to it."""

    __slots__ = ("children", "end", "one", "rest", "some", "uniform")

    def __init__(self) -> None:
        self.children: dict[str, Node] = {}
        """The nodes below, by a level that is not a wildcard."""
        self.one: Node | None = None
        """The node below `+`."""
        self.end = NONE
        """The filter that ends here."""
        self.rest = NONE
        """The filter that goes on with `#` and ends."""
        self.some = NONE
        """Some filter that ends here or below."""
        self.uniform = False
        """Whether all filters here and below are known to be in one group. Once true, it stays true."""


class Trie:
    """Filters with wildcards, and a union-find over the numbers of all filters."""

    def __init__(self, size: int) -> None:
        self.root = Node()
        self.parent = list(range(size))

    def insert(self, number: int, levels: Sequence[str]) -> None:
        """Add a filter; one with the same levels as an earlier one joins its group."""
        node = self.root
        for level in levels:
            if level == REST:
                node.rest = self.union(number, node.rest) if node.rest != NONE else number
                return
            if level == ONE:
                if node.one is None:
                    node.one = Node()
                node = node.one
            else:
                below = node.children.get(level)
                if below is None:
                    below = node.children[level] = Node()
                node = below
        node.end = self.union(number, node.end) if node.end != NONE else number

    def find(self, number: int) -> int:
        """Return the filter that represents a filter's group."""
        parent = self.parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    def union(self, one: int, other: int) -> int:
        """Join the groups of two filters, and return the one that represents both."""
        joined = self.parent[self.find(one)] = self.find(other)
        return joined

    def join_all(self) -> None:
        """Join the groups of all filters in the trie that overlap."""
        root = self.root
        self._join_below(root)
        # A wildcard at the first level matches no topic that begins with $.
        open_to_wildcards = [node for level, node in root.children.items() if not level.startswith("$")]
        for node in (*open_to_wildcards, *([root.one] if root.one else [])):
            if root.rest != NONE:
                self._collapse(node, root.rest)
            elif root.one is not None and node is not root.one:
                self._join(root.one, node)

    def _join_below(self, node: Node) -> None:
        for child in node.children.values():
            self._join_within(child)
        if node.one is not None:
            self._join_within(node.one)

    def _join_within(self, node: Node) -> None:
        """Join overlapping filters of one node: first within each child, then between children."""
        self._join_below(node)
        if node.rest != NONE:
            self._collapse(node, node.rest)
        elif node.one is not None:
            for child in node.children.values():
                self._join(node.one, child)
        self._settle(node)

    def _join(self, a: Node, b: Node) -> None:
        """Join overlapping filters of two nodes with compatible beginnings.

        Filters within each node are joined already. So as soon as one node has a `#`, all filters of both
        nodes are in one group.
        """
        if a.uniform and b.uniform and self.find(a.some) == self.find(b.some):
            return
        if a.rest != NONE or b.rest != NONE:
            wide = a.rest if a.rest != NONE else b.rest
            self._collapse(a, wide)
            self._collapse(b, wide)
            return
        if NONE not in (a.end, b.end):
            self.union(a.end, b.end)
        few, many = (a, b) if len(a.children) <= len(b.children) else (b, a)
        for level, child in few.children.items():
            other = many.children.get(level)
            if other is not None:
                self._join(child, other)
        for wild, plain in ((a.one, b), (b.one, a)):
            if wild is not None:
                for child in plain.children.values():
                    self._join(wild, child)
        if a.one is not None and b.one is not None:
            self._join(a.one, b.one)
        for node, other in ((a, b), (b, a)):
            if other.one is not None or len(node.children) <= FEW:
                self._settle(node)

    def _collapse(self, node: Node, wide: int) -> None:
        """Join all filters of a node with a filter that overlaps them all."""
        if not node.uniform:
            for number in (node.end, node.rest):
                if number != NONE:
                    self.union(number, wide)
            for child in (*node.children.values(), *([node.one] if node.one else [])):
                self._collapse(child, wide)
            node.uniform = True
            if node.some == NONE:
                node.some = wide
        self.union(node.some, wide)

    def _settle(self, node: Node) -> None:
        """Note that a node is uniform, if it is."""
        if node.uniform:
            return
        numbers = [number for number in (node.end, node.rest) if number != NONE]
        below = [*node.children.values(), *([node.one] if node.one else [])]
        if node.some == NONE:
            node.some = numbers[0] if numbers else below[0].some
        if all(child.uniform for child in below):
            group = self.find(node.some)
            node.uniform = all(self.find(number) == group for number in numbers) and all(
                self.find(child.some) == group for child in below
            )

    def first_match(self, levels: Sequence[str]) -> int:
        """Return some filter of the trie that a topic matches, or NONE.

        `nodes` are the nodes that the levels so far lead to. Most topics run out of nodes after a few levels.
        """
        if levels[0].startswith("$"):
            below = self.root.children.get(levels[0])
            nodes, levels = [] if below is None else [below], levels[1:]
        else:
            nodes = [self.root]
        for level in levels:
            reached = []
            for node in nodes:
                if node.rest != NONE:
                    return node.rest
                child = node.children.get(level)
                if child is not None:
                    reached.append(child)
                if node.one is not None:
                    reached.append(node.one)
            if not reached:
                return NONE
            nodes = reached
        for node in nodes:
            if node.rest != NONE:
                return node.rest
            if node.end != NONE:
                return node.end
        return NONE


def group_numbers(filters: Sequence[str]) -> list[int]:
    """Return, for each filter, the position of the first filter of its group.

    >>> group_numbers(["c", "a/b", "+/b", "a/#"])
    [0, 1, 1, 1]
    """
    trie = Trie(len(filters))
    wild = [number for number, held in enumerate(filters) if ONE in held or REST in held]
    for number in wild:
        trie.insert(number, written_out(filters[number]))
    trie.join_all()
    root, parent, find = trie.root, trie.parent, trie.find
    always = root.one is not None or root.rest != NONE
    shared: dict[str, int] = {}
    for number, held in enumerate(filters):
        if held[:1] == "$" and not has_wildcard(held) and unshared(held) != held:
            parent[number] = shared.setdefault(unshared(held), number)
    for number, held in enumerate(filters):
        if ONE in held or REST in held:
            continue
        topic = held
        if shared:
            topic = unshared(held)
            parent[number] = shared.get(topic, number)
        levels = topic.split("/")
        if always or levels[0] in root.children:
            match = trie.first_match(levels)
            if match != NONE:
                parent[find(number)] = find(match)
    first: dict[int, int] = {}
    return [first.setdefault(find(number), number) for number in range(len(filters))]


def overlap_groups(filters: Iterable[str]) -> list[list[str]]:
    """Return the groups of filters that overlap, directly or through others: a partition of the filters.

    Each group is sorted, and so are the groups. A filter that overlaps no other is a group of its own.

    >>> overlap_groups(["a/#", "a/b", "c", "+/b", "d/e"])
    [['+/b', 'a/#', 'a/b'], ['c'], ['d/e']]
    """
    listed = sorted(set(filters))
    groups: dict[int, list[str]] = {}
    for held, number in zip(listed, group_numbers(listed), strict=True):
        groups.setdefault(number, []).append(held)
    return list(groups.values())
