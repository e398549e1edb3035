"""Subscribe and unsubscribe events, folded to the state at a moment.

Of each node and topic the events are ordered by time, then sequence, then where they stood. The last
unsubscribe and all before it are superseded, and so is whatever is later than the moment. Of the subscribes
after it one is kept and the others are duplicates. So each row has exactly one fate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def folded(rows: DataFrame, as_of: float | None = None) -> DataFrame:
    """Return the rows that hold at `as_of` (seconds since 1970), or at the end; the others are superseded.

    Rows that say the same of the same holder are all returned: repetitions are dropped, and counted, later.
    A row without a time counts as earlier than all that have one.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    seen = rows if as_of is None else rows.where(sf.col("time").isNull() | (sf.col("time") <= as_of))
    latest_first = [
        sf.col(name).desc_nulls_last() for name in ("time", "sequence", "source", "block", "place")
    ]
    of_the_same = Window.partitionBy("broker", "node", sf.coalesce("held", "topic")).orderBy(*latest_first)
    leaves = sf.coalesce("leaves", sf.lit(False))
    undone = sf.max(leaves).over(of_the_same.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return seen.withColumn("undone", undone).where(~sf.col("undone")).drop("undone")
