"""The authority: what it asks of OpenSSL, where keys are, and what is said if OpenSSL is missing or fails."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from meshwright.brokers.certificates import Authority
from meshwright.errors import InputError, MissingDependencyError


class OpenSSL:
    """Stands for OpenSSL: writes what it is asked for, and fails on request."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], dict[str, Any]]] = []
        self.failure: str | None = None

    def run(self, words: list[Any], **options: Any) -> Any:
        """Take a call of `subprocess.run`."""
        self.calls.append(([str(word) for word in words], options))
        for option in ("-keyout", "-out"):
            Path(words[words.index(option) + 1]).write_text(option)
        return SimpleNamespace(returncode=int(self.failure is not None), stderr=self.failure)


@pytest.fixture
def openssl(monkeypatch: pytest.MonkeyPatch) -> OpenSSL:
    made = OpenSSL()
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", made.run)
    return made


def test_a_broker_gets_a_key_and_both_certificates(openssl: OpenSSL, tmp_path: Path) -> None:
    """Nobody else reads a key; the certificate is for the address alone, and signed by the authority."""
    authority = Authority(tmp_path / "deep" / "authority")
    authority.issue("127.0.0.1", tmp_path / "broker" / "certs")
    authority.issue("127.0.0.1", tmp_path / "broker" / "certs")
    assert sorted(file.name for file in (tmp_path / "broker" / "certs").iterdir()) == [
        "broker.crt",
        "broker.key",
        "ca.crt",
    ]
    assert (tmp_path / "deep" / "authority").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "broker" / "certs").stat().st_mode & 0o027 == 0
    (first, options), (second, _), _ = openssl.calls
    assert first[:3] == second[:3] == ["/bin/openssl", "req", "-x509"]
    assert "subjectAltName=IP:127.0.0.1" in second
    assert second[second.index("-CA") + 1] == str(authority.certificate)
    assert options == {
        "capture_output": True,
        "text": True,
        "check": False,
        "umask": 0o077,
        "stdin": subprocess.DEVNULL,
    }


def test_a_failure_is_one_line(openssl: OpenSSL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line of OpenSSL says why; without OpenSSL, the package is named."""
    for said, line in (("one\ntwo\n", "two"), ("", "no reason given")):
        openssl.failure = said
        with pytest.raises(
            InputError, match=f"openssl cannot make a certificate: {line}; version 3 is needed"
        ):
            Authority(tmp_path / "a")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MissingDependencyError, match="openssl is not installed: apt install openssl"):
        Authority(tmp_path / "a")
