"""Init: begin a project with a file that explains itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshwright.errors import InputError, OutputError
from meshwright.formatting import hide_secrets

TEMPLATE = """\
# A Meshwright project. In this folder and below it, plan, route, verify, report, export, diff and apply need
# no arguments: they read this file. `meshwright status` says what is out of date. Paths are relative to here.

[subscriptions]
# A file with columns node and topic (CSV, JSON lines, Parquet), or a dataset folder:
source = {source}
# Or raw logs, which `meshwright plan` ingests into the dataset below when they have changed:
# logs = ["logs/*.log"]
# format = "mosquitto"            # by default from the names of the files
# node = "node"                   # the columns
# topic = "topic"
# delimiter = ","
# header = true
# topic_kind = "mqtt"             # mqtt: topics are filters; plain: names; by default as they look
# exclude = ["$SYS/#"]            # MQTT filters that are left out
# expand = ["#"]                  # catch-alls that are replaced by what they cover
# skip_unusable = false           # leave out filters that no bridge can carry

[publications]
# Messages a second, for routes: a folder made by `meshwright traffic`, or publish logs, which are summed up.
# traffic = "traffic"
# logs = ["published/*.csv.gz"]
# format = "csv"

[design]
algorithm = "low"                 # `meshwright advise` helps to choose
seed = 0
threads = 1
certify = false                   # prove how few links are needed
# costs = "places.csv"            # what links cost
# Limits and other parameters of the design, by their names in Python:
# max_degree = 20
# seconds = 60                    # best: how long to search

[routes]
objective = "hops"                # hops, load (with publications) or stable
# today = "plan-in-use"           # stable: the plan whose trees are in use

[target]
{inventory}                       # addresses of brokers; by default all are on this machine
# kind = "mosquitto"              # what `meshwright export` writes
# version = "2.0"                 # the oldest version in use
# profile = "plain"               # durable: messages wait while a link is down
# secret = "secret.txt"           # passwords of bridges are derived from it; keep it out of git
# insecure = false                # accept brokers beyond this machine without protection
# allow_relays = false            # accept brokers that pass on what they do not subscribe to

[outputs]
dataset = "dataset"               # what logs are ingested into
traffic = "traffic"               # what publish logs are summed up into
plan = "plan"
federation = "federation"
# report = "plan.html"            # by default in the plan's folder
"""
"""The file that `init` writes: every table and key, with its meaning."""


@dataclass(frozen=True)
class Begun:
    """A new project file."""

    file: Path
    source: str

    def to_dict(self) -> dict[str, Any]:
        """Return the file and its source for a JSON answer."""
        return {"project": str(self.file), "source": self.source}

    @property
    def lines(self) -> list[str]:
        """Lines for people."""
        return [f"written to {self.file}: look it through, then run meshwright plan"]


def init(
    source: str = "subscriptions.csv",
    *,
    folder: Path | None = None,
    inventory: str | None = None,
    force: bool = False,
) -> Begun:
    """Write a project file with comments into a folder, by default the current one.

    Raises
    ------
    OutputError
        If one is there, unless `force` is given.
    """
    from meshwright.files.atomic import new_file
    from meshwright.store.project_file import NAME

    file = (folder or Path()) / NAME
    for place in (source, inventory or ""):
        if hide_secrets(place) != place:
            raise InputError(
                f"{place} has secrets, and a project file is shared: leave them out, and set them in the "
                "environment, as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
    if file.exists() and not force:
        raise OutputError(f"{file} is there already: edit it, or replace it with --force")
    quoted = json.dumps(source, ensure_ascii=False)
    addresses = (
        '# inventory = "brokers.csv"'
        if inventory is None
        else f"inventory = {json.dumps(inventory, ensure_ascii=False)}"
    )
    with new_file(file) as beside:
        beside.write_text(TEMPLATE.format(source=quoted, inventory=addresses), encoding="utf-8")
    return Begun(file, source)
