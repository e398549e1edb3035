"""Which broker a log belongs to, and what its filters mean for the federation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

SHARED = re.compile(r"\$share/[^/]*/(.+)$|\$queue/(.+)$", re.DOTALL)
PRIVATE = re.compile(r"\$|_INBOX\.")


class LogFile(NamedTuple):
    """A log, the broker that wrote it, and where it stands among that broker's logs: the oldest first."""

    path: str
    broker: str
    order: int


def logs_of(paths: Sequence[str]) -> list[LogFile]:
    """Name the broker of each log: the file's name, or its folder's where files of several folders share one.

    A rotated log (`NAME.log.2`, then `.1`, then `NAME.log`) goes on in the next one.

    >>> [(log.broker, log.order) for log in logs_of(["/a/x.log", "/a/x.log.2.gz", "/a/y.log"])]
    [('x', 0), ('x', -2), ('y', 0)]
    >>> [log.broker for log in logs_of(["/berlin/mosquitto.log", "/oslo/mosquitto.log"])]
    ['berlin', 'oslo']
    """
    found = []
    for path in map(PurePosixPath, paths):
        bare = re.sub(r"\.(gz|bz2)$", "", path.name)
        rotated = re.search(r"\.(\d+)$", bare)
        stem = re.sub(r"(\.log)?(\.\d+)?$", "", bare) or bare
        found.append((str(path), str(path.parent), stem, -int(rotated[1]) if rotated else 0))
    folders = Counter(stem for _, stem in {(folder, stem) for _, folder, stem, _ in found})
    return [
        LogFile(path, stem if folders[stem] == 1 else PurePosixPath(folder).name, order)
        for path, folder, stem, order in found
    ]


def topic_of(held: str) -> str:
    """Return the topic that a filter asks for: that of a shared subscription is without its group.

    >>> topic_of("$share/workers/jobs/+"), topic_of("a/b")
    ('jobs/+', 'a/b')
    """
    shared = SHARED.match(held)
    return (shared[1] or shared[2]) if shared else held


def is_private(topic: str) -> bool:
    """Tell whether a topic never leaves its broker or client: `$SYS/…`, an inbox of NATS."""
    return PRIVATE.match(topic) is not None
