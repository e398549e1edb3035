"""The files of a broker: exactly the settings that were tested with real brokers, for planned topics only."""

from __future__ import annotations

import base64
import hashlib

import pytest

from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.passwords import client_password, password
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets.mosquitto.render import broker_files, configuration
from meshwright.deploy.wiring import Wiring, bridge_identity

SECRET = b"0123456789abcdef"
KEY = BrokerSettings(secret=SECRET).identity_key
USER = bridge_identity(KEY, "meshwright.b>a")
WIRING = Wiring(("a", "b"), {("b", "a"): {"x": "both", "y": "out"}}, {("b", "a"): ("z",), ("a", "b"): ("q",)})
INVENTORY = Inventory({"a": Endpoint("a.example", 8883, tls=True), "b": Endpoint("localhost", 1883)})

PLAIN = """\
# Planned by Meshwright, which overwrites this file: change the plan instead.
listener 1883 127.0.0.1
allow_anonymous true
persistence false
max_queued_messages 100000
set_tcp_nodelay true
log_dest stderr
log_type error
log_type warning
log_type notice
log_type information
log_type subscribe
log_type unsubscribe

connection meshwright.b>a
address a.example:8883
remote_clientid meshwright.b>a
local_clientid local.meshwright.b>a
bridge_protocol_version mqttv50
cleansession true
notifications_local_only true
restart_timeout 1 5
bridge_cafile certs/ca.crt
topic x both 1 "" ""
topic y out 1 "" ""
"""

DURABLE = f"""\
# Planned by Meshwright, which overwrites this file: change the plan instead.
listener 1883 127.0.0.1
allow_anonymous false
password_file passwords
acl_file access
persistence true
persistence_location data/
max_inflight_messages 20000
max_queued_messages 100000
set_tcp_nodelay true
log_dest stderr
log_type error
log_type warning
log_type notice
log_type information
log_type subscribe
log_type unsubscribe

connection {USER}
address a.example:8883
remote_clientid {USER}
local_clientid local.{USER}
bridge_protocol_version mqttv311
try_private true
cleansession false
notifications_local_only true
restart_timeout 1 5
remote_username {USER}
remote_password {password(SECRET, USER)}
bridge_cafile certs/ca.crt
topic z out 2 meshwright-gone/ ""
topic x both 2 "" ""
topic y out 2 "" ""
"""


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (BrokerSettings(), PLAIN),
        (BrokerSettings("durable", secret=SECRET), DURABLE),
        (BrokerSettings("durable", "2.1", SECRET), DURABLE),
    ],
)
def test_the_whole_configuration(settings: BrokerSettings, expected: str) -> None:
    """The dialler's file is this text: nothing is missing, nothing else is there."""
    assert configuration(WIRING, INVENTORY, settings, "b") == expected


def test_a_broker_that_only_listens_has_no_bridge() -> None:
    """A listener with TLS names its certificates and has no bridge; off loopback it has no bind address."""
    lines = configuration(WIRING, INVENTORY, BrokerSettings(), "a").splitlines()
    assert lines[1:5] == [
        "listener 8883", "cafile certs/ca.crt", "certfile certs/broker.crt", "keyfile certs/broker.key"
    ]  # fmt: skip
    assert not any(line.startswith("connection") for line in lines)


def test_a_reload_renames_what_changes() -> None:
    """For a reload by 2.1, both names of a bridge end in one digest, and the restart timeout is short."""
    lines = configuration(WIRING, INVENTORY, BrokerSettings(version="2.1"), "b").splitlines()
    connection, local = (line for line in lines if line.startswith(("connection", "local_clientid")))
    name, _, digest = connection.removeprefix("connection ").rpartition(".")
    assert name == "meshwright.b>a"
    assert len(digest) == 12
    assert local == f"local_clientid local.{name}.{digest}"
    assert "remote_clientid meshwright.b>a" in lines
    assert "restart_timeout 1" in lines


def digest_of(wiring: Wiring, inventory: Inventory, settings: BrokerSettings) -> str:
    """Return the digest in the name of the bridge from b to a."""
    text = configuration(wiring, inventory, settings, "b")
    return next(line for line in text.splitlines() if line.startswith("connection")).rpartition(".")[2]


