"""Broker names from the paths of logs, and filters that never leave a broker."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from meshwright.files.urls import is_url, split_options
from meshwright.filters.mqtt import unshared
from meshwright.formatting import hide_secrets

PRIVATE = re.compile(r"\$SYS(/|$)")
ROTATED = re.compile(r"\.(?P<turn>\d+)$|(?<=\.log)-(?P<date>\d{4}-?\d\d-?\d\d(?:-?\d{2,6})?)$")
"""The suffix that logrotate appends to old logs: a number or, with `dateext`, a date."""


class LogFile(NamedTuple):
    """A log, the broker that wrote it, and its order among the logs of that broker, the oldest first."""

    path: str
    broker: str
    order: int


def log_files(paths: Sequence[str]) -> list[LogFile]:
    """Return the broker and the order of each log.

    A broker has the name of its log file. If several files have that name, it has the name of the folder, or
    the shortest end of the path that is unique. Rotated logs belong together: `NAME.log.2`, `NAME.log.1`,
    `NAME.log`, or `NAME.log-20240101`, `NAME.log`.

    >>> [(log.broker, log.order) for log in log_files(["/a/x.log", "/a/x.log.2.gz", "/a/y.log"])]
    [('x', 0), ('x', -2), ('y', 0)]
    >>> [log.broker for log in log_files(["/berlin/mosquitto.log", "/oslo/mosquitto.log"])]
    ['berlin', 'oslo']
    >>> [log.broker for log in log_files(["/a/hub/mosquitto.log", "/b/hub/mosquitto.log"])]
    ['a/hub', 'b/hub']
    """
    found = []
    for path in paths:
        readable = unquote(split_options(hide_secrets(path))[0]) if is_url(path) else path
        folder, _, name = readable.rpartition("/")
        bare = re.sub(r"\.(gz|bz2)$", "", name)
        rotated = ROTATED.search(bare)
        whole = bare[: rotated.start()] if rotated else bare
        found.append((path, (folder, whole.removesuffix(".log") or bare), _order(rotated)))
    names = _unique_names({series for _, series, _ in found})
    return [LogFile(path, names[series], order) for path, series, order in found]


def _order(rotated: re.Match[str] | None) -> int:
    """Return the order of a log among the logs of its broker: 0 for the current one, below for older ones."""
    if rotated is None:
        return 0
    if rotated["turn"]:
        return -int(rotated["turn"])
    # Dates ascend, and all of them are before the current log.
    return int(rotated["date"].replace("-", "").ljust(14, "0")) - 10**14


def _unique_names(series: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a unique name for each log (folder, file): the first candidate that no other log has."""
    names: dict[tuple[str, str], str] = {}
    left = {one: _candidate_names(*one) for one in series}
    while left:
        tried = {one: next(possible) for one, possible in left.items()}
        taken = Counter([*tried.values(), *names.values()])
        names |= {one: name for one, name in tried.items() if taken[name] == 1}
        left = {one: possible for one, possible in left.items() if one not in names}
    return names


def _candidate_names(folder: str, file: str) -> Iterator[str]:
    """Yield names from short to long; the last one, the whole path, is unique."""
    parts = [part for part in folder.split("/") if part]
    yield file
    for begin in range(len(parts) - 1, -1, -1):
        yield "/".join(parts[begin:])
        yield "/".join([*parts[begin:], file])
    yield f"{folder}/{file}"


def is_private(held: str) -> bool:
    """Return whether the topics of an MQTT filter never leave their broker: `$SYS/…`.

    >>> is_private("$SYS/broker/load"), is_private("$share/workers/$SYS/#"), is_private("a/b")
    (True, True, False)
    """
    return PRIVATE.match(unshared(held)) is not None
