"""Plans for other programs: GraphML, Graphviz, networkx and plain JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshwright.deploy.targets import TARGETS
from meshwright.errors import InputError, MissingDependencyError, OutputError
from meshwright.files.atomic import new_file
from meshwright.files.urls import require_local
from meshwright.formatting import escape_dot
from meshwright.overlay import graphml
from meshwright.store.plan_check import require_meaning
from meshwright.store.plans import StoredPlan, read_plan
from meshwright.store.trees import StoredTrees, read_trees


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
    if kind not in KINDS:
        raise InputError(f"cannot export to {kind!r}: choose one of {', '.join([*TARGETS, *KINDS])}")
    name, write = KINDS[kind]
    text = write(_read_graph(path))
    folder = require_local(target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder / name}: {error.strerror}; choose another place") from error
    with new_file(folder / name) as file:
        file.write_text(text, encoding="utf-8")
    return folder / name


@dataclass(frozen=True)
class _Graph:
    """A plan as other programs see it."""

    plan: StoredPlan
    trees: StoredTrees | None
    links: list[dict[str, Any]]
    """The overlay's links with their topics, then the one-way links of publishers outside of it."""
    unlinked: list[str]
    """The brokers without a link; only plans with trees name them."""


def _read_graph(path: str | Path) -> _Graph:
    """Read a plan, and its trees if it has any."""
    plan = read_plan(path)
    trees = None if plan.routes is None else read_trees(path)
    if trees is not None:
        require_meaning(trees)
    topics: dict[tuple[str, str], list[str]] = {}
    for row in [] if trees is None else trees.trees.to_pylist():
        if row["parent"] is not None:
            low, high = sorted((row["parent"], row["child"]), key=str.encode)
            topics.setdefault((low, high), []).append(row["topic"])
    rows = [{**row, "overlay": True} for row in plan.edges.to_pylist()]
    known = {(row["u"], row["v"]) for row in rows}
    outside = {"rank": None, "contribution": 0, "overlay": False}
    rows += [{"u": u, "v": v, **outside} for u, v in sorted(topics.keys() - known)]
    links = [{**row, "topics": topics.get((row["u"], row["v"]), [])} for row in rows]
    everyone = set() if trees is None else set(trees.roles.column("broker").to_pylist())
    return _Graph(plan, trees, links, sorted(everyone - {link[end] for link in links for end in ("u", "v")}))


def _json(graph: _Graph) -> str:
    metadata = {
        name: value
        for name, value in graph.plan.metadata.items()
        if name not in ("format", "schema", "files")
    }
    document: dict[str, Any] = {"plan": metadata, "links": graph.links}
    if graph.trees is not None:
        document |= {"trees": graph.trees.trees.to_pylist(), "roles": graph.trees.roles.to_pylist()}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _dot(graph: _Graph) -> str:
    lines = ["graph federation {", "  layout=neato; overlap=false; node [shape=box];"]
    lines += [f"  {escape_dot(broker)};" for broker in graph.unlinked]
    for link in graph.links:
        ends = " -- ".join(escape_dot(link[end]) for end in ("u", "v"))
        style = "" if link["overlay"] else ", style=dashed"
        lines.append(f"  {ends} [contribution={link['contribution']}, topics={len(link['topics'])}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def _networkx_graph(graph: _Graph) -> Any:
    """Return a networkx graph."""
    made = _import_networkx().Graph()
    made.add_nodes_from(graph.unlinked)
    for link in graph.links:
        figures = {"contribution": link["contribution"], "topics": len(link["topics"])}
        rank = {} if link["rank"] is None else {"rank": link["rank"]}
        made.add_edge(link["u"], link["v"], **rank, **figures, overlay=link["overlay"])
    return made


def _import_networkx() -> Any:
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "networkx is not installed: pip install 'meshwright[networkx]'"
        ) from error
    return nx


def _networkx(graph: _Graph) -> str:
    document = _import_networkx().node_link_data(_networkx_graph(graph), edges="edges")
    return json.dumps(document, ensure_ascii=False) + "\n"


def _graphml(graph: _Graph) -> str:
    return graphml(_networkx_graph(graph))


KINDS: dict[str, tuple[str, Callable[[_Graph], str]]] = {
    "graphml": ("plan.graphml", _graphml),
    "json": ("export.json", _json),
    "dot": ("plan.dot", _dot),
    "networkx": ("plan.node-link.json", _networkx),
}
"""The file name of each kind, and the function that returns its text."""
