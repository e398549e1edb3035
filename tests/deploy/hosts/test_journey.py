"""The journey of an operator: from the logs of real brokers to a running federation, without editing data."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest

from brokers import PROGRAM, broker
from meshwright.deploy.proof.traffic import load_aiomqtt
from meshwright.store.datasets import read_topic_kind
from meshwright.store.plans import read_plan
from terminal import meshwright

SITES = ("berlin", "oslo", "malmo", "rome", "ulm", "hq")
FILTERS = (
    "site1/#", "+/+/state", "site1/a/temp", "site2/a/+", "$share/workers/site2/+/state", "cmd/all", "site1/b",
    "wet rain/now", "site2/#", "alarm/+", "alarm/fire", "+/a/#", "lone/topic", "site3/x", "$SYS/uptime",
)  # fmt: skip
ODD_IDS = ("meter", "meter 0", "old one", "Client x", "ünit-7", "a/b")


async def subscribe_everywhere(ports: dict[str, int]) -> None:
    """Let 36 clients subscribe, six at each broker, two filters each; the monitor asks for everything."""
    aiomqtt = load_aiomqtt()
    async with AsyncExitStack() as stack:
        for number, (site, port) in enumerate(ports.items()):
            for place, name in enumerate(ODD_IDS):
                client = aiomqtt.Client("127.0.0.1", port, identifier=f"{name} {site}")
                await stack.enter_async_context(client)
                start = (number * 5 + place * 2) % len(FILTERS)
                for one in (FILTERS[start], FILTERS[(start + 3) % len(FILTERS)]):
                    await client.subscribe(one)
            if site == "hq":
                await client.subscribe("#")
        await asyncio.sleep(0.3)


@pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
def test_from_logs_to_a_running_federation(tmp_path: Path) -> None:
    """Wildcards, shared subscriptions, odd client ids and a topic with a space need no edit of the data."""
    logs = tmp_path / "logs"
    logs.mkdir()
    with ExitStack() as stack:
        ports = {site: stack.enter_context(broker(logs / f"{site}.log")) for site in SITES}
        asyncio.run(subscribe_everywhere(ports))
    dataset, plan, out = tmp_path / "dataset", tmp_path / "plan", tmp_path / "out"
    words = [str(log) for log in sorted(logs.glob("*.log"))]
    ingested = meshwright("ingest", *words, "--node-from", "broker", "--out", dataset, "--json")
    assert ingested.code == 0, ingested.err
    assert ingested.json["nodes"] == len(SITES)
    assert read_topic_kind(dataset) == "mqtt"
    planned = meshwright("plan", dataset, "--exclude-topic", "unusable", "--expand", "#", "--out", plan)
    assert planned.code == 0, planned.err
    assert "skipped: 'wet rain/now'" in planned.out
    assert read_plan(plan).metadata["topics"]["expanded"] == ["#"]
    for command in (("route", plan, dataset), ("verify", plan, dataset)):
        assert meshwright(*command).code == 0
    assert meshwright("export", plan, "--to", "mosquitto", "--out", out).code == 0
    assert "storm" not in meshwright("lint", out).out
    proof = meshwright("federation", plan, "--json")
    assert proof.code == 0, proof.err
    figures = proof.json
    assert (figures["missing"], figures["duplicate"], figures["leaked"]) == (0, 0, 0)
    assert figures["relayed"] == figures["predicted_relayed"]
