"""`meshwright doctor`: what is there, and how to get what is not."""

from __future__ import annotations

import json
import os
import shlex
import shutil

import pytest

from meshwright.cli import trials
from terminal import meshwright


def test_it_names_what_is_there() -> None:
    """Tests run, so Python, folders and the cache are found."""
    answer = meshwright("doctor", "--json")
    found = {one["name"]: one for one in json.loads(answer.out)["checks"]}
    assert answer.code == 0
    assert all(found[name]["ok"] for name in ("Python", "current folder", "temporary folder", "PySpark"))
    assert set(found) >= {"Java", "Mosquitto", "browser", "kernel cache"}


def test_what_is_missing_has_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Mosquitto and a browser, the lines say how to install them; designs still run."""
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    answer = meshwright("doctor")
    assert answer.code == 0
    assert "apt install mosquitto" in answer.out
    assert "apt install chromium" in answer.out


def test_what_everything_needs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be written ends with 1."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    answer = meshwright("doctor")
    assert answer.code == 1
    assert "missing; needed for everything: make " in answer.out


@pytest.mark.usefixtures("spark")
def test_the_examples_run() -> None:
    """Both examples run; `--spark` really counts on Spark."""
    answers = [meshwright(*shlex.split(example)[1:]) for example in [*trials.DOCTOR_EXAMPLES]]
    assert [answer.code for answer in answers] == [0, 0]
    assert ["counted to 1000" in answer.out for answer in answers] == [False, True]
