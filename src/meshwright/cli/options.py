"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from meshwright.actions.sources import FileColumns, TopicChoice
from meshwright.actions.spark import SparkOptions
from meshwright.cli.main import Words

Source: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="DATASET|FILE",
        help="A dataset folder, or a CSV, JSON-lines or Parquet file with columns node and topic.",
    ),
]

Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="The same seed gives the same result.")
]

Costs: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--costs",
        metavar="FILE",
        help="Link costs: a CSV or Parquet file with columns u, v, cost for pairs, or node, x, y.",
    ),
]

Metric: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--metric", help="Reject costs where a detour is cheaper than the direct link; takes n³ steps."
    ),
]

Certify: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--certify",
        help="Prove how few links are needed, and at which degree; the proof is kept with the plan.",
    ),
]

Threads: TypeAlias = Annotated[
    int,
    typer.Option("--threads", metavar="N", min=1, max=1024, help="Number of threads; the plan is the same."),
]


def delimiter_character(given: str) -> str:
    """Return the separator that a user names."""
    return "\t" if given == "tab" else given


NoHeader: TypeAlias = Annotated[
    bool, typer.Option("--no-header", help="CSV without a header: node, then topic.")
]

ExcludeTopic: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--exclude-topic", metavar="FILTER", help="Leave this filter out; can be repeated."),
]

AllowEmpty: TypeAlias = Annotated[
    bool, typer.Option("--allow-empty", help="Accept no subscriptions: write what is empty, and exit with 0.")
]

Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace a different plan that is already there.")
]

MaxBad: TypeAlias = Annotated[
    float,
    typer.Option("--max-bad", metavar="SHARE", min=0, max=1, help="Fail if more rows than this are bad."),
]

Secret: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--secret", metavar="FILE", help="Add passwords and access lists, derived from this file's content."
    ),
]


def chart_of(figures: str) -> Any:
    """Return the option that draws figures, as help names them."""
    return typer.Option("--chart", metavar="FILE", help=f"Draw {figures}: a .png, .svg or .pdf file.")


INVENTORY = "CSV or YAML with broker, host, port, tls; by default all brokers are on this machine."
InventoryFile: TypeAlias = Annotated[Path | None, typer.Option("--inventory", metavar="FILE", help=INVENTORY)]

BROKER_WORDS: dict[str, str | tuple[Any, ...]] = {
    "inventory": ("FILE", INVENTORY),
    "secret": ("FILE", "Add passwords and access lists, derived from this file's content."),
    "insecure": "Accept brokers beyond this machine without passwords, or with passwords but no TLS.",
    "allow_relays": "Let brokers carry topics that they do not subscribe to.",
}
"""Words for what operators choose for brokers, in several commands."""

AllowRelays: TypeAlias = Annotated[
    bool, typer.Option("--allow-relays", help="Let brokers carry topics that they do not subscribe to.")
]

TOPIC_KIND = (
    "mqtt|plain",
    "Topics are MQTT filters or plain names; by default as the dataset says, or as they look.",
)
DELIMITER = (
    "C",
    "The separator of CSV columns, or tab; by default from file names.",
    {"parser": delimiter_character},
)
NODE, TOPIC = ("COLUMN", "The column of nodes."), ("COLUMN", "The column of topics.")
"""Words that several groups of options share."""

Columns: TypeAlias = Annotated[
    FileColumns,
    Words(node=NODE, topic=TOPIC, delimiter=DELIMITER, no_header="CSV without a header: node, then topic."),
]

Topics: TypeAlias = Annotated[
    TopicChoice,
    Words(
        topic_kind=TOPIC_KIND,
        exclude=(
            "FILTER|unusable",
            "Leave this filter out; can be repeated; unusable: all that no bridge can carry, such as with "
            "spaces.",
            {"flag": "--exclude-topic"},
        ),
        expand=(
            "FILTER|auto",
            "Replace this catch-all by the filters that it covers, so that it does not join them; can be "
            "repeated; auto: all that cover more than half of the filters.",
        ),
        rates=(
            "TRAFFIC",
            "With --expand: replace a catch-all by published topics too; a folder made by traffic.",
        ),
    ),
]

Spark: TypeAlias = Annotated[
    SparkOptions,
    Words(
        master=(
            "URL",
            "Where Spark runs: local[*] by default, spark://host:7077, yarn, k8s://…, sc://host:15002.",
        ),
        conf=("KEY=VALUE", "A Spark setting; can be repeated."),
    ),
]
