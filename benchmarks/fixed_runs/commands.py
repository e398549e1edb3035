"""Fixed runs of files and commands: datasets, plans, verification, churn, exports and rollouts."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import meshwright as mw
from benchmarks.fixed_runs.data import files
from benchmarks.fixed_runs.inputs import (
    BAD_INPUT,
    command,
    dataset,
    fixed,
    interest,
    inventory,
    overlay,
    planned,
    routed,
    written,
)

# -- datasets and plans -----------------------------------------------------------------------------

LOW = "--algorithm low --k 2 --certify"
PARTIAL = "--algorithm gpa --max-edges 75"
BEST = "--algorithm best --steps 500 --seed 4 --certify --threads 2"
PLANS = ("", LOW, PARTIAL, "--algorithm resilient", BEST)
EXACT = "--algorithm exact --time-limit 600"


@fixed("store/datasets")
def datasets() -> Any:
    """Write datasets from Python and from the command line, and read them back."""
    command("workload zipf --nodes 90 --topics 20 --min-size 2 --max-size 9 --seed 3 --out made")
    command("workload social --nodes 90 --size 4 --both-ways --locality 0.7 --out friends")
    folders = [*(dataset(name) for name in ("small", "cuboid", "odd", "levels")), "made", "friends"]
    return [(files(folder), mw.load_interest(folder)) for folder in folders]


@fixed("store/files")
def plain_files() -> Any:
    """Load interests from CSV, JSON lines and Parquet, and build them in Python."""
    rows = [("b1", "x"), ("b2", "x"), ("b1", "y"), ("b1", "x"), ("b 3", "ü/1")]
    nodes, topics = [node for node, _ in rows], [topic for _, topic in rows]
    own = mw.Interest.from_pairs(nodes, topics, all_nodes=["b9"], all_topics=["z"])
    pq.write_table(own.to_arrow(), "rows.parquet")
    text = "".join(f"{node},{topic}\n" for node, topic in rows)
    lines = "".join(json.dumps({"node": node, "topic": topic}) + "\n" for node, topic in rows)
    mixed = written("mixed.jsonl", lines + '{"node": 7, "topic": "x"}\n\n')
    sources = written("rows.csv", f"node,topic\n{text}"), written("rows.jsonl", lines), mixed, "rows.parquet"
    others = mw.Interest.from_arrow(own.to_arrow()), mw.Interest.from_scipy(own.to_scipy())
    held = [own, *others, *(mw.load_interest(source) for source in sources)]
    return [(each, each.duplicates, each.to_arrow()) for each in held]


@cache
def published() -> str:
    """Return the folder of a partial plan with trees that have relays and publishers."""
    shutil.copytree(planned("small", PARTIAL), "published")
    links = mw.read_plan("published").overlay_on(interest("small"))
    publishers = [(i * 7 % 60, i * 3 % 25) for i in range(30)]
    return str(mw.write_trees(mw.route(links, "load", publishers=publishers), "published"))


@fixed("store/plans")
def plans() -> Any:
    """Write plans with proofs and trees, and read them back."""
    folders = [*(planned("small", words) for words in PLANS), routed("small"), published()]
    folders.append(routed("small", LOW, today=routed("small")))
    again = [mw.read_plan(folder).overlay_on(interest("small")) for folder in folders]
    mw.write_plan(mw.design(interest("odd"), "low"), "odd-plan")
    held = [files(folder) for folder in (*folders, planned("tiny", EXACT), "odd-plan")]
    return held, again, mw.read_trees(published()).described


@fixed("store/handing-over")
def converted() -> Any:
    """Convert an overlay for other libraries, and write GraphML."""
    own = overlay("small")
    Path("graphs").mkdir()
    own.write_graphml("graphs/plain.graphml")
    own.write_graphml("graphs/packed.graphml.gz")
    graph = own.to_networkx()
    data = sorted((*sorted((a, b)), held) for a, b, held in graph.edges(data=True))
    return own.to_scipy().toarray(), own.edges, own.to_pandas().to_dict("list"), data, files("graphs")


@fixed("verify/good")
def verified() -> Any:
    """Verify correct plans."""
    asked = [f"{planned('small', words)} {dataset('small')}" for words in PLANS]
    asked += [f"{planned('tiny', EXACT)} {dataset('tiny')}", f"{routed('small', LOW)} {dataset('small')}"]
    return [command(f"verify {words} --json") for words in asked]


@fixed("verify/damaged")
def damaged() -> Any:
    """Verify plans with lost links, with wrong figures, or without a required resilience."""
    shutil.copytree(routed("small", LOW), "damaged")
    table = pq.read_table("damaged/edges.parquet")
    pq.write_table(table.slice(0, len(table) - 3), "damaged/edges.parquet")
    shutil.copytree(planned("small"), "wrong-figures")
    stated = json.loads(Path("wrong-figures/plan.json").read_text(encoding="utf-8"))
    stated["figures"] |= {"max_degree": 1, "support": 0.5}
    Path("wrong-figures/plan.json").write_text(json.dumps(stated), encoding="utf-8")
    asked = [f"damaged {dataset('small')}", f"wrong-figures {dataset('small')}"]
    asked += [f"{planned('small')} {dataset('small')} --k 2"]
    asked += [f"{planned('small', PARTIAL)} {dataset('small')} --k 1"]
    return [command(f"verify {words} --json", 1) for words in asked]


@fixed("commands/answers")
def answers() -> Any:
    """Run `compare`, `soc`, `advise`, `route` and `chaos`, and draw charts."""
    small, plan = dataset("small"), planned("small", LOW)
    Path("charts").mkdir()
    every = (
        "gm,minmax,low,gpa,gpm,ring,cd,cd1,cd2,cdmax,spidercast,spidercastm,randoma,randomm,resilient,best"
    )
    budgets = "--max-edges 50 --max-degree 5 --steps 300 --certify"
    shown = [
        command(f"compare {small} --algorithms {every} {budgets} --chart charts/compare.svg --json"),
        command(f"advise {small} --max-degree 9 --steps 500 --chart charts/advise.png --json"),
        command(f"advise {small} --diameter 2 --max-edges 900 --steps 100 --json"),
        command(f"advise {small} --resilient --diameter 4 --steps 100 --json", 1),
        command(f"soc {plan} {small} --degree 20 --cost 9 --json"),
        command(f"soc {plan} {small} --degree 2 --cost 2 --measure diameter --json", 1),
        command(f"route {shutil.copytree(plan, 'by-load')} {small} --objective load --json"),
        command(f"chaos {plan} {small} --most 2 --samples 5 --policies naive,tidy --json"),
    ]
    return shown, files("charts")


@fixed("commands/refusals")
def rejections() -> Any:
    """Give bad input; each must end with exit code 2."""
    small, plan = dataset("small"), planned("small")
    asked = [f"plan {small} --algorithm none --out x", f"plan {small} --algorithm gpa --out x"]
    asked += ["plan missing --out x", f"plan {small} --k 2 --out x", f"plan {small} --out {small}", "unheard"]
    asked += [f"verify {plan} {dataset('odd')}", f"verify {small} {small}", f"plan {small}"]
    asked += [f"export {plan} --to mosquitto --out x", f"export {plan} --to svg --out x"]
    asked += [f"route {plan} {small} --today x", f"churn {plan} {small} --policy none"]
    return [(line, command(line, BAD_INPUT)) for line in asked]


@fixed("commands/churn")
def churn() -> Any:
    """Replay churn: random, in bursts, and from a trace."""
    trace = [{"event": "crash", "node": f"b{i:02}", "batch": i // 3} for i in range(9)]
    trace += [{"event": "join", "node": f"n{i}", "topics": [f"t{i:02}", "t24", "new"]} for i in range(9)]
    file = written("trace.jsonl", "".join(json.dumps(each) + "\n" for each in trace))
    on = f"churn {planned('small')} {dataset('small')}"
    command(f"{on} --rounds 50 --compare naive,shadow,tidy,rebuild --seed 3 --out churned")
    shown = command(f"{on} --trace {file} --policy tidy --out traced --json")
    burst = command(f"{on} --rounds 20 --burst 3 --backups greedy --coverage 2 --rho 1 --json")
    return files("churned"), files("traced"), shown, burst


# -- deployment -------------------------------------------------------------------------------------

PROFILES = {
    "plain": "",
    "plain-2.1": "--mosquitto 2.1",
    "durable": "--profile durable",
    "durable-2.1": "--profile durable --mosquitto 2.1",
    "secret": "--profile durable --secret secret",
    "inventory": "--inventory places-small-True.csv --secret secret --insecure",
}


@cache
def federation(name: str) -> str:
    """Export a federation with one of the profiles, and return its folder."""
    inventory("small", tls=True)
    Path(written("secret", "0123456789abcdef0123456789abcdef\n")).chmod(0o600)
    command(f"export {routed('small')} --to mosquitto --out federation-{name} {PROFILES[name]}")
    return f"federation-{name}"


for _name in PROFILES:
    fixed(f"export/mosquitto-{_name}", _name)(lambda name: files(federation(name)))


@fixed("export/mosquitto-filters")
def filters() -> Any:
    """Export overlapping filters, relays, and an inventory in YAML."""
    brokers = interest("levels").node_names.to_pylist()
    lines = "".join(f"{b}: {{host: h{i}.example, port: {1883 + i}}}\n" for i, b in enumerate(brokers))
    merged = f"--inventory {written('places.yaml', lines)} --insecure --json"
    shown = command(f"export {routed('levels')} --to mosquitto --out merged {merged}")
    command(f"export {published()} --to mosquitto --allow-relays --out relayed")
    return shown, files("merged"), files("relayed")


def exported(kind: str) -> Any:
    """Export plans for other programs: with trees, without, with publishers, with integer names."""
    for number, plan in enumerate((routed("small"), planned("small"), published(), planned("odd"))):
        command(f"export {plan} --to {kind} --out {kind}/{number}")
    return files(kind)


for _name in ("graphml", "json", "dot", "networkx"):
    fixed(f"export/{_name}", _name)(exported)


@cache
def changed() -> str:
    """Return the folder of a plan for changed brokers, with trees close to those of today."""
    return routed("changed", "--algorithm low", today=routed("small"))


@fixed("deploy/diff")
def diffs() -> Any:
    """Compare plans of the same brokers, of changed brokers, and with deployed federations."""
    old, low, new = routed("small"), routed("small", LOW, today=routed("small")), changed()
    asked = [f"{old} {low}", f"{low} {old}", f"{old} {new}", f"{old} {new} --profile durable"]
    asked += [f"{old} {new} --mosquitto 2.1", f"{federation('plain-2.1')} {low}"]
    asked += [f"{federation('durable')} {new}", f"{federation('secret')} {new}"]
    return [command(f"diff {words} --json") for words in asked]


WAVES = 8
"""More waves than the changes here have."""


@fixed("deploy/apply")
def applied() -> Any:
    """Apply a new plan to each federation: as a dry run, for real, and once more."""
    found = []
    for name, words in PROFILES.items():
        folder = shutil.copytree(federation(name), f"applied-{name}")
        own = f"--inventory {inventory('changed')} {'--secret secret' if 'secret' in words else ''}"
        line = f"apply {changed()} {folder} {own} --insecure --json"
        found.append(command(f"{line} --dry-run"))
        found += [command(f"{line} --wave next") for _ in range(WAVES)]
        found += [command(line), files(folder)]
    return found
