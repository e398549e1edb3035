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


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pip_audit") is None, reason="pip-audit is not installed")
def test_no_package_has_a_known_hole() -> None:
    """No installed package has a known vulnerability."""
    words = [
        sys.executable,
        "-m",
        "pip_audit",
        "--format",
        "json",
        "--progress-spinner",
        "off",
        "--skip-editable",
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        pytest.skip(f"pip-audit cannot work here: {done.stderr.strip().splitlines()[-1:]}")
    audited = [package for package in packages if "vulns" in package]
    if not audited:
        pytest.skip("no service with known vulnerabilities can be reached")
    holes = [(package["name"], hole["id"]) for package in audited for hole in package["vulns"]]
    assert not holes
