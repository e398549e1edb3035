"""What all tests share: hypothesis draws the same examples in every run, by no clock; one Spark session.

Where tests run in several processes, those of a folder stay together, since they need the same kernels, and
so do all that use Spark. The groups that take longest come first. Of two processes that need the same kernel,
one waits while the other compiles it: the tests with Spark start with those of the pipeline, which need few.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from benchmarks.golden import Golden
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Engine: TypeAlias = "SparkSession | None"

SPARK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "1m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""The settings of the Spark session that tests share; nothing that grows may pass through its driver.

Spark compiles no code for queries here: that takes longer than a few rows. Tests of clusters do not use this.
"""

LONGEST = ("spark", "cli", "designs", "greedy")
"""The groups of tests that take longest."""

gc.set_threshold(50_000, 20, 20)  # compiling kernels makes many small objects: a tenth less time

# Shells make background jobs ignore Ctrl-C, and commands that tests interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("meshwright", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=400)  # by make test-slow, each time others
settings.load_profile("meshwright")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that records golden files."""
    parser.addoption("--record", action="store_true", help="record the answers in tests/golden/ again")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return what requires the recorded answers of a golden file, or records them with `--record`."""

    def require(name: str, found: Mapping[str, Any], within: str = "*") -> None:
        answers = Golden(name)
        if request.config.getoption("--record"):
            answers.record(found, within)
        assert not answers.differences(found, within)

    return require


@pytest.hookimpl(tryfirst=True)  # before the marks are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say which tests belong into one process, and sort them by these groups."""
    groups = {}
    for item in items:
        names = getattr(item, "fixturenames", ())
        groups[item] = "spark" if {"spark", "engine"} & {*names} else Path(item.path).parent.name
        item.add_marker(pytest.mark.xdist_group(groups[item]))

    def turn(item: pytest.Item) -> tuple[int, bool]:
        group = groups[item]
        place = LONGEST.index(group) if group in LONGEST else len(LONGEST)
        return place, group == "spark" and "pipeline" not in item.path.parts

    items.sort(key=turn)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start the one Spark session of the suite: two cores, few and small tasks.

    Java compiles quickly rather than well, because each query runs once, on few rows: half the time.
    """
    from meshwright.pipeline.session.start import session

    started = session("local[2]", conf=SPARK)
    yield started
    started.stop()


@pytest.fixture(params=["process", "spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Return where a test runs: in this process, and on the one Spark session of the suite."""
    found: Engine = None if request.param == "process" else request.getfixturevalue("spark")
    return found
