"""Findings that no traffic shows: client ids, dead bridges, open listeners, bad lines; and their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshwright.deploy.findings import Finding
from meshwright.deploy.targets.mosquitto.lint import lint
from meshwright.deploy.targets.mosquitto.network import Network
from meshwright.deploy.targets.mosquitto.parse import read_configurations
from meshwright.store.datasets import read_topic_kind
from meshwright.store.interest_files import load_interest
from routed_plans import write_routed_plan
from terminal import meshwright


def findings(folder: Path, **files: str) -> list[Finding]:
    """Write files and return what lint finds in their folder."""
    for name, text in files.items():
        (folder / f"{name}.conf").write_text(text)
    return lint(Network(read_configurations([folder])))


def test_bridges_with_the_same_client_id_disconnect_each_other(tmp_path: Path) -> None:
    """The same id at one listener is a fault, stated or by the name of the connection."""
    bridge = "connection c{0}\naddress localhost:1\nremote_clientid same\ntopic x{0} out 1\n"
    found = findings(
        tmp_path,
        hub="listener 1 localhost\n",
        a=f"listener 2 localhost\n{bridge.format(1)}{bridge.format(2)}",
    )
    assert [(one.kind, one.place.line) for one in found] == [("client id", 6), ("dialled twice", 6)]
    twice = "listener 3 localhost\n" + "connection d\naddress localhost:1\ntopic y out 1\n" * 2
    named = findings(tmp_path, a="listener 2 localhost\n", b=twice)
    assert any("two connections 'd'" in str(one) for one in named)


def test_bridges_to_nowhere(tmp_path: Path) -> None:
    """A bridge without an address, or to a port where nobody listens, is a fault."""
    found = findings(
        tmp_path, a="listener 1 localhost\nconnection b\naddress far:9\ntopic x out\nconnection c\n"
    )
    assert [(one.kind, one.place.line) for one in found] == [("nowhere", 2), ("nowhere", 5)]
    assert "dials far:9" in found[0].text


def test_open_listeners(tmp_path: Path) -> None:
    """A listener for other machines that lets anybody in is a warning; one on loopback is none."""
    found = findings(
        tmp_path, a="listener 1883\nallow_anonymous true\n", b="listener 1 127.0.0.1\nallow_anonymous true\n"
    )
    assert [(one.kind, one.brokers, one.place.line) for one in found] == [("open listener", ("a",), 1)]
    each = "per_listener_settings true\nlistener 1883\nallow_anonymous false\n"
    each += "listener 1884\nallow_anonymous true\n"
    assert [one.place.line for one in findings(tmp_path, a=each)] == [4]


def test_bad_lines(tmp_path: Path) -> None:
    """Lines that cannot be understood, and filters that never match, are faults with their line."""
    text = "listener 1 localhost\nlistener x\nconnection b\naddress localhost:2\n"
    text += "topic a/#/b out 1\ntopic a sideways\n"
    found = findings(tmp_path, a=text, b="listener 2 localhost\n")
    assert [(one.kind, one.place.line) for one in found] == [("syntax", 2), ("filter", 5), ("syntax", 6)]


def test_unknown_options(tmp_path: Path) -> None:
    """A misspelled option is a fault with its line and the likely option; those of plugins are not."""
    text = "listener 1 localhost\nplugin x.so\nplugin_opt_any 1\nauth_opt_db x\nalow_anonymous true\n"
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.conf").write_text("persistence true\nquatsch 7\n")
    found = findings(tmp_path, a=f"{text}include_dir {tmp_path}/more\n")
    assert [(one.severity, one.kind, one.place.line) for one in found] == [
        ("fault", "option", 5), ("fault", "option", 2)
    ]  # fmt: skip
    assert str(found[0]).endswith("does not start with it; did you mean 'allow_anonymous'?")
    assert str(found[1]).startswith(f"{tmp_path}/more/b.conf:2: fault: 'quatsch' is not an option")


def test_files_that_are_no_configuration(tmp_path: Path) -> None:
    """A file without any option of Mosquitto is bad input, also if its one option is misspelled."""
    for name, text, said in (
        ("subscriptions.csv", "node,topic\na,x\n", "'node,topic' in line 1; give a mosquitto.conf"),
        ("a.conf", "# ours\nlistner 99\n", "'listner' in line 2; did you mean 'listener'?"),
    ):
        (tmp_path / name).write_text(text)
        answer = meshwright("lint", tmp_path / name)
        assert (answer.code, answer.out) == (2, "")
        assert f"{name} is not a Mosquitto configuration" in answer.complaint
        assert said in answer.complaint


def test_included_files_belong_to_their_broker(tmp_path: Path) -> None:
    """Files of an include_dir count for the broker that includes them, and findings name them."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "b.conf").write_text("connection b\naddress localhost:2\ntopic # out 1\n")
    found = findings(
        tmp_path, a="listener 1 localhost\ninclude_dir /etc/mosquitto/conf.d\n", b="listener 2 localhost\n"
    )
    assert [(one.kind, Path(one.place.file).name, one.place.line) for one in found] == [
        ("everything", "b.conf", 3)
    ]
    assert found[0].brokers == ("a", "b")


