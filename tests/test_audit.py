"""Audits by other programs: bandit reads our code, pip-audit the packages that we use."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("bandit") is None, reason="bandit is not installed")
def test_bandit_finds_nothing() -> None:
    """Bandit finds nothing; what it may not look for is listed in pyproject.toml, each with a reason."""
    words = [sys.executable, "-m", "bandit", "-q", "-c", "pyproject.toml", "-r", "src"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def audited_and_holes(report: str) -> tuple[int, list[tuple[str, str]]]:
    """Return how many packages a report of pip-audit has answers for, and each known vulnerability."""
    audited = [package for package in json.loads(report)["dependencies"] if "vulns" in package]
    return len(audited), [(package["name"], hole["id"]) for package in audited for hole in package["vulns"]]


def test_reports_are_read() -> None:
    """A vulnerability in a report is found, and packages that the service does not know do not count."""
    hole = {"id": "PYSEC-2021-1", "fix_versions": ["1.1"], "aliases": [], "description": ""}
    packages = [
        {"name": "a", "version": "1.0", "vulns": [hole]},
        {"name": "b", "version": "1.0", "vulns": []},
        {"name": "c", "skip_reason": "Dependency not found on PyPI and could not be audited: c (1.0)"},
    ]
    report = json.dumps({"dependencies": packages, "fixes": []})
    assert audited_and_holes(report) == (2, [("a", "PYSEC-2021-1")])


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pip_audit") is None, reason="pip-audit is not installed")
def test_no_package_has_a_known_hole() -> None:
    """No installed package has a known vulnerability, by the first service that knows our packages.

    Without such a service the test is skipped, with what each of them said. A mirror of PyPI often has the
    packages but not what is known about them: then pip-audit ends well and has audited nothing.
    """
    said = []
    for service in ("pypi", "osv"):
        words = ["--vulnerability-service", service, "--format", "json", "--progress-spinner", "off"]
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", *words, "--skip-editable", "--timeout", "10"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        try:
            audited, holes = audited_and_holes(done.stdout)
        except ValueError:
            said.append(f"{service}: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}")
            continue
        if audited:
            assert not holes
            return
        said.append(f"{service} knows none of our packages")
    pytest.skip(f"no service with known vulnerabilities can be reached: {'; '.join(said)}")
