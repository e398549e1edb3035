"""Which broker a log belongs to, and what its filters mean for the federation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SHARED = re.compile(r"\$share/[^/]*/(.+)$|\$queue/(.+)$", re.DOTALL)
PRIVATE = re.compile(r"\$SYS(/|$)")
ROTATED = re.compile(r"\.(?P<turn>\d+)$|(?<=\.log)-(?P<date>\d{4}-?\d\d-?\d\d(?:-?\d{2,6})?)$")
"""How logrotate names logs that are no longer written: by number, or (`dateext`) by date."""


class LogFile(NamedTuple):
    """A log, the broker that wrote it, and where it stands among that broker's logs: the oldest first."""

    path: str
    broker: str
    order: int


def logs_of(paths: Sequence[str]) -> list[LogFile]:
    """Name the broker of each log: the file's name, or what tells it from others of that name.

    That is its folder's name, or else as much of the end of its path as it takes. A rotated log
    (`NAME.log.2`, then `.1`, then `NAME.log`; or `NAME.log-20240101`, then `NAME.log`) goes on in the next.

    >>> [(log.broker, log.order) for log in logs_of(["/a/x.log", "/a/x.log.2.gz", "/a/y.log"])]
    [('x', 0), ('x', -2), ('y', 0)]
    >>> [log.broker for log in logs_of(["/berlin/mosquitto.log", "/oslo/mosquitto.log"])]
    ['berlin', 'oslo']
    >>> [log.broker for log in logs_of(["/a/hub/mosquitto.log", "/b/hub/mosquitto.log"])]
    ['a/hub', 'b/hub']
    """
    found = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        bare = re.sub(r"\.(gz|bz2)$", "", name)
        rotated = ROTATED.search(bare)
        whole = bare[: rotated.start()] if rotated else bare
        found.append((path, (folder, whole.removesuffix(".log") or bare), _order(rotated)))
    names = _told_apart({series for _, series, _ in found})
    return [LogFile(path, names[series], order) for path, series, order in found]


def _order(rotated: re.Match[str] | None) -> int:
    if rotated is None:
        return 0
    if rotated["turn"]:
        return -int(rotated["turn"])
    # Dates rise, and all are before what is written now.
    return int(rotated["date"].replace("-", "").ljust(14, "0")) - 10**14


def _told_apart(series: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Name logs, given by folder and file, by the first of their possible names that no other has."""
    names: dict[tuple[str, str], str] = {}
    left = {one: _possible_names(*one) for one in series}
    while left:
        tried = {one: next(possible) for one, possible in left.items()}
        taken = Counter([*tried.values(), *names.values()])
        names |= {one: name for one, name in tried.items() if taken[name] == 1}
        left = {one: possible for one, possible in left.items() if one not in names}
    return names


def _possible_names(folder: str, file: str) -> Iterator[str]:
    """Yield shorter names before longer ones; the whole path, at last, nobody shares."""
    parts = [part for part in folder.split("/") if part]
    yield file
    for begin in range(len(parts) - 1, -1, -1):
        yield "/".join(parts[begin:])
        yield "/".join([*parts[begin:], file])
    yield f"{folder}/{file}"


def topic_of(held: str) -> str:
    """Return the topic that a filter asks for: that of a shared subscription is without its group.

    >>> topic_of("$share/workers/jobs/+"), topic_of("a/b")
    ('jobs/+', 'a/b')
    """
    shared = SHARED.match(held)
    return (shared[1] or shared[2]) if shared else held


def is_private(topic: str) -> bool:
    """Tell whether a topic of MQTT never leaves its broker: `$SYS/…`."""
    return PRIVATE.match(topic) is not None
