"""Settings: wrong values are refused; the rest follows from the profile, the version and the secret."""

from __future__ import annotations

import base64
import hashlib
import hmac
from contextlib import nullcontext
from pathlib import Path

import pytest

from meshwright.deploy.folder_store import write_federation
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.passwords import client_password, fingerprint, password, read_secret
from meshwright.deploy.settings import BrokerSettings, require_protected
from meshwright.deploy.wiring import wire
from meshwright.errors import InputError

SECRET = b"0123456789abcdef"


@pytest.mark.parametrize(
    ("profile", "version", "durable", "reloads", "qos"),
    [
        ("plain", "2.0", False, False, 1),
        ("plain", "2.1", False, True, 1),
        ("durable", "2.0", True, False, 2),
        ("durable", "2.1", True, False, 2),
    ],
)
def test_what_follows(profile: str, version: str, durable: bool, reloads: bool, qos: int) -> None:
    """Only plain bridges of 2.1 reload; only durable ones use QoS 2."""
    settings = BrokerSettings(profile, version)
    assert (settings.durable, settings.reloads, settings.qos) == (durable, reloads, qos)


def test_defaults() -> None:
    """By default a federation is plain, for 2.0, and without passwords."""
    assert BrokerSettings() == BrokerSettings("plain", "2.0", None)


def test_only_what_is_given_changes(tmp_path: Path) -> None:
    """A profile, version or secret replaces the known one; an empty secret is refused, not ignored."""
    known = BrokerSettings("durable", "2.1", SECRET, identity="key")
    assert known.changed() == known
    assert known.changed("plain", "2.0") == BrokerSettings("plain", "2.0", SECRET, identity="key")
    (tmp_path / "secret").touch(mode=0o600)
    with pytest.raises(InputError, match="the secret is shorter than 16 bytes"):
        known.changed(secret=tmp_path / "secret")


def test_wrong_values_are_refused() -> None:
    """An unknown profile or version and a short secret are refused; 16 bytes are enough."""
    with pytest.raises(InputError, match="no profile 'x': choose one of plain, durable"):
        BrokerSettings("x")
    with pytest.raises(InputError, match=r"no Mosquitto '1\.6': choose one of 2\.0, 2\.1"):
        BrokerSettings(version="1.6")
    with pytest.raises(InputError, match="shorter than 16 bytes: make one with openssl"):
        BrokerSettings(secret=b"x" * 15)
    BrokerSettings(secret=b"x" * 16)


def test_passwords_are_derived() -> None:
    """The same secret and user give the same password; another secret, user or broker gives another."""
    assert password(SECRET, "u") == password(SECRET, "u")
    assert len({password(SECRET, "u"), password(SECRET, "v"), password(SECRET[::-1], "u")}) == 3
    assert client_password(SECRET, "a") == password(SECRET, "client of a") != client_password(SECRET, "b")


def test_a_password_is_slow_to_guess_from() -> None:
    """A password follows from scrypt of the secret, then from the user: as these published steps say."""
    key = hashlib.scrypt(SECRET, salt=b"meshwright", n=2**15, r=8, p=1, maxmem=2**26, dklen=32)
    digest = hmac.new(key, b"password\0u", hashlib.sha256).digest()
    assert base64.urlsafe_b64decode(password(SECRET, "u") + "=") == digest


def test_fingerprints_tell_secrets_apart() -> None:
    """A fingerprint identifies the secret without containing it; without a secret there is none."""
    assert len(str(fingerprint(SECRET))) == 32
    assert fingerprint(SECRET[::-1]) != fingerprint(SECRET)
    assert fingerprint(None) is None


def test_no_file_holds_the_secret(tmp_path: Path) -> None:
    """Neither configurations nor lists of passwords nor the manifest have the secret they follow from."""
    trees = NamedTrees(("a", "b"), {"x": TopicTree((("a", "b"),), frozenset("ab"))})
    settings = BrokerSettings("durable", secret=SECRET)
    folder = write_federation(trees, wire(trees), Inventory.on_loopback("ab"), settings, tmp_path / "f")
    contents = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert any(client_password(SECRET, "a").encode() in content for content in contents.values())
    for hidden in (SECRET, SECRET.hex().encode(), base64.b64encode(SECRET)):
        assert not [file for file, content in contents.items() if hidden in content]


@pytest.mark.parametrize(
    ("tls", "secret", "open_"),
    [
        (False, None, ("take messages from everybody", "can be read and changed")),
        (True, None, ("take messages from everybody",)),
        (False, SECRET, ("get passwords in clear text",)),
        (True, SECRET, ()),
    ],
)
def test_brokers_beyond_this_machine_need_a_secret_and_tls(
    tls: bool, secret: bytes | None, open_: tuple[str, ...]
) -> None:
    """Without one of them, what is open is named and refused; on this machine nothing is."""
    settings = BrokerSettings(secret=secret)
    far, near = (Inventory({"a": Endpoint(host, 1883, tls=tls)}) for host in ("10.0.0.1", "127.0.0.1"))
    assert require_protected(near, settings, insecure=False) == []
    notes = require_protected(far, settings, insecure=True)
    assert [what in note for what, note in zip(open_, notes, strict=True)] == [True] * len(open_)
    with pytest.raises(InputError, match="accept this with --insecure") if open_ else nullcontext():
        require_protected(far, settings, insecure=False)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o620])
def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    """A secret is a file of its owner alone; the error says how to make it so."""
    file = tmp_path / "secret"
    file.write_bytes(SECRET + b"\n")
    file.chmod(mode)
    with pytest.raises(InputError, match=f"others can read the secret .*{mode:04o}: chmod 600"):
        read_secret(file)
    file.chmod(0o600)
    assert read_secret(file) == SECRET
    with pytest.raises(InputError, match="no secret"):
        read_secret(tmp_path / "none")


@pytest.mark.parametrize(
    ("user", "what"),
    [("bridge", "get the passwords of bridges in clear text"), (None, "can be read and changed")],
)
def test_fragments_beyond_this_machine_need_tls(user: str | None, what: str) -> None:
    """Bridges for brokers with a configuration of their own need TLS beyond this machine, or --insecure."""
    settings = BrokerSettings(fragment=True)
    far = Inventory({"a": Endpoint("10.0.0.1", 1883, user=user)})
    with pytest.raises(InputError, match=f"brokers 'a' {what}, since they have no TLS.*--insecure"):
        require_protected(far, settings, insecure=False)
    assert len(require_protected(far, settings, insecure=True)) == 1
    safe = [Endpoint("127.0.0.1", 1883, user=user), Endpoint("10.0.0.1", 1883, tls=True, user=user)]
    for endpoint in safe:
        assert require_protected(Inventory({"a": endpoint}), settings, insecure=False) == []
