"""`meshwright traffic`: turns publish logs into rates, on Spark."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Json, MaxBad, ShowProgress, TimeColumn, TopicColumn
from meshwright.cli.spark import Conf, Master

EXAMPLES = (
    "meshwright traffic 'published/*.csv.gz' --out traffic",
    "meshwright traffic messages.jsonl --value price --low 0 --high 500 --channels 50 --out traffic",
)


def traffic(
    sources: Annotated[
        list[str], typer.Argument(metavar="SRC…", help="Publish logs in csv, jsonl or parquet; also globs.")
    ],
    *,
    out: Annotated[Path, typer.Option("--out", metavar="TRAFFIC", help="The folder to write to.")],
    kind: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="csv, jsonl or parquet; by default from file names."),
    ] = None,
    publisher: Annotated[
        str, typer.Option("--publisher", metavar="COLUMN", help="The column of publishers.")
    ] = "publisher",
    topic: TopicColumn = "topic",
    size: Annotated[
        str | None, typer.Option("--size", metavar="COLUMN", help="The column of bytes; 'size' by default.")
    ] = None,
    time: TimeColumn = None,
    value: Annotated[
        str | None,
        typer.Option("--value", metavar="COLUMN", help="The column of content values, instead of topics."),
    ] = None,
    channels: Annotated[
        int, typer.Option("--channels", metavar="C", help="The number of channels of the content space.")
    ] = 100,
    low: Annotated[float, typer.Option("--low", metavar="X", help="Where the content space begins.")] = 0.0,
    high: Annotated[float, typer.Option("--high", metavar="X", help="Where the content space ends.")] = 1.0,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", metavar="S", help="The length of the logs; by default from first to last message."
        ),
    ] = None,
    max_bad: MaxBad = 0.1,
    master: Master = None,
    conf: Conf = None,
    progress: ShowProgress = False,
    json: Json = False,
) -> None:
    """Sum up publish logs: messages, bytes and rates per publisher and channel, and per channel."""
    from meshwright.cli import output
    from meshwright.cli.output import check_target
    from meshwright.cli.spark import StageDrawing, open_session
    from meshwright.pipeline.dataset.publications import Publications
    from meshwright.pipeline.dataset.publications import traffic as sum_traffic
    from meshwright.pipeline.readers.quarantine import count_reasons
    from meshwright.store.traffic import write_traffic

    asked = Publications(
        format=kind,
        publisher=publisher,
        topic=topic,
        size=size,
        time=time,
        value=value,
        channels=channels,
        low=low,
        high=high,
        seconds=seconds,
    )
    check_target(out, "traffic")
    spark = open_session(master, conf)
    with StageDrawing(forced=progress) as drawing:
        made = sum_traffic(spark, sources, asked, max_bad=max_bad, progress=drawing)
    write_traffic(made, out)
    counts = made.described["counts"]
    reasons = {} if made.quarantine is None else count_reasons(made.quarantine)
    if json:
        found = {
            "publishers": len(made.publishers),
            "channels": made.channels.num_rows,
            "reasons": reasons,
        }
        output.answer_json({**counts, **found, "seconds": made.described["seconds"], "traffic": str(out)})
    else:
        output.answer(
            f"{len(made.publishers):,} publishers, {made.channels.num_rows:,} channels, "
            f"{counts['kept']:,} messages in {made.described['seconds']:,.1f} s",
            f"read {counts['read']:,} rows = {counts['kept']:,} kept + {counts['quarantined']:,} quarantined",
            *output.format_reasons(reasons),
            f"written to {out}",
        )
