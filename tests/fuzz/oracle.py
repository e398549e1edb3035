"""What a plan says, computed again in plain Python from the files that a command read.

Nothing of the package is imported. A plan that `verify` accepts must be without faults here, and one that
brokers are given without those of `deliveries`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Pair = tuple[str, str]


def rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file."""
    found: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    return found


class Plan:
    """A plan and its dataset as they are on disk, and what is wrong with it."""

    def __init__(self, plan: Path, dataset: Path, *, bounds: bool = True) -> None:
        self.folder, self.stated = plan, json.loads((plan / "plan.json").read_text())
        self.faults: list[str] = []
        self.deliveries: list[str] = []
        """The faults by which messages are lost, or arrive twice."""
        self.brokers, topics, pairs = read_dataset(dataset)
        if self.stated.get("topics"):
            pairs = self._groups(pairs)
            topics = sorted({topic for _, topic in pairs})
        self.topics = topics
        self.held: dict[str, set[str]] = defaultdict(set)
        for broker, topic in pairs:
            self.held[topic].add(broker)
        self.links: list[Pair] = [(row["u"], row["v"]) for row in rows(plan / "edges.parquet")]
        self._check_digests()
        self._check_links()
        if self.stated.get("routes") is not None:
            self._check_trees()
        if bounds:
            self._check_bounds()

    def _equal(self, name: str, found: float | None, stated: Any) -> None:
        same = found is stated is None or (
            found is not None
            and isinstance(stated, (int, float))
            and not isinstance(stated, bool)
            and math.isclose(found, stated, rel_tol=1e-8)
        )
        if not same:
            self.faults.append(f"{name} is {found}, not {stated}")

    def _lost(self, what: str) -> None:
        self.faults.append(what)
        self.deliveries.append(what)

    def _check_digests(self) -> None:
        for name, digest in self.stated.get("files", {}).items():
            file = self.folder / name
            if file.exists() and hashlib.sha256(file.read_bytes()).hexdigest() != digest:
                self.faults.append(f"{name} has changed")

    def _groups(self, pairs: set[Pair]) -> set[Pair]:
        """Group the filters that overlap, and compare with the tables of the plan."""
        choice = self.stated["topics"]
        if choice["expanded"] or choice["skip_unusable"]:
            self.faults.append("a choice that was not made")
        out = set(choice["excluded"])
        bare = {(b, f, f.split("/", 2)[2] if f.startswith("$share/") else f) for b, f in pairs}
        kept = {(b, name) for b, whole, name in bare if not {whole, name} & out}
        filters = sorted({f for _, f in kept}, key=str.encode)
        leader = {f: f for f in filters}
        for f, g in combinations(filters, 2):
            if overlap(f.split("/"), g.split("/")):
                old, new = (
                    max(leader[f], leader[g], key=str.encode),
                    min(leader[f], leader[g], key=str.encode),
                )
                leader = {one: new if lead == old else lead for one, lead in leader.items()}
        stated = [(row["filter"], row["group"]) for row in rows(self.folder / "groups.parquet")]
        held = [(row["broker"], row["filter"]) for row in rows(self.folder / "holders.parquet")]
        if sorted(stated) != sorted(leader.items()):
            self._lost("the groups of filters are others")
        if sorted(held) != sorted(kept):
            self._lost("the holders of filters are others")
        return {(b, leader[f]) for b, f in kept}

    def _check_links(self) -> None:
        figures, parameters = self.stated["figures"], self.stated["parameters"]
        table = rows(self.folder / "edges.parquet")
        if len(set(self.links)) < len(self.links) or any(u >= v for u, v in self.links):
            self.faults.append("links are there twice, or u is not below v")
        if {end for link in self.links for end in link} - set(self.brokers):
            self.faults.append("links of unknown brokers")
        part = {(topic, broker): broker for topic, own in self.held.items() for broker in own}
        merges = 0
        for row in table:
            gain = 0
            for topic, own in self.held.items():
                if row["u"] in own and row["v"] in own and part[topic, row["u"]] != part[topic, row["v"]]:
                    old, new = part[topic, row["u"]], part[topic, row["v"]]
                    part.update({(topic, b): new for b in own if part[topic, b] == old})
                    gain += 1
            merges += gain
            if gain != row["contribution"]:
                self.faults.append(f"rank {row['rank']} contributes {gain}")
        degree = Counter(end for link in self.links for end in link)
        self.top = max(degree.values(), default=0)
        possible = sum(len(own) - 1 for own in self.held.values())
        self.whole = merges == possible
        for name, found in {
            "nodes": len(self.brokers), "topics": len(self.topics), "edges": len(self.links),
            "average_degree": 2 * len(self.links) / max(len(self.brokers), 1), "max_degree": self.top,
            "support": merges / possible if possible else 1.0,
        }.items():  # fmt: skip
            self._equal(name, found, figures.get(name))
        budgets = {"max_edges": len(self.links), "max_degree": self.top}
        given = {name: parameters.get(name) for name in budgets if parameters.get(name) is not None}
        if any(budgets[name] > value for name, value in given.items()):
            self.faults.append("beyond its budget")
        if not self.whole and not given:
            self.faults.append("topics are split")

    def _check_trees(self) -> None:
        figures = self.stated["routes"]["figures"]
        roles = rows(self.folder / "roles.parquet")
        of_role = {
            name: {(row["topic"], row["broker"]) for row in roles if row["role"] == name}
            for name in ("relay", "publisher", "alone")
        }
        links = {frozenset(link) for link in self.links}
        trees: dict[str, list[tuple[str | None, str]]] = defaultdict(list)
        sent = []
        for row in rows(self.folder / "trees.parquet"):
            if (row["topic"], row["child"]) in of_role["publisher"]:
                sent.append(row)
            else:
                trees[row["topic"]].append((row["parent"], row["child"]))
        used, loads, copies, hops = set(), Counter[frozenset[str]](), Counter[str](), []
        unreachable = 0
        for topic in {*trees, *self.held}:
            own, branches = self.held.get(topic, set()), trees.get(topic, [])
            if len(own) > 1 and not self._can_meet(own, links):
                unreachable += 1
                own = set()
            if len(own) < 2:
                if branches:
                    self._lost(f"a tree of {topic}")
                continue
            seen: set[str | None] = {None}
            for parent, child in branches:
                if parent not in seen or child in seen or (parent is None and len(seen) > 1):
                    self._lost(f"{topic} is not a tree in order")
                if parent is not None and frozenset((parent, child)) not in links:
                    self._lost(f"{topic} has a link that is not there")
                seen.add(child)
            inside = {child for _, child in branches}
            relays = {broker for of, broker in of_role["relay"] if of == topic}
            if inside != own | relays or own & relays:
                self._lost(f"{topic} reaches others than its subscribers")
            ends = [frozenset((u, v)) for u, v in branches if u is not None]
            used |= set(ends)
            loads.update(ends)
            for u, v in branches:
                copies[v] -= 1
                if u is not None:
                    copies.update([u, v])
            near: dict[str, set[str]] = defaultdict(set)
            for u, v in branches:
                if u is not None:
                    near[u].add(v)
                    near[v].add(u)
            hops.append(distances(near, own))
        for row in sent:
            topic = row["topic"]
            if row["parent"] not in {child for _, child in trees.get(topic, [])} | self.held.get(
                topic, set()
            ):
                self._lost(f"the publisher {row['child']} of {topic} hangs in the air")
            if row["child"] in self.held.get(topic, ()):
                self._lost(f"the publisher {row['child']} subscribes to {topic}")
        every = sorted(hop for own in hops for hop in own)
        measured: dict[str, float] = {
            "trees": sum(bool(own) for own in trees.values()), "relays": len(of_role["relay"]),
            "publishers": len(sent), "links_used": len(used), "unreachable": unreachable,
            "mean_hops": sum(every) / max(len(every), 1), "max_hops": max(every, default=0),
            "usual_hops": max((own[math.ceil(0.95 * len(own)) - 1] for own in map(sorted, hops)), default=0),
            "mean_max_hops": sum(map(max, hops)) / max(len(hops), 1),
        }  # fmt: skip
        if not self.stated["routes"].get("rates"):
            measured |= {
                "max_link_load": max(loads.values(), default=0),
                "mean_link_load": loads.total() / max(len(self.links), 1),
                "max_broker_load": max(copies.values(), default=0),
            }
        for name, found in measured.items():
            self._equal(f"routes: {name}", found, figures.get(name))

    def _can_meet(self, own: set[str], links: set[frozenset[str]]) -> bool:
        reached = {min(own)}
        while any(len(link & reached) == 1 for link in links):
            reached = reached.union(*(link for link in links if link & reached))
        return own <= reached

    def _check_bounds(self) -> None:
        figures = self.stated["figures"]
        bound = None
        if figures.get("lower_bound") is not None:
            price = {
                (row["node"], row["topic"]): row["price"] for row in rows(self.folder / "prices.parquet")
            }
            bound = max(0, -(-self._value(price, dict.fromkeys(self.brokers, 2**29), 2**30) // 2**30))
        self._equal("lower_bound", bound, figures.get("lower_bound"))
        gap = (len(self.links) - bound) / bound if bound and self.whole else None
        if bound == 0 and self.whole and not self.links:
            gap = 0.0
        self._equal("gap", gap, figures.get("gap"))
        names = ("at_degree", "bound_at_degree", "gap_at_degree", "degree_bound")
        if all(figures.get(name) is None for name in names):
            return
        table = rows(self.folder / "degree_prices.parquet")
        proven: list[int] = []
        for column, least in (("at_degree", 2**29), ("lowest_degree", 0)):
            price = {(row["node"], row["topic"]): row[column] for row in table if row["topic"] is not None}
            allowed = {row["node"]: row[column] for row in table if row["topic"] is None}
            if any(not least <= value <= 2**34 for value in allowed.values()):
                self.faults.append("an allowance out of range")
            value, total = self._value(price, allowed, 2**34), sum(allowed.values())
            if least:
                value -= figures["at_degree"] * (total - 2**29 * len(self.brokers))
                proven.append(max(0, -(-value // 2**30)))
            else:
                proven.append(max(0, -(-value // total)) if total else 0)
        self._equal("at_degree", self.top, figures.get("at_degree"))
        self._equal("bound_at_degree", proven[0], figures.get("bound_at_degree"))
        self._equal("degree_bound", proven[1], figures.get("degree_bound"))

    def _value(self, price: dict[Pair, int], allowed: dict[str, int], most: int) -> int:
        """Return what topics ask for, less what pairs carry beyond the allowances of their ends."""
        if price.keys() != {(b, t) for t, own in self.held.items() for b in own}:
            self.faults.append("prices of others than the subscriptions")
            return 0
        if allowed.keys() != set(self.brokers) or any(not 0 <= value <= most for value in price.values()):
            self.faults.append("allowances of others than the brokers, or prices out of range")
            return 0
        value = 0
        carried: Counter[Pair] = Counter()
        for topic, own in self.held.items():
            prices = sorted(price[broker, topic] for broker in own)
            value += sum(prices[1:])
            for u, v in combinations(sorted(own), 2):
                carried[u, v] += max(price[u, topic], price[v, topic])
        return value - sum(max(0, load - allowed[u] - allowed[v]) for (u, v), load in carried.items())


def read_dataset(dataset: Path) -> tuple[list[str], list[str], set[Pair]]:
    """Return the brokers, the topics, and who subscribes to what."""
    tables = {
        kind: [row for part in sorted((dataset / kind).glob("*.parquet")) for row in rows(part)]
        for kind in ("nodes", "topics", "subscriptions")
    }
    nodes, topics = ({row["id"]: row["name"] for row in tables[kind]} for kind in ("nodes", "topics"))
    pairs = {(nodes[row["node"]], topics[row["topic"]]) for row in tables["subscriptions"]}
    return list(nodes.values()), list(topics.values()), pairs


def overlap(one: list[str], other: list[str], first: bool = True) -> bool:
    """Say whether some topic matches both filters, given by their levels."""
    if not one or not other:
        return one in ([], ["#"]) and other in ([], ["#"])
    a, b = one[0], other[0]
    if first and "$" in (a[:1], b[:1]) and {a, b} & {"+", "#"}:
        return False
    if "#" in (a, b):
        return True
    return (a == b or "+" in (a, b)) and overlap(one[1:], other[1:], False)


def distances(near: dict[str, set[str]], own: set[str]) -> list[int]:
    """Return the hops between all pairs of some brokers of a tree."""
    found = []
    for start in own:
        hops, front = {start: 0}, [start]
        for here in front:
            for other in near[here] - hops.keys():
                hops[other] = hops[here] + 1
                front.append(other)
        found += [hops[other] for other in own if other > start and other in hops]
    return found or [0]
