"""Passwords and access lists: derived from the secret, in Mosquitto's format, for planned topics only."""

from __future__ import annotations

import base64
import hashlib

from meshwright.deploy import Wiring
from meshwright.deploy.config.access import (
    access_file,
    client_password,
    fingerprint,
    password,
    password_file,
)

SECRET = b"0123456789abcdef"
WIRING = Wiring(("a", "b", "c"), {("b", "a"): {"x": "both", "y": "out"}, ("c", "a"): {"z": "in"}})


def test_passwords_are_derived() -> None:
    """The same secret and user give the same password; another secret, user or broker gives another."""
    assert password(SECRET, "u") == password(SECRET, "u") == "NTxc7eXDAxXChluAdauqbhLCZw49HDI5hrAFuQKoGyc"
    assert len({password(SECRET, "u"), password(SECRET, "v"), password(SECRET[::-1], "u")}) == 3
    assert client_password(SECRET, "a") == password(SECRET, "client of a") != client_password(SECRET, "b")


def test_fingerprints_tell_secrets_apart() -> None:
    """A fingerprint identifies the secret without containing it; without a secret there is none."""
    assert fingerprint(SECRET) == "5a8481568c4f49fa38a9469c962142ae"
    assert fingerprint(SECRET[::-1]) != fingerprint(SECRET)
    assert fingerprint(None) is None


def test_password_files_hold_hashes() -> None:
    """Clients and each dialling bridge have a line whose hash Mosquitto verifies: PBKDF2 with SHA-512."""
    lines = password_file(WIRING, "a", SECRET).splitlines()
    words = {"client": client_password(SECRET, "a")}
    words |= {user: password(SECRET, user) for user in ("meshwright.b>a", "meshwright.c>a")}
    assert [line.partition(":")[0] for line in lines] == list(words)
    for line in lines:
        user, _, rest = line.partition(":")
        _, kind, iterations, salt, digest = rest.split("$")
        assert (kind, iterations) == ("7", "101")
        made = hashlib.pbkdf2_hmac("sha512", words[user].encode(), base64.b64decode(salt), 101)
        assert base64.b64decode(digest) == made
        assert len(base64.b64decode(salt)) == 12
    assert password_file(WIRING, "c", SECRET).count("\n") == 1


def test_access_is_what_is_planned() -> None:
    """Clients use every topic; a bridge writes, reads or both, as its directions say."""
    assert access_file(WIRING, "a") == (
        "user client\ntopic readwrite #\n\n"
        "user meshwright.b>a\ntopic readwrite x\ntopic write y\n\n"
        "user meshwright.c>a\ntopic read z\n"
    )
    assert access_file(WIRING, "b") == "user client\ntopic readwrite #\n"
