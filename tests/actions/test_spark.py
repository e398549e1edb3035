"""Where Spark runs, and whether it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meshwright.actions.spark import SparkOptions
from meshwright.errors import InputError


def test_spark_settings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """--conf KEY=VALUE reaches the session, with any = in the value; anything else is refused."""
    found: list[Any] = []
    monkeypatch.setattr(
        "meshwright.pipeline.session.start.session", lambda *given, **more: found.append((given, more))
    )
    SparkOptions("local[2]", ["a=b=c", "d="]).open()
    assert found == [(("local[2]",), {"conf": {"a": "b=c", "d": ""}, "connect_timeout": 30.0})]
    SparkOptions(conf=["spark.meshwright.connectTimeout=2.5"]).open()
    assert found[1:] == [((None,), {"conf": {}, "connect_timeout": 2.5})]
    with pytest.raises(InputError, match=r"connectTimeout is 'long': give a number of seconds"):
        SparkOptions(conf=["spark.meshwright.connectTimeout=long"]).open()
    for wrong in ("a", "=b", ""):
        with pytest.raises(InputError, match="is not KEY=VALUE"):
            SparkOptions(conf=[wrong]).open()


@pytest.fixture
def _no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on this machine asks for Spark."""
    for name in ("SPARK_REMOTE", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_no_wish")
def test_small_data_stay_here_unless_spark_is_wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Spark starts for large data, and if an option, a variable or the settings of Spark ask for it."""
    opened: list[SparkOptions] = []

    def open_session(asked: SparkOptions, _: object) -> object:
        opened.append(asked)
        return asked

    monkeypatch.setattr(SparkOptions, "open", open_session)
    assert SparkOptions().open_unless(small=True) is None
    assert opened == []
    assert SparkOptions().open_unless(small=False)
    for asking in (SparkOptions("local[2]"), SparkOptions(conf=["a=b"]), SparkOptions(always=True)):
        assert asking.open_unless(small=True)
    (tmp_path / "spark-defaults.conf").write_text("spark.master local[1]\n", encoding="utf-8")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert SparkOptions().wanted
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.setenv("SPARK_REMOTE", "sc://head:15002")
    assert SparkOptions().wanted


@pytest.mark.usefixtures("_no_wish")
def test_a_service_lists_files_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a Connect service is one, by its URL or the variable."""
    assert not SparkOptions("spark://head:7077").is_service
    assert SparkOptions("sc://head:15002").is_service
    monkeypatch.setenv("SPARK_REMOTE", "sc://head:15002")
    assert SparkOptions().is_service
