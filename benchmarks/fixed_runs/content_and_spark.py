"""Fixed runs of content-based assignment and of commands on Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import meshwright as mw
from benchmarks.fixed_runs.data import files
from benchmarks.fixed_runs.inputs import command, dataset, fixed, interest, planned, written

# -- content ----------------------------------------------------------------------------------------

WORKLOADS: dict[str, Callable[[], mw.content.Workload]] = {
    "uniform": lambda: mw.content.synthetic(400, 6, 30, seed=1),
    "plane": lambda: mw.content.synthetic(400, 8, 40, model="plane", length=0.06, ratio=2.0, seed=2),
    "tight": lambda: mw.content.synthetic(150, 5, 12, model="plane", capacity=1.2, seed=3),
    "small": lambda: mw.content.synthetic(9, 3, 4, length=0.4, seed=4),
    "small plane": lambda: mw.content.synthetic(8, 3, 4, model="plane", length=0.3, seed=5),
}
LARGE, SMALL = ("uniform", "plane", "tight"), ("small", "small plane")
ASSIGNMENTS: dict[str, tuple[Sequence[str], Sequence[dict[str, Any]]]] = {
    "random": (LARGE, ({}, {"seed": 1})),
    "packing": (LARGE, ({},)),
    "clustering": (LARGE, ({},)),
    "steiner": (LARGE, ({}, {"argmax": True}, {"seed": 1})),
    "mixing": (LARGE, ({}, {"argmax": True}, {"seed": 1})),
    "descent": (LARGE, ({"steps": 0}, {"steps": 1_500}, {"seed": 1})),
    "exact": (SMALL, ({"time_limit": 600.0},)),
}


def assigned(algorithm: str, names: Sequence[str], settings: Sequence[dict[str, Any]]) -> Any:
    """Assign users to brokers, and compute the cost of each user, channel, broker and link."""
    found: list[Any] = []
    for plan in (
        mw.content.assign(WORKLOADS[name](), algorithm, **given) for name in names for given in settings
    ):
        known = plan.cost
        found += [plan.workload.fingerprint, plan.figures, plan.tree, known.broker_of, known.within_capacity]
        found += [known.of_user, known.of_channel, known.of_broker, known.of_link, known.load]
    return found


for _name, _asked in ASSIGNMENTS.items():
    fixed(f"content/{_name}", _name, *_asked)(assigned)


@fixed("content/moves")
def moves() -> Any:
    """Move users one by one, and update the cost."""
    found: list[Any] = []
    for name in LARGE:
        workload = WORKLOADS[name]()
        running = mw.content.RunningCost(workload, mw.content.assign(workload, "packing").cost.broker_of)
        for i in range(60):
            user, broker = i * 7 % workload.num_users, i * 3 % workload.num_brokers
            rises = running.changes(user)
            moved = running.move(user, broker) if running.has_room(user, broker) else None
            found.append((rises, moved, running.total))
        found += [running.load, running.broker_of, workload.room, workload.cost_ratio]
    return found


@fixed("content/migration")
def migration() -> Any:
    """Migrate users in virtual time: without faults, with declined moves, with broker crashes."""
    command("content workload --users 60 --brokers 4 --channels 8 --model plane --length 0.2 --out moving")
    asked = ["--publications 200", "--publications 150 --decline 0.3 --ttl 0.05 --start packing --seed 2"]
    asked += ["--publications 200 --crashes 2 --delay 0.02 --seed 1"]
    runs = [(f"moved-{number}", words) for number, words in enumerate(asked)]
    shown = [command(f"content migrate moving {words} --out {out} --json") for out, words in runs]
    return shown, [files(out) for out, _ in runs]


@fixed("content/commands")
def content_commands() -> Any:
    """Make workloads and assignments with the commands."""
    made_up = "--users 120 --brokers 4 --channels 10 --ratio 0.5 --capacity 1.5 --length 0.1 --seed 3"
    shown = [
        command(f"content workload {made_up} --out made-up --json"),
        command("content workload --users 7 --brokers 2 --channels 3 --out few --json"),
        command("content assign made-up --steps 900 --out assigned --json"),
        command("content compare made-up --steps 300 --argmax --json"),
        command("content exact few --out optimum --json"),
    ]
    return shown, [files(folder) for folder in ("made-up", "few", "assigned", "optimum")]


# -- Spark ------------------------------------------------------------------------------------------

ON = "--master local[2] --json"
MESSY = """node,topic,operation,time
a,x,subscribe,10
a,x,subscribe,11\r
b,x,subscribe,2024-01-01T00:00:12Z
broken\udcff,x,subscribe,13
"quoted, name",ü/1,subscribe,15
"a,y,subscribe,14
a,y
a,y,subscribe,16,more

,y,subscribe,17
a,   ,subscribe,17
a\0b,y,subscribe,18
a,y,dance,19
a,y,subscribe,yesterday
c,z,unsubscribe,30
c,z,subscribe,29
d,z,subscribe,31
d,z,unsubscribe,31
d,z,subscribe,31
e,x,subscribe,5
e,x,unsubscribe,6
"""
LOG = """1700000000: mosquitto version 2.0.11 starting
1700000001: New client connected from 127.0.0.1:1 as meter 1 (p2, c1, k60).
1700000002: meter 1 0 rain/#
1700000002: meter 1 1 wind
1700000003: New client connected from 127.0.0.1:2 as away (p2, c0, k60).
1700000003: away 1 $share/group/sun
1700000004: Client away disconnected.
1700000005: nobody 0 wind
"""


CONNZ = """{"server_id": "A", "num_connections": 2, "total": 2, "offset": 0, "limit": 1024, "connections": [
 {"cid": 1, "kind": "Client", "name": "c", "subscriptions_list_detail": [{"subject": "x"}, {"subject": "y"}]},
 {"cid": 2, "kind": "Client", "subscriptions_list_detail": [{"subject": "_INBOX.q.1"}, {"subject": "x"}]}]}