def test_brokers_on_the_same_port_differ_by_host(tmp_path: Path) -> None:
    """Where all listen on 1883, the host of an address is the name of the broker."""
    bridge = "connection x\naddress {}.example\ntopic t out 1\n"
    found = findings(
        tmp_path,
        oslo="listener 1883\n" + bridge.format("berlin"),
        berlin="listener 1883\n",
        rome="listener 1883\n",
    )
    assert found == []


def test_the_command(tmp_path: Path) -> None:
    """The exit code is 1 for storms and duplicates only, and the JSON names file, line and fix."""
    ring = {"a": ("1", "2"), "b": ("2", "1")}
    for broker, (own, other) in ring.items():
        text = f"listener {own} localhost\nconnection c{broker}\naddress localhost:{other}\ntopic t both 1\n"
        (tmp_path / f"{broker}.conf").write_text(text)
    answer = meshwright("lint", tmp_path, "--json")
    assert answer.code == 1
    storm = answer.json["findings"][0]
    assert (storm["severity"], storm["line"], sorted(storm["brokers"])) == ("storm", 4, ["a", "b"])
    assert "circle: " in meshwright("lint", tmp_path).out
    assert "nothing is there" in meshwright("lint", tmp_path / "none").complaint


def test_our_own_federations_are_clean_and_become_datasets(tmp_path: Path) -> None:
    """What export writes has no findings, and what its bridges carry becomes a dataset to plan from."""
    plan, out, dataset = write_routed_plan(tmp_path), tmp_path / "out", tmp_path / "today"
    assert meshwright("export", plan, "--to", "mosquitto", "--out", out).code == 0
    answer = meshwright("lint", out, "--dataset", dataset)
    assert (answer.code, answer.err) == (0, "")
    assert "nothing found" in answer.out
    assert read_topic_kind(dataset) == "mqtt"
    assert load_interest(dataset).num_nodes == 6
    assert meshwright("advise", dataset, "--steps", "5").code == 0


def test_exported_folders_know_their_addresses(tmp_path: Path) -> None:
    """An export with an inventory has no dead bridge; without its manifest, the line names --inventory."""
    plan, out, listed = write_routed_plan(tmp_path), tmp_path / "out", tmp_path / "brokers.csv"
    rows = [f"b{number},10.0.0.{number + 1},1883,false" for number in range(6)]
    listed.write_text("\n".join(["broker,host,port,tls", *rows]))
    answer = meshwright(
        "export", plan, "--to", "mosquitto", "--inventory", listed, "--insecure", "--out", out
    )
    assert answer.code == 0
    assert "nowhere" not in {one["kind"] for one in meshwright("lint", out, "--json").json["findings"]}
    (out / "federation.json").write_text("{}")
    lost = [one for one in meshwright("lint", out, "--json").json["findings"] if one["kind"] == "nowhere"]
    assert lost
    assert "--inventory" in lost[0]["fix"]


@pytest.mark.parametrize("text", [b"\xff\xfe", b""])
def test_files_that_are_no_text(tmp_path: Path, text: bytes) -> None:
    """Binary files are refused with one line; an empty file is a broker on port 1883."""
    (tmp_path / "a.conf").write_bytes(text)
    answer = meshwright("lint", tmp_path)
    assert (answer.code, "is not UTF-8" in answer.err) == ((2, True) if text else (0, False))


def test_many_ways_are_followed_once(tmp_path: Path) -> None:
    """Thirty diamonds in a row have a billion ways; each broker is reported after two of them."""
    files, port = {}, 1
    for number in range(30):
        here, left, right, end = f"n{number}", f"l{number}", f"r{number}", f"n{number + 1}"
        ports = {here: port, left: port + 1, right: port + 2, end: port + 3}
        for name, others in ((here, (left, right)), (left, (end,)), (right, (end,))):
            files[name] = f"listener {ports[name]} localhost\n" + "".join(
                f"connection {name}-{other}\naddress localhost:{ports[other]}\ntopic x out 1\n"
                for other in others
            )
        port += 3
    found = findings(tmp_path, **files, n30=f"listener {port} localhost\n")
    assert {one.kind for one in found} == {"two ways"}


def test_too_many_intersections_are_admitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where filters have more intersections than can be followed, lint says so."""
    lines = "".join(f"topic {held} both 1\n" for held in ("a/+/+", "+/b/+", "+/+/c"))
    files = {
        name: f"listener {own} localhost\nconnection {name}\naddress localhost:{other}\n{lines}"
        for name, own, other in (("a", 1, 2), ("b", 2, 3), ("c", 3, 1))
    }
    assert "not followed" not in {one.kind for one in findings(tmp_path, **files)}
    monkeypatch.setattr("meshwright.deploy.targets.mosquitto.network.MOST_FILTERS", 5)
    assert "not followed" in {one.kind for one in findings(tmp_path, **files)}
