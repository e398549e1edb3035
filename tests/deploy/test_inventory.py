"""Inventories: CSV and YAML mean the same, and each mistake gives one clear line."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from meshwright.deploy.inventory import Endpoint, Inventory, extend_inventory, moved_brokers, read_inventory
from meshwright.errors import FormatError, InputError, MeshwrightError

CSV = "broker,host,port,tls\nberlin,10.0.0.1,1883,\noslo,oslo.example,8883,true\n"
YAML = """
- {broker: berlin, host: 10.0.0.1, port: 1883}
- {broker: oslo, host: oslo.example, port: 8883, tls: true}
"""
MAPPING = """
brokers:
  berlin: {host: 10.0.0.1, port: 1883}
  oslo: {host: oslo.example, port: 8883, tls: yes}
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [("i.csv", CSV), ("i.CSV", "\ufeff" + CSV), ("i.yaml", YAML), ("i.yml", MAPPING)],
)
def test_all_formats_mean_the_same(tmp_path: Path, name: str, text: str) -> None:
    """CSV, with a byte order mark or not, and a list or a mapping in YAML give the same endpoints."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = read_inventory(tmp_path / name)
    expected = {"berlin": Endpoint("10.0.0.1", 1883), "oslo": Endpoint("oslo.example", 8883, tls=True)}
    assert found.endpoints == expected
    assert list(found.for_brokers(["oslo", "berlin"]).endpoints) == ["oslo", "berlin"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("i.csv", "broker,host\na,b\n", "no column 'port'"),
        ("i.csv", "broker,host,port\na,h,1\nb,h,1\n", "both at h:1"),
        ("i.csv", "broker,host,port\na,localhost,1\nb,127.0.0.1,1\n", "both at 127.0.0.1:1"),
        ("i.csv", "broker,host,port\na,::1,1\nb,LocalHost,1\n", "both at LocalHost:1"),
        ("i.csv", "broker,host,port\na,127.0.0.2,1\nb,[::1],1\n", "both at ::1:1"),
        ("i.csv", "broker,host,port\na,Oslo.example,1\nb,oslo.example,1\n", "both at oslo.example:1"),
        ("i.csv", "broker,host,port\na,h,1\na,h,2\n", "line 3: broker 'a' occurs twice"),
        ("i.csv", "broker,host,port\na,h,port\n", "from 1 to 65535"),
        ("i.csv", "broker,host,port\na,h,0\n", "from 1 to 65535"),
        ("i.csv", "broker,host,port\na,h,65536\n", "from 1 to 65535"),
        ("i.csv", "broker,host,port\na,,1\n", "broker 'a': it has no field 'host'; correct it"),
        ("i.csv", "broker,host,port\na,a b,1\n", "not a name or address"),
        ("i.csv", "broker,host,port\n,h,1\n", "line 2 has no broker"),
        ("i.csv", "broker,host,port,tls\na,h,1,perhaps\n", "tls is 'perhaps', not true or false"),
        ("i.yaml", "- {broker: a, host: h, port: 1}\n- {host: h}\n", "record 2 has no broker"),
        ("i.yaml", "a: [", "not YAML"),
        ("i.yaml", "just text", "not an inventory"),
        ("i.yaml", "[1, 2]", "not an inventory"),
        ("i.txt", "", "does not end in"),
        ("i.yaml", "a: {host: h, port: 1, tsl: true}", "unknown field 'tsl': did you mean 'tls'"),
        ("i.csv", "broker,host,port,bridgeport\na,h,1,2\n", "did you mean 'bridge_port'"),
    ],
)
def test_mistakes_give_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    """Each mistake is one line that names the file and says what to do."""
    (tmp_path / name).write_text(text)
    with pytest.raises(MeshwrightError, match=message) as caught:
        read_inventory(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


@pytest.mark.parametrize("port", [1, 65_535])
def test_all_ports_are_allowed(tmp_path: Path, port: int) -> None:
    """The lowest and the highest port are valid."""
    (tmp_path / "i.csv").write_text(f"broker,host,port,tls\na, [::1] ,{port},NO\n")
    assert read_inventory(tmp_path / "i.csv").endpoints == {"a": Endpoint("::1", port)}


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """A file in another encoding is refused."""
    (tmp_path / "i.csv").write_bytes(b"broker,host,port\n\xff,h,1\n")
    with pytest.raises(MeshwrightError, match="not UTF-8"):
        read_inventory(tmp_path / "i.csv")


def test_missing_and_unknown_brokers_are_named(tmp_path: Path) -> None:
    """A broker of the plan without an endpoint, and an endpoint of an unknown broker, are named."""
    (tmp_path / "i.csv").write_text(CSV)
    found = read_inventory(tmp_path / "i.csv")
    with pytest.raises(MeshwrightError, match="no brokers 'rome'"):
        found.for_brokers(["berlin", "oslo", "rome"])
    with pytest.raises(MeshwrightError, match="unknown brokers 'oslo'"):
        found.for_brokers(["berlin"])
    with pytest.raises(MeshwrightError, match="nothing is there, check the path"):
        read_inventory(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("LOCALHOST", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"), ("::1", "::1"), ("10.0.0.1", None), ("h", None)],
)
def test_loopback_is_recognised(host: str, loopback: str | None) -> None:
    """Loopback addresses and localhost are recognised; other hosts are not on loopback."""
    assert Endpoint(host, 1).loopback == loopback
    assert Endpoint(host, 1).address == f"{host}:1"


def test_local_inventories_have_consecutive_ports() -> None:
    """Brokers on this machine get one port after the other."""
    assert Inventory.on_loopback("ab").endpoints == {
        "a": Endpoint("127.0.0.1", 18830),
        "b": Endpoint("127.0.0.1", 18831),
    }


def test_moved_brokers_are_found() -> None:
    """A broker moved if its host, port or TLS changed; newcomers and leavers did not move."""
    before = Inventory({"a": Endpoint("h", 1), "b": Endpoint("h", 2), "c": Endpoint("h", 3)})
    after = Inventory({"a": Endpoint("h", 1), "b": Endpoint("h", 2, tls=True), "d": Endpoint("h", 3)})
    assert moved_brokers(before, after) == {"b"}


def test_new_brokers_get_free_local_ports() -> None:
    """Known brokers keep their endpoint, new ones get a port of their own; leavers are left out."""
    before = Inventory.on_loopback("abc")
    found = extend_inventory(before, iter("cxay"))
    assert list(found.endpoints) == list("cxay")
    assert all(found.endpoints[broker] == before.endpoints[broker] for broker in "ac")
    ports = {found.endpoints[broker].port for broker in "xy"}
    assert len(ports - {endpoint.port for endpoint in before.endpoints.values()}) == 2
    assert {found.endpoints[broker].host for broker in "xy"} == {"127.0.0.1"}


def test_new_brokers_elsewhere_need_an_inventory() -> None:
    """If some broker is on another machine, a new one needs an inventory; without new ones none is needed."""
    remote = Inventory({"a": Endpoint("127.0.0.1", 1), "b": Endpoint("h", 1)})
    with pytest.raises(InputError, match="new brokers 'x' have no address: give an inventory"):
        extend_inventory(remote, "abx")
    assert extend_inventory(remote, "b").endpoints == {"b": Endpoint("h", 1)}


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=False)
)


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    """Nine lines that stand for a billion names take no time: aliases are refused."""
    file = tmp_path / "brokers.yaml"
    for text in (BOMB, "a: &x {host: h, port: 1}\nb: {<<: *x, port: 2}\n"):
        file.write_text(text)
        began = time.process_time()
        with pytest.raises(InputError, match="line 2 has an alias: write the record out"):
            read_inventory(file)
        assert time.process_time() - began < 1
    file.write_text("[" * 2000)
    with pytest.raises(FormatError, match=r"nested too deeply|not YAML"):
        read_inventory(file)


def test_the_size_of_an_inventory_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An inventory has a limit, which a variable raises."""
    file = tmp_path / "brokers.csv"
    file.write_text("broker,host,port\na,h,1\n")
    monkeypatch.setenv("MESHWRIGHT_MAX_INVENTORY", "10")
    with pytest.raises(InputError, match=r"more than 10: .* Raise the limit with MESHWRIGHT_MAX_INVENTORY"):
        read_inventory(file)
    monkeypatch.setenv("MESHWRIGHT_MAX_INVENTORY", "many")
    with pytest.raises(InputError, match="give a whole number"):
        read_inventory(file)
    monkeypatch.setenv("MESHWRIGHT_MAX_INVENTORY", "100")
    assert list(read_inventory(file).endpoints) == ["a"]


