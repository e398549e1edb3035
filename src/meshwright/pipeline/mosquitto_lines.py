"""What the lines of a mosquitto log mean, one after another: sessions, and the filters they hold.

A subscription is logged as `ID QOS FILTER` and its end as `ID FILTER`, without a verb, and both ids and
filters may hold spaces: the longest client id that has connected before is taken. A clean session ends with
its connection; a persistent one goes on until it connects clean, expires, or the broker restarts without
having saved it. How long a session of MQTT 5 outlives its connection is not logged: if it began clean, it is
taken to end as a clean one does. Bridges, and filters such as `$SYS/#`, do not concern a federation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from meshwright.pipeline.brokers import is_private, topic_of
from meshwright.pipeline.options import moment

STAMP = re.compile(r"(\d{9,13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?): ")
CONNECTED = re.compile(
    r"New (client|bridge) connected from \S+ as (.*) \(p\d+, c([01]), k\d+(?:, u'.*')?\)\.$"
)
ENDED = re.compile(
    r"Client (.*?)(?: \[[^\]]*\])? (?:disconnected\b.*|closed its connection\."
    r"|has exceeded timeout, disconnecting\.|been disconnected by administrative action\.)$"
)
BROKEN = re.compile(r"Socket error on client (.*), disconnecting\.$")
EXPIRED = re.compile(r"Expiring (?:persistent )?client (.*) due to timeout\.$")
STARTING = re.compile(r"mosquitto version \S+ starting$")
SAVING = re.compile(r"Saving in-memory database to ")
SUBSCRIBED = re.compile(r"([012]) (.+)$", re.DOTALL)
NO_EVENT = re.compile(
    r"(New connection from |Client .* already connected, closing old connection\.|mosquitto version "
    r"|Config loaded |Opening |Loading |Reloading |Warning: |Error: |Notice: |Info: |Connecting bridge "
    r"|Bridge |Received |Sending |No will message |Will message |OpenSSL |Bad socket |Denied |Plugin "
    r"|Starting in local only mode|\|)"
)
LOOKS_LIKE_EVENT = re.compile(r"\S.* [012] \S+$|\S+ \S+$")

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

    def read(self, line: str) -> Iterator[Event]:
        """Take the next line, and yield what it means."""
        self.sequence += 1
        stamp = STAMP.match(line)
        if stamp is not None:
            told = moment(stamp[1].replace(",", "."))
            # A log is in order, its clock may be set back.
            self.time = told if self.time is None else max(self.time, told or self.time)
        text = line[stamp.end() :] if stamp else line
        connected = CONNECTED.match(text)
        ended = ENDED.match(text) or BROKEN.match(text)
        expired = EXPIRED.match(text)
        if connected is not None:
            yield from self._connect(connected[2], connected[3] == "1", connected[1] == "bridge")
        elif ended is not None and ended[1] in self.clean:
            yield from self._drop(ended[1]) if self.clean[ended[1]] else ()
        elif expired is not None:
            yield from self._drop(expired[1])
        elif STARTING.match(text):
            yield from self._restart()
        elif SAVING.match(text):
            self.saved = True
        elif not NO_EVENT.match(text):
            yield from self._event(text)

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

    def _event(self, text: str) -> Iterator[Event]:
        client = self._client(text)
        if client is None:
            if LOOKS_LIKE_EVENT.match(text):
                yield Event(None, None, leaves=False, reason=UNKNOWN_CLIENT)
            return
        subscribed = SUBSCRIBED.match(text[len(client) + 1 :])
        name = subscribed[2] if subscribed else text[len(client) + 1 :]
        if client in self.bridging or is_private(topic_of(name)):
            return
        filters = self.held.setdefault(client, {})
        if subscribed:
            filters[name] = None
        else:
            filters.pop(name, None)
        yield Event(client, name, leaves=subscribed is None)

    def _client(self, text: str) -> str | None:
        """Return the longest client id known that the text begins with."""
        end = text.rfind(" ")
        while end > 0:
            if text[:end] in self.clean:
                return text[:end]
            end = text.rfind(" ", 0, end)
        return None