"""
EMQX = """{"meta": {"page": 1, "limit": 9, "count": 3, "hasnext": false}, "data": [
 {"node": "n1", "clientid": "c1", "topic": "$share/g/t", "qos": 1},
 {"node": "n1", "clientid": "c2", "topic": "t", "qos": 1},
 {"node": "n2", "clientid": "c3", "topic": null, "qos": 1}]}
"""


def ingested(words: str, out: str) -> Any:
    """Ingest files; return the answer, the dataset and the quarantine."""
    return command(f"ingest {words} --max-bad 0.9 --out {out} {ON}"), files(out)


@fixed("spark/ingest")
def messy() -> Any:
    """Ingest a messy file of events: all of it, and up to a given time."""
    file = written("messy.csv", MESSY)
    return ingested(file, "messy"), ingested(f"{file} --format csv --as-of 1970-01-01T00:00:16Z", "then")


@fixed("spark/formats")
def formats() -> Any:
    """Ingest compressed events, Parquet, CSV without header, edge lists, and dumps of three brokers."""
    mw.workloads.write_raw_events(interest("small"), Path("day"), files=2, seed=1)
    pq.write_table(interest("odd").to_arrow().rename_columns(["broker", "filter"]), "odd.parquet")
    bare = written("bare.csv", "b1;x\nb2;x\nb1;x\n")
    follows = written("follows.txt", "# who whom\n1 2\n2 3\n3 1\n3\n")
    asked = [
        "day/*.jsonl.gz",
        "odd.parquet --node broker --topic filter",
        f"{bare} --no-header --delimiter ;",
    ]
    asked += [f"{follows} --both-ways", f"{written('logs/oslo.log', LOG)} --node-from client"]
    asked += [f"{written('connz.json', CONNZ)} --format nats-connz --node-from client"]
    asked += [f"{written('emqx.json', EMQX)} --format emqx --node-from client"]
    return [ingested(words, f"ingested-{number}") for number, words in enumerate(asked)]


@fixed("spark/plans")
def on_spark() -> Any:
    """Plan in parts and here, verify, profile, sample, and run the demo."""
    small, many = dataset("small"), dataset("many")
    shown = [
        command(f"plan {small} --parts 3,2 --algorithm low --out divided {ON}"),
        command(f"plan {many} --algorithm gpa --max-edges 150 --out here {ON}"),
        command(f"verify divided {small} {ON}"),
        command(f"verify {planned('small')} {small} --k 2 {ON}", 1),
        command(f"profile {small} --against {dataset('odd')} {ON}"),
        command(f"profile {small} {ON}"),
        command(f"sample {small} --nodes 20 --from b07 --by topics --out some {ON}"),
        command("demo --nodes 200 --topics 40 --out demo --json"),
    ]
    return shown, [files(folder) for folder in ("divided", "here", "some", "demo")]


@fixed("spark/traffic")
def traffic() -> Any:
    """Summarise publish logs, choose trees by their rates, and make workloads from them."""
    rows = [f"b{i * 7 % 64:02},t{i % 25:02},{i % 90 - 3},{i}\n" for i in range(400)]
    values = [json.dumps({"publisher": f"u{i % 9}", "price": i * 31 % 997 / 100}) + "\n" for i in range(300)]
    wanted = written("wanted.csv", "user,low,high\n" + "".join(f"u{i},{i},{i + 1.5}\n" for i in range(8)))
    users = written("users.csv", "user,x,y\n" + "".join(f"u{i},{i},{i * i % 7}\n" for i in range(9)))
    brokers = written("brokers.csv", "broker,x,y\nnorth,0,5\nsouth,4,0\n")
    beside = f"--subscriptions {wanted} --user-places {users} --broker-places {brokers}"
    log = written("log.csv", "publisher,topic,size,time\n" + "".join(rows))
    cut = f"{written('values.jsonl', ''.join(values))} --value price --high 10 --channels 20 --seconds 60"
    plan = shutil.copytree(planned("small"), "by-rates")
    shown = [
        command(f"traffic {log} --out traffic {ON}"),
        command(f"route {plan} {dataset('small')} --objective load --rates traffic --json"),
        command(f"traffic {cut} --out prices {ON}"),
        command(f"content workload --traffic prices {beside} --out as-summed --json"),
        command(f"content workload --traffic prices {beside} --cells --bytes --out cells --json"),
        command(f"content workload --traffic prices {beside} --channels 7 --out fewer --json"),
    ]
    return shown, [files(folder) for folder in ("traffic", plan, "prices", "as-summed", "cells", "fewer")]


@fixed("spark/follow")
def followed() -> Any:
    """Follow a folder in two runs, and replay its events as churn."""
    line = f"follow incoming --format csv --start {dataset('small')} --once --out live {ON}"
    shown = []
    for day in range(2):
        kinds = ("subscribe", "subscribe", "unsubscribe")
        rows = [
            f"{kinds[i % 3]},b{i * 11 % 66:02},t{i * (day + 3) % 25:02},{99 * day + i}\n" for i in range(60)
        ]
        written(f"incoming/{day}.csv", "operation,node,topic,time\n" + "".join(rows) + "dance,b,t,1\n")
        shown.append(command(line))
    shown.append(command(f"churn {planned('small')} {dataset('small')} --trace live --json"))
    return shown, files("live/events")
