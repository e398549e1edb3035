"""What the lines of a mosquitto log mean, one after another: sessions, and the filters they hold.

A subscription is logged as `ID QOS FILTER` and its end as `ID FILTER`, without a verb, and both ids and
filters may hold spaces: the longest client id that has connected before is taken, and a line that names the
whole of a filter that is held is its end. A clean session ends with its connection; a persistent one goes on
until it connects clean, expires, or the broker restarts without having saved it. How long a session of MQTT 5
outlives its connection is not logged: if it began clean, it is taken to end as a clean one does. Bridges, and
filters of `$SYS`, do not concern a federation. A line of no known kind is set aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from meshwright.pipeline.brokers import is_private, topic_of
from meshwright.pipeline.mosquitto_messages import (
    CONNECTED,
    DETAIL,
    ENDED,
    EXPIRED,
    SAVING,
    STAMP,
    STARTING,
    is_message,
)
from meshwright.pipeline.options import moment
from meshwright.pipeline.rows import NOT_UTF8

SUBSCRIBED = re.compile(r"([012]) (.+)$", re.DOTALL)
BROKEN = re.compile("[\ud800-\udfff]")
"""What bytes that are not UTF-8 are decoded to."""

UNKNOWN_CLIENT = "no such client has connected before"


@dataclass(frozen=True)
class Event:
    """One row of a log, or (`derived`) what the end of a session means for one filter."""

    client: str | None
    filter: str | None
    leaves: bool
    derived: bool = False
    reason: str | None = None


@dataclass
class Log:
    """The state of one broker, as its log tells it."""

    bridges: re.Pattern[str]
    time: float | None = None
    sequence: int = 0
    saved: bool = False
    clean: dict[str, bool] = field(default_factory=dict)
    held: dict[str, dict[str, None]] = field(default_factory=dict)
    bridging: set[str] = field(default_factory=set)
    known: bool = False
    """Whether some line is surely mosquitto's."""
    strange: bool = False
    """Whether some line may be anybody's."""

    def read(self, line: bytes) -> Iterator[Event]:
        """Take the next line, and yield what it means."""
        decoded = line.decode("utf-8", "surrogateescape")
        self.sequence += 1
        stamp = STAMP.match(decoded)
        if stamp is not None:
            self.known = True
            told = moment(stamp[1].replace(",", "."))
            # A log is in order, its clock may be set back.
            self.time = told if self.time is None else max(self.time, told or self.time)
        text = decoded[stamp.end() :] if stamp else decoded
        connected = CONNECTED.match(text)
        ended = ENDED.match(text)
        gone = (ended[1] or ended[2]) if ended is not None else None
        expired = EXPIRED.match(text)
        if connected is not None:
            yield from self._connect(connected[2], connected[3] == "1", connected[1] == "bridge")
        elif gone in self.clean:
            yield from self._drop(gone) if self.clean[gone] else ()
        elif expired is not None:
            yield from self._drop(expired[1])
        elif STARTING.match(text):
            yield from self._restart()
        elif SAVING.match(text):
            self.saved = True
        else:
            yield from self._other(text)
            return
        self.known = True

    def _connect(self, client: str, clean: bool, bridge: bool) -> Iterator[Event]:
        if clean:
            yield from self._drop(client)
        self.clean[client] = clean
        if bridge or self.bridges.search(client):
            self.bridging.add(client)

    def _drop(self, client: str) -> Iterator[Event]:
        for name in self.held.pop(client, {}):
            yield Event(client, name, leaves=True, derived=True)

    def _restart(self) -> Iterator[Event]:
        for client in list(self.held):
            if self.clean[client] or not self.saved:
                yield from self._drop(client)
        self.saved = False

    def _other(self, text: str) -> Iterator[Event]:
        client = self._client(text)
        if client is not None:
            said = text[len(client) + 1 :]
            ends = said in self.held.get(client, {})
            subscribed = None if ends else SUBSCRIBED.match(said)
            # Ids such as `Bridge 7` read like messages: what such a client never held, it cannot leave.
            if ends or subscribed is not None or not is_message(text):
                self.known = True
                yield from self._event(client, subscribed[2] if subscribed else said, subscribed is None)
                return
        if is_message(text):
            self.known = True
        elif text.strip() and not DETAIL.match(text):
            self.strange = True
            yield _aside(NOT_UTF8 if BROKEN.search(text) else UNKNOWN_CLIENT)

    def _event(self, client: str, name: str, leaves: bool) -> Iterator[Event]:
        if BROKEN.search(client) or BROKEN.search(name):
            yield _aside(NOT_UTF8)
        elif client not in self.bridging and not is_private(topic_of(name)):
            filters = self.held.setdefault(client, {})
            if leaves:
                filters.pop(name, None)
            else:
                filters[name] = None
            yield Event(client, name, leaves)

    def _client(self, text: str) -> str | None:
        """Return the longest client id known that the text begins with."""
        end = text.rfind(" ")
        while end > 0:
            if text[:end] in self.clean:
                return text[:end]
            end = text.rfind(" ", 0, end)
        return None


def _aside(reason: str) -> Event:
    return Event(None, None, leaves=False, reason=reason)
