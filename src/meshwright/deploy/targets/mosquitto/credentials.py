"""Whether a listener lets a bridge in: by TLS, by its certificate, and by its user and password.

Every rule was tried on Mosquitto 2.0.11. A listener has TLS if it has both `certfile` and `keyfile`. With a
password file, a user must be in it with this password, even where anonymous clients are allowed; entries that
are not hashed do not count.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path

from meshwright.deploy.targets.mosquitto.parse import Bridge, BrokerConfiguration, Listener

MOST_ITERATIONS = 1_000_000
"""Hashes that take longer to compute are not compared."""
ELSEWHERE = ("plugin", "auth_plugin", "psk_file", "psk_hint", "use_identity_as_username", "use_subject_as")
"""Beginnings of options by which something else than a password file decides."""


def why_no_tls(bridge: Bridge, listener: Listener) -> tuple[str, str] | None:
    """Return why the two do not understand each other, and how to mend it; None if they do, or may."""
    if "psk_hint" in listener.options or bridge.options.get("bridge_tls_use_os_certs") == "true":
        return None
    speaks = any(name in bridge.options for name in ("bridge_cafile", "bridge_capath", "bridge_psk"))
    serves = "certfile" in listener.options and "keyfile" in listener.options
    if speaks and not serves:
        return (
            "speaks TLS, and this listener does not",
            "give it certfile and keyfile, or dial a port with TLS",
        )
    if serves and not speaks:
        return "does not speak TLS, and this listener does", "give the bridge a bridge_cafile"
    if serves and listener.options.get("require_certificate") == "true" and not bridge.shows_certificate:
        return (
            "shows no certificate, which this listener requires",
            "give it bridge_certfile and bridge_keyfile",
        )
    return None


def why_no_login(
    bridge: Bridge, broker: BrokerConfiguration, listener: Listener, passwords: Path | None
) -> tuple[str, str] | None:
    """Return why a listener refuses a bridge's user or password, and how to mend it; None if it may not.

    `passwords` is the listener's password file, if it can be read here.
    """
    options = access_options(broker, listener)
    if any(name.startswith(ELSEWHERE) for name in (*options, *listener.options)):
        return None
    user, word = bridge.user, bridge.password
    if user is None:
        closed = options.get("allow_anonymous", "false" if "password_file" in options else "true") == "false"
        fix = "give it remote_username and remote_password"
        return ("has no user, and nobody gets in without one", fix) if closed else None
    if passwords is None:
        return None
    entries = _entries(passwords)
    if entries is None:
        return None
    entry = entries.get(user)
    if entry is None:
        return f"is user {user!r}, who is not in {passwords}", "add the user there with mosquitto_passwd"
    if _accepts(entry, word) is False:
        return f"has a password for user {user!r} that {passwords} does not have", "correct one of the two"
    return None


def lets_anybody_in(broker: BrokerConfiguration, listener: Listener) -> bool:
    """Return whether a listener accepts anonymous clients; Mosquitto 2 needs `allow_anonymous` for it."""
    certified = listener.options.get("require_certificate") == "true"
    return not certified and access_options(broker, listener).get("allow_anonymous") == "true"


def access_options(broker: BrokerConfiguration, listener: Listener) -> Mapping[str, str]:
    """Return the options that say who may use a listener: its own, or those of the broker."""
    each = broker.options.get("per_listener_settings") == "true"
    return listener.options if each else broker.options


def has_user(passwords: Path, user: str) -> bool:
    """Return whether a password file that can be read has a user; True if it cannot be read."""
    entries = _entries(passwords)
    return entries is None or user in entries


def _entries(passwords: Path) -> dict[str, str] | None:
    """Return the hashed password of each user, of which the last counts; None if the file cannot be read."""
    try:
        lines = passwords.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return {user: entry for user, _, entry in (line.partition(":") for line in lines)}


def _accepts(entry: str, word: str) -> bool | None:
    """Return whether an entry of a password file is that of a password; None if that takes too long."""
    try:
        kind, *parts = entry.split("$")[1:]
        salt, known = (base64.b64decode(part, validate=True) for part in parts[-2:])
        if kind == "6":
            return hmac.compare_digest(hashlib.sha512(word.encode() + salt).digest(), known)
        iterations = int(parts[0])
    except (ValueError, binascii.Error):
        return False  # Mosquitto drops the user
    if not 0 < iterations <= MOST_ITERATIONS:
        return None
    return hmac.compare_digest(hashlib.pbkdf2_hmac("sha512", word.encode(), salt, iterations), known)
