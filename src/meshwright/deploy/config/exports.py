"""Plans for other programs: GraphML, Graphviz, networkx, and plain JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError, MissingDependencyError, OutputError
from meshwright.files.single import new_file
from meshwright.overlay import graphml
from meshwright.store import read_plan, read_trees

if TYPE_CHECKING:
    from meshwright.store.plans import StoredPlan


def export(path: str | Path, kind: str, target: str | Path) -> Path:
    """Write a plan's links, with what each carries if it has trees, as one file in a folder; return it.

    Raises
    ------
    InputError
        For an unknown kind, or names that the kind cannot hold.
    """
    if kind not in KINDS:
        raise InputError(f"cannot export to {kind!r}: choose one of mosquitto, {', '.join(KINDS)}")
    name, write = KINDS[kind]
    stored = read_plan(path)
    text = write(stored, _topics(stored))
    folder = Path(target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder / name}: {error.strerror}; choose another place") from error
    with new_file(folder / name) as file:
        file.write_text(text, encoding="utf-8")
    return folder / name


def _topics(stored: StoredPlan) -> dict[tuple[str, str], list[str]]:
    """Return the topics whose trees use each link, by its ends in order; empty without trees."""
    if "routes" not in stored.metadata:
        return {}
    found: dict[tuple[str, str], list[str]] = {}
    for row in read_trees(stored.path).trees.to_pylist():
        if row["parent"] is not None:
            low, high = sorted((row["parent"], row["child"]), key=str.encode)
            found.setdefault((low, high), []).append(row["topic"])
    return found


def _links(stored: StoredPlan, topics: dict[tuple[str, str], list[str]]) -> list[dict[str, Any]]:
    """Return the overlay's links with what each carries, then the one-way links of publishers beside it."""
    rows = [{**row, "overlay": True} for row in stored.edges.to_pylist()]
    known = {(row["u"], row["v"]) for row in rows}
    beside = {"rank": None, "contribution": 0, "overlay": False}
    rows += [{"u": u, "v": v, **beside} for u, v in sorted(topics.keys() - known)]
    return [{**row, "topics": topics.get((row["u"], row["v"]), [])} for row in rows]


def _apart(stored: StoredPlan, links: list[dict[str, Any]]) -> list[str]:
    """Return the brokers without any link, as far as a plan's trees tell of them."""
    if "routes" not in stored.metadata:
        return []
    everyone = set(read_trees(stored.path).roles.column("broker").to_pylist())
    return sorted(everyone - {link[end] for link in links for end in ("u", "v")})


def _json(stored: StoredPlan, topics: dict[tuple[str, str], list[str]]) -> str:
    kept = {name: value for name, value in stored.metadata.items() if name not in ("format", "schema")}
    document: dict[str, Any] = {"plan": kept, "links": _links(stored, topics)}
    if "routes" in stored.metadata:
        found = read_trees(stored.path)
        document |= {"trees": found.trees.to_pylist(), "roles": found.roles.to_pylist()}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _dot(stored: StoredPlan, topics: dict[tuple[str, str], list[str]]) -> str:
    lines = ["graph federation {", "  layout=neato; overlap=false; node [shape=box];"]
    links = _links(stored, topics)
    lines += [f"  {_quoted(broker)};" for broker in _apart(stored, links)]
    for link in links:
        ends = " -- ".join(_quoted(link[end]) for end in ("u", "v"))
        style = "" if link["overlay"] else ", style=dashed"
        lines.append(f"  {ends} [contribution={link['contribution']}, topics={len(link['topics'])}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _graph(stored: StoredPlan, topics: dict[tuple[str, str], list[str]]) -> Any:
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "networkx is not installed: pip install 'meshwright[networkx]'"
        ) from error
    graph = nx.Graph()
    links = _links(stored, topics)
    graph.add_nodes_from(_apart(stored, links))
    for link in links:
        figures = {"contribution": link["contribution"], "topics": len(link["topics"])}
        rank = {} if link["rank"] is None else {"rank": link["rank"]}
        graph.add_edge(link["u"], link["v"], **rank, **figures, overlay=link["overlay"])
    return graph


def _networkx(stored: StoredPlan, topics: dict[tuple[str, str], list[str]]) -> str:
    import networkx as nx

    return json.dumps(nx.node_link_data(_graph(stored, topics), edges="edges"), ensure_ascii=False) + "\n"


def _graphml(stored: StoredPlan, topics: dict[tuple[str, str], list[str]]) -> str:
    return graphml(_graph(stored, topics))


KINDS: dict[str, tuple[str, Callable[[StoredPlan, dict[tuple[str, str], list[str]]], str]]] = {
    "graphml": ("plan.graphml", _graphml),
    "json": ("export.json", _json),
    "dot": ("plan.dot", _dot),
    "networkx": ("plan.node-link.json", _networkx),
}
"""Each kind with the file it writes, and how."""