def test_ports_of_bridges_and_trust(tmp_path: Path) -> None:
    """A broker may have a port for bridges, which nobody else uses, and a degree of trust."""
    file = tmp_path / "brokers.csv"
    file.write_text("broker,host,port,tls,bridge_port,trust\na,h,1,yes,2,3\nb,h,3,,,\n")
    assert read_inventory(file).endpoints == {"a": Endpoint("h", 1, True, 2, 3), "b": Endpoint("h", 3)}
    for row, message in (
        ("b,h,2,,,", "'a' and 'b' are both at h:2"),
        ("b,h,3,,3,", "has the same port twice"),
        ("b,h,3,,x,", "bridge_port is 'x', not a whole number from 1 to 65535"),
        ("b,h,3,,70000,", "bridge_port is '70000', not a whole number from 1"),
        ("b,h,3,,4,-1", "trust is '-1', not a whole number of 0 or more"),
    ):
        file.write_text(f"broker,host,port,tls,bridge_port,trust\na,h,1,yes,2,3\n{row}\n")
        with pytest.raises(InputError, match=message):
            read_inventory(file)


@pytest.mark.parametrize(
    "host", ["h\0x", "h#x", "h\x1b[31m", 'h"', "h\nallow_anonymous true", "h/x", "\u202eh", ""]
)
def test_hosts_cannot_carry_anything_else(tmp_path: Path, host: str) -> None:
    """A host goes into configuration lines, so it has letters, digits and a few signs only."""
    file = tmp_path / "brokers.yaml"
    file.write_text(json.dumps({"a": {"host": host, "port": 1}}))
    said = "host is .*, not a name or address" if host else "it has no field 'host'"
    with pytest.raises(InputError, match=f"record 1: broker 'a': {said}"):
        read_inventory(file)


@pytest.mark.parametrize("host", ["10.0.0.1", "oslo.example", "b\u00fccher_1-x", "fe80::1%eth0", "[::1]"])
def test_hosts_that_are_names_or_addresses(tmp_path: Path, host: str) -> None:
    """Names, IPv4 and IPv6 addresses, the latter also in brackets or with a zone, are hosts."""
    file = tmp_path / "brokers.yaml"
    file.write_text(json.dumps({"a": {"host": host, "port": 1}}))
    assert read_inventory(file).endpoints["a"].host == host.strip("[]")
