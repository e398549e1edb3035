"""Plans for other programs: GraphML, Graphviz, networkx and plain JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.deploy.targets import TARGETS
from meshwright.errors import InputError, MissingDependencyError, OutputError
from meshwright.files.atomic import new_file
from meshwright.files.urls import require_local
from meshwright.formatting import escape
from meshwright.overlay import graphml

if TYPE_CHECKING:
    from typing import TypeAlias

    from meshwright.store.plans import StoredPlan

    TopicsByLink: TypeAlias = Mapping[tuple[str, str], list[str]]


def export(path: str | Path, kind: str, target: str | Path) -> Path:
    """Write a plan's links, and the topics that each carries if the plan has trees, as one file in a folder.

    Returns the file.

    Raises
    ------
    InputError
        For an unknown kind, or names that the kind cannot represent.
    MissingDependencyError
        If the kind needs networkx and it is not installed.
    OutputError
        If the folder cannot be created.
    """
    from meshwright.store.plans import read_plan

    if kind not in KINDS:
        raise InputError(f"cannot export to {kind!r}: choose one of {', '.join([*TARGETS, *KINDS])}")
    name, write = KINDS[kind]
    stored = read_plan(path)
    text = write(stored, _topics_by_link(stored))
    folder = require_local(target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder / name}: {error.strerror}; choose another place") from error
    with new_file(folder / name) as file:
        file.write_text(text, encoding="utf-8")
    return folder / name


def _topics_by_link(stored: StoredPlan) -> TopicsByLink:
    """Return the topics whose trees use each link, by its sorted ends; empty if the plan has no trees."""
    from meshwright.store.trees import read_trees

    if "routes" not in stored.metadata:
        return {}
    topics: dict[tuple[str, str], list[str]] = {}
    for row in read_trees(stored.path).trees.to_pylist():
        if row["parent"] is not None:
            low, high = sorted((row["parent"], row["child"]), key=str.encode)
            topics.setdefault((low, high), []).append(row["topic"])
    return topics


def _links(stored: StoredPlan, topics: TopicsByLink) -> list[dict[str, Any]]:
    """Return the overlay's links with their topics, then the one-way links of publishers outside of it."""
    rows = [{**row, "overlay": True} for row in stored.edges.to_pylist()]
    known = {(row["u"], row["v"]) for row in rows}
    outside = {"rank": None, "contribution": 0, "overlay": False}
    rows += [{"u": u, "v": v, **outside} for u, v in sorted(topics.keys() - known)]
    return [{**row, "topics": topics.get((row["u"], row["v"]), [])} for row in rows]


def _unlinked_brokers(stored: StoredPlan, links: list[dict[str, Any]]) -> list[str]:
    """Return the brokers without a link; only plans with trees name them."""
    from meshwright.store.trees import read_trees

    if "routes" not in stored.metadata:
        return []
    everyone = set(read_trees(stored.path).roles.column("broker").to_pylist())
    return sorted(everyone - {link[end] for link in links for end in ("u", "v")})


def _json(stored: StoredPlan, topics: TopicsByLink) -> str:
    from meshwright.store.trees import read_trees

    metadata = {
        name: value for name, value in stored.metadata.items() if name not in ("format", "schema", "files")
    }
    document: dict[str, Any] = {"plan": metadata, "links": _links(stored, topics)}
    if "routes" in stored.metadata:
        tables = read_trees(stored.path)
        document |= {"trees": tables.trees.to_pylist(), "roles": tables.roles.to_pylist()}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _dot(stored: StoredPlan, topics: TopicsByLink) -> str:
    lines = ["graph federation {", "  layout=neato; overlap=false; node [shape=box];"]
    links = _links(stored, topics)
    lines += [f"  {escape.dot(broker)};" for broker in _unlinked_brokers(stored, links)]
    for link in links:
        ends = " -- ".join(escape.dot(link[end]) for end in ("u", "v"))
        style = "" if link["overlay"] else ", style=dashed"
        lines.append(f"  {ends} [contribution={link['contribution']}, topics={len(link['topics'])}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def _graph(stored: StoredPlan, topics: TopicsByLink) -> Any:
    """Return a networkx graph."""
    graph = _import_networkx().Graph()
    links = _links(stored, topics)
    graph.add_nodes_from(_unlinked_brokers(stored, links))
    for link in links:
        figures = {"contribution": link["contribution"], "topics": len(link["topics"])}
        rank = {} if link["rank"] is None else {"rank": link["rank"]}
        graph.add_edge(link["u"], link["v"], **rank, **figures, overlay=link["overlay"])
    return graph


def _import_networkx() -> Any:
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "networkx is not installed: pip install 'meshwright[networkx]'"
        ) from error
    return nx


def _networkx(stored: StoredPlan, topics: TopicsByLink) -> str:
    document = _import_networkx().node_link_data(_graph(stored, topics), edges="edges")
    return json.dumps(document, ensure_ascii=False) + "\n"


def _graphml(stored: StoredPlan, topics: TopicsByLink) -> str:
    return graphml(_graph(stored, topics))


KINDS: dict[str, tuple[str, Callable[[StoredPlan, TopicsByLink], str]]] = {
    "graphml": ("plan.graphml", _graphml),
    "json": ("export.json", _json),
    "dot": ("plan.dot", _dot),
    "networkx": ("plan.node-link.json", _networkx),
}
"""The file name of each kind, and the function that returns its text."""
