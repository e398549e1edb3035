"""Inventories: the same from CSV and YAML, and one clear line for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshwright.deploy import Place, read_inventory
from meshwright.errors import MeshwrightError

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


@pytest.mark.parametrize(("name", "text"), [("i.csv", CSV), ("i.yaml", YAML), ("i.yml", MAPPING)])
def test_all_spellings_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    """CSV, a list and a mapping in YAML give the same places."""
    (tmp_path / name).write_text(text)
    found = read_inventory(tmp_path / name)
    assert found.places == {"berlin": Place("10.0.0.1", 1883), "oslo": Place("oslo.example", 8883, tls=True)}
    assert found.of(["oslo", "berlin"]).places == found.places


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("i.csv", "broker,host\na,b\n", "no column 'port'"),
        ("i.csv", "broker,host,port\na,h,1\nb,h,1\n", "both at h:1"),
        ("i.csv", "broker,host,port\na,localhost,1\nb,127.0.0.1,1\n", "both at 127.0.0.1:1"),
        ("i.csv", "broker,host,port\na,::1,1\nb,LocalHost,1\n", "both at LocalHost:1"),
        ("i.csv", "broker,host,port\na,127.0.0.2,1\nb,[::1],1\n", "both at ::1:1"),
        ("i.csv", "broker,host,port\na,Oslo.example,1\nb,oslo.example,1\n", "both at oslo.example:1"),
        ("i.csv", "broker,host,port\na,h,1\na,h,2\n", "there twice"),
        ("i.csv", "broker,host,port\na,h,port\n", "from 1 to 65535"),
        ("i.csv", "broker,host,port\na,h,70000\n", "from 1 to 65535"),
        ("i.csv", "broker,host,port\na,,1\n", "give a name or address"),
        ("i.csv", "broker,host,port\n,h,1\n", "names no broker"),
        ("i.csv", "broker,host,port,tls\na,h,1,perhaps\n", "true or false"),
        ("i.yaml", "a: [", "not YAML"),
        ("i.yaml", "just text", "no inventory"),
        ("i.txt", "", "ends in none of"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, name: str, text: str, told: str) -> None:
    """Each mistake is one line that names the file and says what to do."""
    (tmp_path / name).write_text(text)
    with pytest.raises(MeshwrightError, match=told) as caught:
        read_inventory(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_brokers_missing_and_unknown(tmp_path: Path) -> None:
    """A broker of the plan without a place, and a place of no broker, are named."""
    (tmp_path / "i.csv").write_text(CSV)
    found = read_inventory(tmp_path / "i.csv")
    with pytest.raises(MeshwrightError, match="no brokers 'rome'"):
        found.of(["berlin", "oslo", "rome"])
    with pytest.raises(MeshwrightError, match="unknown brokers 'oslo'"):
        found.of(["berlin"])
    with pytest.raises(MeshwrightError, match="nothing is there"):
        read_inventory(tmp_path / "none.csv")