def test_names_depend_on_settings() -> None:
    """With 2.1, a bridge's name changes with its topics, address and user, and not with the password."""
    settings = BrokerSettings(version="2.1")
    same = digest_of(WIRING, INVENTORY, settings)
    assert same == digest_of(Wiring(WIRING.order, WIRING.bridges), INVENTORY, settings)
    more = Wiring(WIRING.order, {("b", "a"): {"x": "both", "y": "both"}})
    moved = Inventory({**INVENTORY.endpoints, "a": Endpoint("a.example", 8884, tls=True)})
    secured = BrokerSettings(version="2.1", secret=SECRET)
    digests = [
        digest_of(more, INVENTORY, settings),
        digest_of(WIRING, moved, settings),
        digest_of(WIRING, INVENTORY, secured),
    ]
    assert len({same, *digests}) == 4
    later = BrokerSettings(version="2.1", secret=SECRET[::-1], identity=KEY)
    assert digests[-1] == digest_of(WIRING, INVENTORY, later)


def test_files_of_a_folder() -> None:
    """A folder has queues only if durable, and passwords only with a secret."""
    assert list(broker_files(WIRING, INVENTORY, BrokerSettings(), "b")) == ["mosquitto.conf"]
    files = broker_files(WIRING, INVENTORY, BrokerSettings("durable", secret=SECRET), "b")
    assert list(files) == ["mosquitto.conf", "data/README", "passwords", "access", "client.password"]
    assert files["data/README"] == "Mosquitto keeps here what it has queued.\n"
    assert files["client.password"] == password(SECRET, "client of b") + "\n"
    assert files["passwords"].startswith("client:$7$")
    assert files["access"].startswith("user client\n")


STAR = Wiring(("a", "b", "c"), {("b", "a"): {"x": "both", "y": "out"}, ("c", "a"): {"z": "in"}})


def files_of(broker: str, bridge_port: int | None = None) -> dict[str, str]:
    """Return the files of a broker of the star."""
    places = {
        name: Endpoint("127.0.0.1", number, bridge_port=bridge_port and bridge_port + number)
        for number, name in enumerate("abc", start=1)
    }
    return broker_files(STAR, Inventory(places), BrokerSettings(secret=SECRET), broker)


def test_password_files_hold_hashes() -> None:
    """Clients and each dialling bridge have a line whose hash Mosquitto verifies: PBKDF2 with SHA-512."""
    lines = files_of("a")["passwords"].splitlines()
    words = {"client": client_password(SECRET, "a")}
    users = [bridge_identity(KEY, name) for name in ("meshwright.b>a", "meshwright.c>a")]
    words |= {user: password(SECRET, user) for user in users}
    assert [line.partition(":")[0] for line in lines] == list(words)
    for line in lines:
        user, _, rest = line.partition(":")
        _, kind, iterations, salt, digest = rest.split("$")
        assert (kind, iterations) == ("7", "101")
        made = hashlib.pbkdf2_hmac("sha512", words[user].encode(), base64.b64decode(salt), 101)
        assert base64.b64decode(digest) == made
        assert len(base64.b64decode(salt)) == 12
    assert files_of("c")["passwords"].count("\n") == 1


def test_access_is_what_is_planned() -> None:
    """Clients use every topic; a bridge writes, reads or both, as its directions say."""
    b, c = (bridge_identity(KEY, f"meshwright.{name}>a") for name in "bc")
    assert files_of("a")["access"] == (
        "user client\ntopic readwrite #\n\n"
        f"user {b}\ntopic readwrite x\ntopic write y\n\nuser {c}\ntopic read z\n"
    )
    assert files_of("b")["access"] == "user client\ntopic readwrite #\n"


def test_bridges_have_their_own_listener() -> None:
    """With a port for bridges, clients and bridges have their own users, and a bridge's id is its user."""
    files = files_of("a", 100)
    assert "meshwright" not in files["passwords"] + files["access"]
    assert files["bridges.passwords"].count("meshwright.") == 2
    assert "user client" not in files["bridges.access"]
    text = files["mosquitto.conf"]
    assert text.splitlines()[1] == "per_listener_settings true"
    clients, bridges = text.split("listener 101 127.0.0.1\n")
    assert "password_file passwords\nacl_file access\n" in clients
    assert "use_username_as_clientid" not in clients
    assert bridges.startswith(
        "allow_anonymous false\npassword_file bridges.passwords\nacl_file bridges.access\n"
        "use_username_as_clientid true\n"
    )
    assert "address 127.0.0.1:101\n" in files_of("b", 100)["mosquitto.conf"]


def test_the_id_of_a_bridge_cannot_be_guessed() -> None:
    """With a secret, ids end with 96 bits that depend on the first secret and on the bridge."""
    keys = [BrokerSettings(secret=secret).identity_key for secret in (SECRET, SECRET[::-1])]
    ids = {bridge_identity(key, name) for key in keys for name in ("a", "b")}
    assert len(ids) == 4
    assert {len(name) for name in ids} == {1 + 1 + 24}
    assert bridge_identity(None, "a") == "a"
    assert BrokerSettings(secret=SECRET[::-1], identity=keys[0]).identity_key == keys[0]
