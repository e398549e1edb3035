"""The handbook: plan.md states the counts, promises, commands and brokers of this very federation."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets.mosquitto.handbook import MOST_RELAYED, MOST_ROWS, handbook
from meshwright.deploy.wiring import Wiring, wire

PAIR = NamedTrees(
    ("a", "b", "c"),
    {
        "x": TopicTree((("a", "b"), ("b", "c")), frozenset("abc")),
        "y": TopicTree((("a", "b"),), frozenset("ab")),
        "z": TopicTree((), frozenset("c")),
    },
)
PROFILES = ("plain", "durable")
RELAYED = TopicTree((("a", "c"), ("c", "b")), frozenset("ab"), frozenset("c"))


def page(
    trees: NamedTrees = PAIR, settings: BrokerSettings | None = None, inventory: Inventory | None = None
) -> str:
    """Return the handbook of a federation."""
    wiring = wire(trees)
    return handbook(
        trees, wiring, inventory or Inventory.on_loopback(wiring.order), settings or BrokerSettings()
    )


def sections(text: str) -> dict[str, str]:
    """Return the text below each heading."""
    parts = re.split(r"^#+ (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def test_headings() -> None:
    """A page has these sections in this order; passwords and TLS only where they are used."""
    assert list(sections(page())) == ["This federation", "Starting it", "Changing it", "The brokers"]
    tls = Inventory({"a": Endpoint("h", 1), "b": Endpoint("h", 2, tls=True), "c": Endpoint("h", 3)})
    full = page(settings=BrokerSettings(secret=b"0123456789abcdef"), inventory=tls)
    assert list(sections(full)) == [
        "This federation", "Starting it", "Changing it", "Passwords", "TLS", "The brokers"
    ]  # fmt: skip
    assert full.startswith("# This federation\n\n3 brokers")
    assert full.endswith("|\n")
    assert "\n\n\n" not in full
    assert "0123456789abcdef" not in full


def test_counts() -> None:
    """Brokers, bridges and topic lines are counted, and the topics that have links; thousands have commas."""
    assert sections(page())["This federation"].startswith(
        "3 brokers, 2 bridges, 3 topic lines for 2 topics. Every topic has one tree"
    )
    topics = {f"t{number}": PAIR.trees["y"] for number in range(1_000)}
    assert "2 brokers, 1 bridges, 1,000 topic lines for 1,000 topics." in page(NamedTrees(("a", "b"), topics))
    brokers = tuple(f"b{number:04}" for number in range(1_200))
    links = tuple(("b0000", broker) for broker in brokers[1:])
    star = NamedTrees(brokers, {"x": TopicTree(links, frozenset(brokers))})
    assert "1,200 brokers, 1,199 bridges, 1,199 topic lines for 1 topics." in page(star)


def test_profiles_promise_different_things() -> None:
    """`plain` promises once while links are up; `durable` that messages queue, and how to end sessions."""
    plain, durable = (sections(page(settings=BrokerSettings(name)))["This federation"] for name in PROFILES)
    assert "Profile `plain`: delivery is exactly once while links are up." in plain
    assert "durable" not in plain
    assert "Profile `durable`: while a link is down or a broker restarts, messages queue" in durable
    assert "publish with QoS 2 are delivered once even over restarts" in durable
    assert "`topic … meshwright-gone/`" in durable
    assert "`meshwright.FROM>TO` at the broker that was dialled" in durable
    assert "`local.meshwright.FROM>TO` at the one that dialled" in durable
    assert "`mosquitto_sub -h HOST -p PORT -i ID -t x -E`" in durable
    assert "plain" not in durable


def test_exact_trees_reach_no_other_broker() -> None:
    """Without merged filters and relays, no other broker sees a message, and no exception is listed."""
    text = page()
    assert "reaches every subscribing broker once, and no other broker." in text
    assert "Overlapping" not in text
    assert "Relays" not in text


def test_relays_of_groups_are_listed() -> None:
    """The page says which broker relays which filters of a group, and towards whom."""
    held = {"a": frozenset({"m/+"}), "b": frozenset({"m/n"}), "c": frozenset({"m/#", "m/n"})}
    tree = TopicTree((("a", "b"), ("b", "c")), frozenset("abc"), filters=held)
    text = page(NamedTrees(tuple("abc"), {"m/#": tree}))
    assert "no other broker" not in text
    assert "once, and other brokers only where stated below." in text
    assert "| b | m/\\+ | a | m/\\# |\n| b | m/\\# | c | m/\\# |\n" in text
    assert "\n| a |" not in text.split("## Starting")[0]
    same = replace(tree, filters=dict.fromkeys("abc", frozenset({"m/#", "m/n"})))
    assert "no broker relays" in page(NamedTrees(tuple("abc"), {"m/#": same}))


def test_relays_are_listed() -> None:
    """Relays are listed by topic, the first ones of many, and the promise refers to the list."""
    both = TopicTree((("a", "c"), ("c", "d"), ("d", "b")), frozenset("ab"), frozenset("cd"))
    text = page(NamedTrees(tuple("abcd"), {"x": both, "y": RELAYED, "z": PAIR.trees["y"]}))
    assert "no other broker" not in text
    assert "topics that they do not subscribe to: `x`: c, d; `y`: c.\n" in text
    for count in (MOST_RELAYED, MOST_RELAYED + 1):
        many = {f"t{number:02}": RELAYED for number in range(count)}
        listed = page(NamedTrees(tuple("abc"), many))
        assert (f"; `t{MOST_RELAYED - 1}`: c" in listed, f"`t{MOST_RELAYED}`" in listed) == (True, False)
        assert re.findall(r"; and (\S+) more\.", listed) == (["1"] if count > MOST_RELAYED else [])


def test_starting() -> None:
    """The commands to start a broker by hand are stated, with the user who must own the folder."""
    text = sections(page())["Starting it"]
    assert "`/etc/meshwright/FOLDER`" in text
    assert "`start-order.txt`" in text
    assert "by hand: `cd FOLDER && mosquitto -c mosquitto.conf`." in text
    assert "becomes the user `mosquitto`" in text
    assert "by hand, root does it with `chown -hR mosquitto FOLDER`." in text


@pytest.mark.parametrize(
    ("settings", "reload"),
    [
        (BrokerSettings(), False),
        (BrokerSettings(version="2.1"), True),
        (BrokerSettings("durable", "2.1"), False),
    ],
)
def test_how_bridges_change(settings: BrokerSettings, reload: bool) -> None:
    """Bridges change by SIGHUP where the broker reloads them, else by a restart."""
    text = sections(page(settings=settings))["Changing it"]
    assert "`meshwright diff`, then run `meshwright apply`. " in text
    assert ("loads a new configuration on SIGHUP" in text) == reload
    assert ("change when the dialling broker restarts" in text) != reload


def test_table() -> None:
    """Each broker has a row with its folder, address and bridges; names cannot break the table."""
    trees = NamedTrees(
        ("a|b\nc", "b", "c"), {"x": TopicTree((("a|b\nc", "b"), ("b", "c")), frozenset({"a|b\nc", "b", "c"}))}
    )
    assert sections(page(trees))["The brokers"].splitlines() == [
        "| broker | folder | address | dials | is dialled by |",
        "| --- | --- | --- | --- | --- |",
        "| a\\|b\\\\x0ac | `a%7Cb%0Ac` | 127.0.0.1:18830 |  | b |",
        "| b | `b` | 127.0.0.1:18831 | a%7Cb%0Ac | c |",
        "| c | `c` | 127.0.0.1:18832 | b |  |",
    ]
    star = {("c", "a"): {"x": "both"}, ("c", "b"): {"x": "both"}}
    row = handbook(PAIR, Wiring(tuple("abc"), star), Inventory.on_loopback("abc"), BrokerSettings())
    assert "| c | `c` | 127.0.0.1:18832 | a, b |  |" in row


@pytest.mark.parametrize(
    ("brokers", "rest"), [(MOST_ROWS, ""), (MOST_ROWS + 1, "1"), (MOST_ROWS + 1_500, "1,500")]
)
def test_long_tables_are_cut(brokers: int, rest: str) -> None:
    """Only the first brokers have a row; how many more there are is stated."""
    names = tuple(f"b{number:04}" for number in range(brokers))
    text = page(NamedTrees(names, {}))
    assert text.count("| `b") == MOST_ROWS
    assert f"| `b{MOST_ROWS - 1:04}` |" in text
    assert text.endswith(f"\n\n… and {rest} more, in `federation.json`.\n" if rest else "|\n")


def test_passwords_and_tls_are_explained() -> None:
    """The user of clients, the file of their password, and the certificates are named."""
    inventory = Inventory({name: Endpoint("h", port, tls=True) for port, name in enumerate("abc", start=1)})
    text = sections(page(settings=BrokerSettings(secret=b"0123456789abcdef"), inventory=inventory))
    assert "as user `client` with the password in `client.password`" in text["Passwords"]
    for name in ("ca.crt", "broker.crt", "broker.key"):
        assert f"`certs/{name}`" in text["TLS"]
