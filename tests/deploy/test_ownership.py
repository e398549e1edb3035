"""Only our own files change: export and apply keep what is not theirs, and follow no links."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from accidents import killed_everywhere
from meshwright.deploy.drift import find_drift
from meshwright.deploy.folder_store import update_folders, write_federation
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.wiring import rewire, wire
from meshwright.errors import FormatError, InputError, OutputError
from meshwright.files.folder_change import complete

SECRET = b"0123456789abcdef"
PAIR = NamedTrees(("a", "b"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})
MORE = NamedTrees(("a", "b"), {name: TopicTree((("a", "b"),), frozenset("ab")) for name in "xy"})
ALONE = NamedTrees(("a",), {"x": TopicTree((), frozenset("a"))})


def export(trees: NamedTrees, folder: Path, settings: BrokerSettings | None = None) -> Path:
    """Export trees to a folder."""
    inventory = Inventory.on_loopback(trees.brokers)
    return write_federation(trees, wire(trees), inventory, settings or BrokerSettings(), folder)


def update(trees: NamedTrees, folder: Path, settings: BrokerSettings | None = None) -> list[str]:
    """Apply trees to a folder."""
    wiring = rewire(trees, read_federation(folder).wiring)
    inventory = Inventory.on_loopback(trees.brokers)
    return update_folders(trees, wiring, inventory, settings or BrokerSettings(), folder)


def test_export_keeps_what_is_not_ours(tmp_path: Path) -> None:
    """Keys, queues and notes in an existing federation survive an export of another plan."""
    folder = export(PAIR, tmp_path / "out")
    own = ("a/certs/broker.key", "b/data/mosquitto.db", "notes.txt", "site/mosquitto.conf")
    for name in own:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    export(MORE, folder)
    assert all((folder / name).read_text() == name for name in own)
    assert "topic y both" in (folder / "b" / "mosquitto.conf").read_text()
    export(ALONE, folder)
    assert all((folder / name).read_text() == name for name in own if "db" not in name)
    assert (folder / "b" / "data" / "mosquitto.db.former").read_text() == "b/data/mosquitto.db"
    assert not (folder / "b" / "mosquitto.conf").exists()


def test_export_refuses_files_that_it_did_not_write(tmp_path: Path) -> None:
    """A foreign file or an edit in the way is named, and nothing changes."""
    folder = export(ALONE, tmp_path / "out")
    (folder / "b").mkdir()
    (folder / "b" / "mosquitto.conf").write_text("mine")
    (folder / "plan.md").write_text("edited")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(
        OutputError, match=r"did not write, or .* edited since: 'b/mosquitto.conf', 'plan.md'; move"
    ):
        export(PAIR, folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    with pytest.raises(OutputError, match=r"'b/mosquitto.conf'; move"):
        update(PAIR, folder)


def test_export_leaves_other_settings_to_apply(tmp_path: Path) -> None:
    """Another profile, version or secret is refused: brokers must learn it in waves."""
    folder = export(PAIR, tmp_path / "out")
    for settings, what in (
        (BrokerSettings("durable"), "profile"),
        (BrokerSettings(version="2.1"), "Mosquitto version"),
        (BrokerSettings(secret=SECRET), "secret"),
    ):
        with pytest.raises(InputError, match=f"another {what}: change it in waves with meshwright apply"):
            export(PAIR, folder, settings)


def test_an_edit_that_apply_replaces_is_set_aside(tmp_path: Path) -> None:
    """Apply repairs edited files, and keeps the edited text next to them."""
    folder = export(PAIR, tmp_path / "out")
    for broker in "ab":
        (folder / broker / "mosquitto.conf").write_text("edited")
    update(ALONE, folder)
    assert "listener" in (folder / "a" / "mosquitto.conf").read_text()
    assert [(folder / name / "mosquitto.conf.edited").read_text() for name in "ab"] == ["edited", "edited"]
    assert not (folder / "b" / "mosquitto.conf").exists()


def test_apply_deletes_nothing_behind_links(tmp_path: Path) -> None:
    """A link out of the folder is not followed: not to delete, not to write."""
    folder, outside = export(PAIR, tmp_path / "out"), tmp_path / "outside"
    outside.mkdir()
    for name in ("mosquitto.conf", "passwords", "access"):
        (outside / name).write_text("precious")
    (folder / "link").symlink_to(outside)
    update(ALONE, folder)
    (folder / "a").rename(tmp_path / "real")
    (folder / "a").symlink_to(outside)
    with pytest.raises(OutputError, match=f"{folder / 'a'} is a symbolic link"):
        update(PAIR, folder)
    assert sorted(path.read_text() for path in outside.iterdir()) == ["precious"] * 3


def test_a_file_that_became_a_link_is_replaced(tmp_path: Path) -> None:
    """A link in the place of one of our files is replaced itself; what it points to stays."""
    folder, victim = export(PAIR, tmp_path / "out"), tmp_path / "victim"
    victim.write_text("precious")
    (folder / "a" / "mosquitto.conf").unlink()
    (folder / "a" / "mosquitto.conf").symlink_to(victim)
    assert update(MORE, folder)
    assert victim.read_text() == "precious"
    assert not (folder / "a" / "mosquitto.conf").is_symlink()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: int) -> None:
    """Folders are at most 0750, files at most 0640, and those with passwords 0600; apply restores that."""
    before = os.umask(umask)
    try:
        settings = BrokerSettings("durable", secret=SECRET)
        folder = export(PAIR, tmp_path / "out", settings)
        for name in ("a", "a/data", "a/passwords", "b/mosquitto.conf", "plan.md", "."):
            (folder / name).chmod(0o777)
        (folder / "b" / "access").chmod(0o000)
        assert set(update(PAIR, folder, settings)) >= {"a/passwords", "b/mosquitto.conf", "b/access"}
    finally:
        os.umask(before)
    for path in (folder, *folder.rglob("*")):
        private = path.name in ("passwords", "client.password", "mosquitto.conf")
        widest = 0o750 if path.is_dir() else 0o600 if private else 0o640
        assert not path.stat().st_mode & 0o777 & ~widest, path
        assert path.stat().st_mode & 0o600 == 0o600


@pytest.mark.parametrize(
    ("power_cut", "stride"),
    [(True, 11), *(pytest.param(cut, 1, marks=pytest.mark.slow) for cut in (False, True))],
)
def test_an_update_is_made_or_not(tmp_path: Path, power_cut: bool, stride: int) -> None:
    """Killed before any system call, an update has happened or not, for readers and for the next writer."""
    room = tmp_path / "room"
    folder = export(PAIR, room / "out")
    (folder / "a" / "mosquitto.conf").write_text("edited")
    seen = []
    for _ in killed_everywhere(lambda: update(ALONE, folder), room, power_cut=power_cut, stride=stride):
        left = {path: path.lstat().st_mtime_ns for path in room.rglob("*")}
        found = read_federation(folder)
        foreseen = find_drift(folder, found)
        assert {path: path.lstat().st_mtime_ns for path in room.rglob("*")} == left, "readers never write"
        complete(folder)
        assert (read_federation(folder), find_drift(folder, found)) == (found, foreseen)
        texts = {name: (folder / name).read_text() for name in found.files}
        new = found.wiring.order == ("a",)
        assert (texts["a/mosquitto.conf"] == "edited") != new
        assert (folder / "b" / "mosquitto.conf").exists() != new
        assert not new or (folder / "a" / "mosquitto.conf.edited").read_text() == "edited"
        assert not (folder / ".update").exists() or not new
        seen.append(new)
        update(ALONE, folder)
        assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []
    assert seen == sorted(seen)
    assert set(seen) == {False, True}


@pytest.mark.parametrize("secret", [SECRET, b"another secret of ours", None])
def test_drift_does_not_depend_on_the_secret_at_hand(tmp_path: Path, secret: bytes | None) -> None:
    """An edit is one line of drift, with the secret, a new one or none; passwords are no drift."""
    folder = export(PAIR, tmp_path / "out", BrokerSettings(secret=SECRET))
    conf = folder / "b" / "mosquitto.conf"
    lines = conf.read_text().splitlines()
    conf.write_text("\n".join([*lines, "allow_anonymous true"]) + "\n")
    found = find_drift(folder, read_federation(folder), secret)
    assert [str(each) for each in found] == [
        f"b/mosquitto.conf, line {len(lines) + 1}: added: allow_anonymous true"
    ]


def test_an_older_manifest_is_refused(tmp_path: Path) -> None:
    """A federation of an earlier version does not say which files are ours, so nothing is guessed."""
    folder = export(PAIR, tmp_path / "out")
    content = json.loads((folder / "federation.json").read_text())
    (folder / "federation.json").write_text(json.dumps({**content, "schema": 1}))
    with pytest.raises(FormatError, match="did not record its files: export to a new folder"):
        read_federation(folder)
