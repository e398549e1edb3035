"""A private certificate authority for brokers on this machine, made by OpenSSL as the docs describe."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from meshwright.errors import InputError, MissingDependencyError

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
"""How every key is made."""


class Authority:
    """A certificate authority in a folder of its own, which holds its key.

    Raises
    ------
    MissingDependencyError
        If OpenSSL is not installed.
    InputError
        If OpenSSL fails; version 3 is needed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "ca.crt"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._openssl(
            "-days", "3650", "-subj", "/CN=federation", "-keyout", folder / "ca.key", "-out", self.certificate
        )  # fmt: skip

    def issue(self, address: str, folder: Path) -> None:
        """Write the certificate and key of a broker at an address, and that of the authority, to a folder."""
        folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        self._openssl(
            "-CA", self.certificate, "-CAkey", self.folder / "ca.key", "-days", "365",
            "-subj", f"/CN={address}", "-addext", f"subjectAltName=IP:{address}",
            "-addext", "basicConstraints=critical,CA:FALSE",
            "-keyout", folder / "broker.key", "-out", folder / "broker.crt",
        )  # fmt: skip
        shutil.copy(self.certificate, folder / "ca.crt")

    def _openssl(self, *words: str | Path) -> None:
        program = shutil.which("openssl")
        if program is None:
            raise MissingDependencyError("openssl is not installed: apt install openssl, or omit --tls")
        done = subprocess.run(
            [program, "req", "-x509", *KEY, *words],
            capture_output=True,
            text=True,
            check=False,
            umask=0o077,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise InputError(f"openssl cannot make a certificate: {last}; version 3 is needed")
