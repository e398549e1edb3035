"""Configurations of Mosquitto are read as the broker reads them; what cannot be read is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshwright.deploy.targets.mosquitto.parse import BrokerConfiguration, read_configurations
from meshwright.errors import FormatError, InputError


def read(folder: Path, *lines: str, name: str = "a.conf") -> BrokerConfiguration:
    """Write and read one configuration."""
    (folder / name).write_text("".join(f"{line}\n" for line in lines))
    [broker] = read_configurations([folder / name])
    return broker


def test_listeners(tmp_path: Path) -> None:
    """A listener has a port, and a host if one is given; `port` is an older way to say it."""
    broker = read(
        tmp_path,
        "# a comment",
        "bind_address 10.0.0.1",
        "port 1884",
        "listener 1885",
        "allow_anonymous true",
        "listener 1886 127.0.0.1",
        "listener here",
    )
    assert [(one.port, one.host) for one in broker.listeners] == [
        (1884, "10.0.0.1"),
        (1885, None),
        (1886, "127.0.0.1"),
    ]
    assert [one.is_local for one in broker.listeners] == [False, False, True]
    assert broker.listeners[1].options["allow_anonymous"] == "true"
    assert "allow_anonymous" not in broker.listeners[2].options
    assert [(place.line, reason) for place, reason in broker.unreadable] == [
        (7, "listener 'here' has no port")
    ]


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost", True), ("::1", True), ("LOCALHOST", True), ("10.1.1.1", False), ("name", False)],
)
def test_local_hosts(tmp_path: Path, host: str, local: bool) -> None:
    """Only loopback addresses are local; a name may be anything."""
    assert read(tmp_path, f"listener 1 {host}").listeners[0].is_local is local


def test_without_a_listener_there_is_a_local_one(tmp_path: Path) -> None:
    """Mosquitto then listens on this machine, on its default port or the one that is stated."""
    for lines, port in (((), 1883), (("port 0",), 0)):
        [listener] = read(tmp_path, *lines).listeners
        assert (listener.port, listener.is_local) == (port, True)


def test_bridges(tmp_path: Path) -> None:
    """A bridge has addresses, topics with a direction and prefixes, and options of its own."""
    broker = read(
        tmp_path,
        "connection one",
        "address [FE::1]:99 Other",
        "topic x",
        'topic y both 1 "" far/',
        "topic z sideways",
        "topic",
        "bridge_cafile ca",
        "addresses third",
        "persistence true",
    )
    [bridge] = broker.bridges
    assert bridge.name == "one"
    assert bridge.addresses == [("fe::1", 99), ("other", 1883), ("third", 8883)]
    assert [(line.pattern, line.direction) for line in bridge.topics] == [("x", "out"), ("y", "both")]
    assert bridge.options == {"bridge_cafile": "ca"}
    assert broker.options["persistence"] == "true"
    assert [place.line for place, _ in broker.unreadable] == [5, 6]


def test_included_folders(tmp_path: Path) -> None:
    """All `.conf` of a folder are read in order, once, also if they include each other; none may be there."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.conf").write_text(f"include_dir {tmp_path}/more\nlistener 2\n")
    (tmp_path / "more" / "a.conf").write_text("listener 1\n")
    (tmp_path / "more" / "c.txt").write_text("listener 3\n")
    broker = read(tmp_path, "include_dir /elsewhere/more", "include_dir /nowhere")
    assert [one.port for one in broker.listeners] == [1, 2]
    assert [folder for folder, _ in broker.include_places][::2] == ["/elsewhere/more", "/nowhere"]
    assert len(read_configurations([tmp_path])) == 1


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """No file, a folder without files, bytes, and a link to nowhere are errors that name them."""
    with pytest.raises(InputError, match=f"no file or folder {tmp_path}/none: nothing is there"):
        read_configurations([tmp_path / "none"])
    with pytest.raises(InputError, match=r"there is no \.conf file"):
        read_configurations([tmp_path])
    (tmp_path / "link.conf").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=f"cannot read {tmp_path}/link.conf: No such file"):
        read_configurations([tmp_path])
    (tmp_path / "link.conf").unlink()
    (tmp_path / "bytes.conf").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match=r"bytes\.conf is not UTF-8 text"):
        read_configurations([tmp_path])
