r"""The data pipeline on Spark: from raw subscription logs to datasets, profiles, samples and event streams.

Only this package imports pyspark, and only inside functions. Code that runs on executors uses DataFrames and
Arrow, so it runs the same in this process, on a cluster, or through Spark Connect.

>>> import tempfile
>>> from pathlib import Path
>>> import meshwright as mw
>>> with tempfile.TemporaryDirectory() as folder:
...     rows = Path(folder, "rows.csv")
...     _ = rows.write_text("node,topic\na,x\nb,x\nb,x\n")
...     _ = mw.pipeline.ingest(None, rows, f"{folder}/dataset")
...     mw.load(f"{folder}/dataset")
Interest(2 nodes, 1 topic, 2 subscriptions)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meshwright.pipeline.dataset.ingest import Outcome
    from meshwright.progress import Progress

__all__ = ["ingest"]


def ingest(
    spark: Any,
    source: Any,
    out: Any,
    *,
    max_bad: float = 0.1,
    allow_empty: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> Outcome:
    """Ingest files, or a table of a Spark session, into a dataset.

    Parameters
    ----------
    spark
        The Spark session; None: run in this process.
    source
        A DataFrame of the session, such as a table of a catalogue, of Delta or of Iceberg; or a path, a URL,
        or several.
    out
        The dataset folder to write, as a path or URL.
    max_bad
        The largest share of rows that may be quarantined.
    allow_empty
        Write a dataset without subscriptions if no row is kept; otherwise that is an `InputError`, and what
        is at `out` stays as it is.
    progress
        A callback for the progress.
    **reading
        The columns (`node`, `topic`, `time`, `operation`, `sequence`), for files the `format`, and the other
        fields of `Reading`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.csv"
    ...     _ = file.write_text("client,filter" + chr(10) + "a,x" + chr(10))
    ...     ingest(None, file, Path(folder) / "out", node="client", topic="filter").nodes
    1
    """
    from pathlib import Path

    from meshwright.pipeline.dataset.ingest import ingest as ingest_files
    from meshwright.pipeline.dataset.ingest import ingest_table
    from meshwright.pipeline.readers.formats import TABLE, Reading

    if hasattr(source, "mapInArrow"):
        table = Reading(TABLE, **reading)
        return ingest_table(source, out, table, max_bad=max_bad, allow_empty=allow_empty, progress=progress)
    sources = [source] if isinstance(source, (str, Path)) else list(source)
    how = Reading(**{name: value for name, value in reading.items() if value is not None})
    return ingest_files(spark, sources, out, how, max_bad=max_bad, allow_empty=allow_empty, progress=progress)
