"""What all tests share: hypothesis draws the same examples in every run, by no clock; one Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("meshwright", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("meshwright")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start the one Spark session of the suite: two cores, few and small tasks."""
    from meshwright.pipeline.session import session

    settings = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
    started = session("local[2]", conf=settings)
    yield started
    started.stop()
