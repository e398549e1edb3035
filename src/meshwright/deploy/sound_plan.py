"""Refuse a damaged plan: its files are as they were written, and every tree is a tree inside the overlay.

One wrong row makes a loop of bridges, in which messages circle for ever. So plans are checked once more
before they reach brokers.
"""

from __future__ import annotations

from meshwright.errors import first_five
from meshwright.files.header import PLAN, check_digests, damaged
from meshwright.store.trees import PUBLISHER, RELAY, StoredTrees


def require_sound(stored: StoredTrees) -> None:
    """Check the trees of a plan.

    Raises
    ------
    FormatError
        If a file of the plan changed after it was written, or a tree is not a tree inside the overlay, or
        does not serve the brokers that the plan states.
    """
    folder = stored.plan.path
    check_digests(folder, PLAN, stored.plan.metadata)
    file = folder / "trees.parquet"
    faults = _faulty_topics(stored)
    for what, topics in faults.items():
        if topics:
            raise damaged(file, f"the trees of topics {first_five(sorted(topics))} {what}")
    figures = stored.described.get("figures", {})
    for name, counted in _counts(stored).items():
        if figures.get(name) != counted:
            raise damaged(
                file, f"it has {counted} {name.replace('_', ' ')}, the plan states {figures.get(name)}"
            )


def _faulty_topics(stored: StoredTrees) -> dict[str, set[str]]:
    """Return the topics whose trees are wrong, by what is wrong with them."""
    edges = stored.plan.edges
    overlay = set(zip(edges.column("u").to_pylist(), edges.column("v").to_pylist(), strict=True))
    parents: dict[str, dict[str, str | None]] = {}
    twice, outside, cyclic = set[str](), set[str](), set[str]()
    publishers, carriers = _with_role(stored, PUBLISHER), set[tuple[str, str | None]]()
    for row in stored.trees.to_pylist():
        topic, parent, child = row["topic"], row["parent"], row["child"]
        if (topic, child) in publishers:
            carriers.add((topic, parent))
            continue
        tree = parents.setdefault(topic, {})
        if child in tree:
            twice.add(topic)
        tree[child] = parent
        if parent is not None and (min(parent, child), max(parent, child)) not in overlay:
            outside.add(topic)
    for topic, tree in parents.items():
        if list(tree.values()).count(None) != 1 or not _leads_to_root(tree):
            cyclic.add(topic)
    alone = {(row["topic"], row["broker"]) for row in stored.roles.to_pylist()}
    detached = {
        topic
        for topic, carrier in carriers
        if carrier not in parents.get(topic, {}) and (topic, carrier) not in alone
    }
    misplaced = {topic for topic, broker in _with_role(stored, RELAY) if broker not in parents.get(topic, {})}
    return {
        "reach a broker twice": twice,
        "use links that are not in the overlay": outside,
        "are not one tree each": cyclic,
        "have publishers that hand their messages to nobody": detached,
        "lack relays that the plan states": misplaced,
    }


def _leads_to_root(tree: dict[str, str | None]) -> bool:
    """Return whether the parents of every broker lead to the root, and never in a circle."""
    safe: set[str | None] = {None}
    for start in tree:
        path = []
        here: str | None = start
        while here not in safe:
            if here is None or here not in tree or here in path:
                return False
            path.append(here)
            here = tree[here]
        safe.update(path)
    return True


def _with_role(stored: StoredTrees, role: str) -> set[tuple[str, str]]:
    return {(row["topic"], row["broker"]) for row in stored.roles.to_pylist() if row["role"] == role}


def _counts(stored: StoredTrees) -> dict[str, int]:
    """Count what the plan states of its trees."""
    publishers = _with_role(stored, PUBLISHER)
    rows = [row for row in stored.trees.to_pylist() if (row["topic"], row["child"]) not in publishers]
    links = {frozenset((row["parent"], row["child"])) for row in rows if row["parent"] is not None}
    return {
        "trees": len({row["topic"] for row in rows}),
        "relays": len(_with_role(stored, RELAY)),
        "publishers": len(publishers),
        "links_used": len(links),
    }
