"""What `doctor` looks for."""

from __future__ import annotations

import importlib.metadata

import pytest

from meshwright.actions.doctor import Checkup, Finding, _pyspark, _try


def test_a_missing_package_has_a_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is missing has a pip command."""

    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    found = _try("PySpark", _pyspark, "Spark")
    assert (found.found, found.help) == ("", "pip install pyspark")


def test_only_what_everything_needs_is_required() -> None:
    """A checkup fails if something is missing that every design needs, and only then."""
    python, java = Finding("Python", "3.12", "everything"), Finding("Java", "", "ingest", "install it")
    assert Checkup((python, java)).passed
    assert not Checkup((Finding("Python", "", "everything"), java)).passed
    assert [one["ok"] for one in Checkup((python, java)).to_dict()["checks"]] == [True, False]
