"""Rows that are exchanged go to the partition that they name, on every version of Spark."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from meshwright.pipeline.dataflow import SparkFlow, make_batch, partition_keys, send

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_each_part_has_a_partition_of_its_own(spark: SparkSession, adaptive: str) -> None:
    """A row lands in the partition whose number it states, also where Spark may merge small partitions."""
    from pyspark.sql import functions as sf

    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        for parts in (1, 2, 7, 60):
            rows = [
                make_batch("part int, cell binary", part=[part, part], cell=[b"a", None])
                for part in range(parts)
            ]
            flow = send(spark, rows, "part int, cell binary").exchange(parts, "part")
            assert isinstance(flow, SparkFlow)
            placed = flow.frame.select("part", sf.spark_partition_id().alias("place")).collect()
            assert Counter((row.part, row.place) for row in placed) == {
                (part, part): 2 for part in range(parts)
            }
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", str(before))


@pytest.mark.parametrize("parts", [1, 2, 3, 64, 1000])
def test_every_partition_has_a_key(parts: int) -> None:
    """There are as many keys as partitions, all different, and the same in every process."""
    keys = partition_keys(parts)
    assert len(set(keys)) == parts
    assert min(keys) >= 0
    assert max(keys) < np.iinfo(np.int32).max
