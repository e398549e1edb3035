"""Overlay: the links between nodes, in the order they were added, each with its contribution."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright.arrays import Ids, as_ids, is_whole, settled
from meshwright.arrow import from_numpy, to_pandas
from meshwright.errors import InputError, MissingDependencyError, first_five
from meshwright.files.atomic import new_file
from meshwright.formatting import counted
from meshwright.interest import Interest
from meshwright.names import Name

NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""The characters that an XML file cannot hold, not even escaped."""
SHOWN_EDGES = 10
"""How many edges an overlay shows in a notebook."""


def check_edges(u: Ids, v: Ids, nodes: int) -> None:
    """Raise an InputError unless each edge joins a node to one with a higher id."""
    bad = (u < 0) | (v >= nodes) | (u >= v)
    if bad.any():
        pairs = zip(u[bad].tolist(), v[bad].tolist(), strict=True)
        raise InputError(f"edges {first_five(pairs)} are not 0 <= u < v < {nodes}")


@dataclass(frozen=True, eq=False)
class Overlay:
    """Ordered edges over an interest.

    Edge `i` joins the nodes `u[i] < v[i]` (dense ids). When it was added, it merged two components of
    `contribution[i]` topics. So the support of every prefix is a cumulative sum. Contributions are recounted;
    `from_edges` counts them for you.

    Raises
    ------
    InputError
        If edges are not `0 <= u < v < nodes`, each once, or a contribution is not what its edge merges.

    Examples
    --------
    >>> interest = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})
    >>> overlay = Overlay(interest, [0, 1], [1, 2], [1, 1])
    >>> overlay
    Overlay(2 edges over 3 nodes)
    >>> overlay.edges
    [('a', 'b'), ('b', 'c')]
    """

    interest: Interest
    u: Ids
    v: Ids
    contribution: Ids

    def __post_init__(self) -> None:
        self._settle()
        import meshwright as mw  # contributions are measured in an upper room

        true = mw.measure.contributions(self.interest, self.u, self.v)
        wrong = np.flatnonzero(true != self.contribution)
        if len(wrong):
            given, right = (first_five(row[wrong].tolist()) for row in (self.contribution, true))
            pairs = first_five(zip(self.u[wrong].tolist(), self.v[wrong].tolist(), strict=True))
            raise InputError(
                f"contributions {given} of the edges {pairs} are not what these merge, {right}: "
                "give pairs of names to Overlay.from_edges, which counts them"
            )

    def _settle(self) -> None:
        """Take copies of the columns that cannot be written, and check the edges."""
        for column, what in (("u", "nodes"), ("v", "nodes"), ("contribution", "contributions")):
            own = settled(np.array(as_ids(getattr(self, column), what)))
            object.__setattr__(self, column, own)
        if not len(self.u) == len(self.v) == len(self.contribution):
            raise InputError("u, v and contribution must have the same length")
        nodes = self.interest.num_nodes
        check_edges(self.u, self.v, nodes)
        keys = np.sort(self.u.astype(np.int64) * nodes + self.v)
        if (keys[1:] == keys[:-1]).any():
            twice = np.unique(keys[1:][keys[1:] == keys[:-1]])
            pairs = zip((twice // nodes).tolist(), (twice % nodes).tolist(), strict=True)
            raise InputError(f"edges {first_five(pairs)} appear more than once: keep one of each")

    def __setstate__(self, state: dict[str, Any]) -> None:
        for column in ("u", "v", "contribution"):
            settled(state[column])  # copies, such as unpickled ones, can be written
        self.__dict__.update(state)

    @classmethod
    def of(cls, source: Any) -> Overlay:
        """Return the overlay itself, or the one of a plan or of a live overlay.

        Raises
        ------
        InputError
            If it has no overlay.
        """
        found = getattr(source, "overlay", source)
        found = found() if callable(found) else found
        if not isinstance(found, Overlay):
            raise InputError(f"{type(source).__name__} has no links: give an overlay or a plan")
        return found

    @classmethod
    def from_edges(cls, interest: Any, edges: Any) -> Overlay:
        """Return the overlay of some links between named nodes, in their order; it computes contributions.

        `edges` are pairs of names, or a networkx graph; `interest` is whatever `Interest.of` takes.

        >>> held = {"a": {"x", "y"}, "b": {"x"}, "c": {"x", "y"}}
        >>> overlay = Overlay.from_edges(held, [("b", "a"), ("a", "c")])
        >>> overlay.edges, overlay.contribution.tolist()
        ([('a', 'b'), ('a', 'c')], [1, 2])

        Raises
        ------
        InputError
            If a name is no node of the interest, or a pair is a loop or is there twice.
        """
        import meshwright as mw  # contributions are measured in an upper room

        interest = Interest.of(interest)
        try:
            pairs = [(a, b) for a, b in (edges.edges() if hasattr(edges, "edges") else edges)]
        except (TypeError, ValueError) as error:
            raise InputError("edges are pairs of node names, or a networkx graph") from error
        place = {name: number for number, name in enumerate(interest.node_names.to_pylist())}
        unknown = dict.fromkeys(name for pair in pairs for name in pair if name not in place)
        if unknown:
            raise InputError(f"edges name {first_five(unknown)}, which are no nodes of the interest")
        loops = [a for a, b in pairs if a == b]
        if loops:
            raise InputError(f"edges link {first_five(loops)} to themselves: leave these out")
        ends = np.array([sorted((place[a], place[b])) for a, b in pairs], dtype=np.int32).reshape(-1, 2)
        u, v = ends.T.copy()
        return unchecked_overlay(interest, u, v, mw.measure.contributions(interest, u, v))

    @classmethod
    def empty(cls, interest: Interest) -> Overlay:
        """Return the overlay without links."""
        nothing = np.zeros(0, dtype=np.int32)
        return unchecked_overlay(interest, nothing, nothing, nothing)

    def __len__(self) -> int:
        return len(self.u)

    @property
    def edges(self) -> list[tuple[Name, Name]]:
        """The edges as pairs of node names, in the order they were added."""
        names = self.interest.node_names.to_pylist()
        return [(names[a], names[b]) for a, b in zip(self.u.tolist(), self.v.tolist(), strict=True)]

    def prefix(self, edges: int) -> Overlay:
        """Return the overlay as it was after its first `edges` edges."""
        if not is_whole(edges) or edges < 0:
            raise InputError(f"a prefix of {edges!r} edges: give a whole number of zero or more")
        columns = (column[:edges] for column in (self.u, self.v, self.contribution))
        return unchecked_overlay(self.interest, *columns)

    def __repr__(self) -> str:
        return f"Overlay({counted(len(self), 'edge')} over {counted(self.interest.num_nodes, 'node')})"

    def _repr_html_(self) -> str:
        from meshwright.notebook import html_table

        shown = self.prefix(SHOWN_EDGES).to_arrow().to_pylist()
        more = f" (the first {SHOWN_EDGES})" if len(self) > SHOWN_EDGES else ""
        caption = f"{counted(len(self), 'edge')} over {counted(self.interest.num_nodes, 'node')}{more}"
        head = ("rank", "u", "v", "contribution")
        return html_table([[row[name] for name in head] for row in shown], head=head, caption=caption)

    # -- conversion --------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """Return a table `rank, u, v, contribution` with node names."""
        names = self.interest.node_names
        return pa.table(
            {
                "rank": from_numpy(np.arange(len(self), dtype=np.int32)),
                "u": names.take(from_numpy(self.u)),
                "v": names.take(from_numpy(self.v)),
                "contribution": from_numpy(self.contribution),
            }
        )

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame `rank, u, v, contribution` with node names."""
        return to_pandas(self.to_arrow())

    def to_scipy(self) -> Any:
        """Return the symmetric adjacency as a sparse array of ones, in dense ids."""
        from scipy.sparse import coo_array

        ones = np.ones(2 * len(self), dtype=np.int8)
        ends = (np.concatenate((self.u, self.v)), np.concatenate((self.v, self.u)))
        return coo_array((ones, ends), shape=(self.interest.num_nodes,) * 2).tocsr()

    def to_networkx(self) -> Any:
        """Return a networkx Graph over all nodes; edges carry `rank` and `contribution`."""
        try:
            import networkx as nx
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                "networkx is not installed: pip install 'meshwright[networkx]'"
            ) from error
        graph = nx.Graph()
        graph.add_nodes_from(self.interest.node_names.to_pylist())
        for rank, ((a, b), gain) in enumerate(zip(self.edges, self.contribution.tolist(), strict=True)):
            graph.add_edge(a, b, rank=rank, contribution=gain)
        return graph

    def write_graphml(self, path: str | Path) -> None:
        """Write GraphML, which yEd, Gephi and Cytoscape open; edges carry `rank` and `contribution`.

        A file whose name ends in .gz is compressed.
        """
        content = graphml(self.to_networkx()).encode()
        with new_file(path) as file:
            file.write_bytes(gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)


def unchecked_overlay(interest: Interest, u: Any, v: Any, contribution: Any) -> Overlay:
    """Return the overlay of edges whose contributions were counted as they were added.

    Edges are checked, contributions are not: `verify` recounts them.
    """
    made = object.__new__(Overlay)
    made.__dict__.update(interest=interest, u=u, v=v, contribution=contribution)
    made._settle()
    return made


def graphml(graph: Any) -> str:
    """Return a networkx graph as the text of a GraphML file."""
    import networkx as nx

    unfit = [name for name in graph if isinstance(name, str) and NOT_XML.search(name)]
    if unfit:
        raise InputError(f"nodes {first_five(unfit)} hold characters that XML cannot: rename them")
    return "\n".join(nx.generate_graphml(graph)) + "\n"
