"""Reader of Mosquitto logs (1.4 to 2.0): follows the sessions of each broker and the filters they hold.

Mosquitto logs a subscribe as `ID QOS FILTER` and an unsubscribe as `ID FILTER`, both without a verb, and ids
and filters may contain spaces. Two rules resolve this:

- The client is the longest id at the beginning of the line that has connected before.
- If the rest of the line is a filter that the client holds, the line is an unsubscribe.

A clean session ends with its connection. A persistent session lasts until its client connects clean, until it
expires, or until the broker restarts without having saved it. Mosquitto does not log how long an MQTT 5
session outlives its connection; a session that began clean counts as clean. Bridges and `$SYS` filters are
left out. Lines of an unknown kind go to the quarantine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
import pyarrow as pa

from meshwright.errors import FormatError
from meshwright.filters.mqtt import unshared, why_invalid
from meshwright.pipeline.readers import text
from meshwright.pipeline.readers.broker_names import is_private, log_files
from meshwright.pipeline.readers.fields import INVALID_FILTER, NOT_UTF8, why_unusable
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.rows import Bad, Rows
from meshwright.pipeline.readers.sources import SourceFile, Stretch
from meshwright.pipeline.readers.times import parse_time

STAMP = re.compile(r"(\d{9,13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?): ")
CONNECTED = re.compile(
    r"New (client|bridge) connected from \S+ as (.*) \((?:p\d+, )?c([01]), k\d+(?:, u'.*')?\)\.$"
)
ENDED = re.compile(
    r"Client (.*?)(?: \[[^\]]*\])? (?:disconnected\b.*|closed its connection\."
    r"|has exceeded timeout, disconnecting\.|been disconnected by administrative action\.)$"
    r"|Socket error on client (.*), disconnecting\.$"
)
EXPIRED = re.compile(r"Expiring (?:persistent )?client (.*) due to timeout\.$")
STARTING = re.compile(r"mosquitto version \S+ starting$")
TERMINATING = re.compile(r"mosquitto version \S+ terminating$")
SHUTDOWN_SECONDS = 5.0
"""Sessions that end this shortly before a broker terminates end because of that."""
BEFORE_SHUTDOWN = "subscription from before the shutdown with which the log ends"
SAVING = re.compile(r"Saving in-memory database to ")
DETAIL = re.compile(r"\t|\|-| [├└]─")
"""The beginnings of lines that continue a message: topics at log level debug, details of plugins."""
BEGINNINGS = (
    "New connection from ",
    "Client connection from ",
    "Connecting bridge ",
    "Bridge ",
    "Connection Refused: ",
    "Plugin ",
    "dynsec: ",
    "mosquitto version ",
    "Config loaded ",
    "Using default config",
    "Opening ",
    "Loading ",
    "Load error: ",
    "Reloading ",
    "Starting in local only mode",
    "Create a configuration file ",
    "For more details see ",
    "If you are trying to bind ",
    "Error: ",
    "Error ",
    "Warning: ",
    "Notice: ",
    "Info: ",
    "Note: ",
    "Failed ",
    "Unable to ",
    "Could not ",
    "Unsupported ",
    "Internal log buffer ",
    "Received ",
    "Sending ",
    "Denied ",
    "Dropped too large ",
    "Dropping too large ",
    "Outgoing messages are being dropped ",
    "No will message ",
    "Will message ",
    "Reused message ID ",
    "Too high QoS in ",
    "Protocol error from ",
    "Bad socket ",
    "Bad client ",
    "Empty subscription string from ",
    "Empty unsubscription string from ",
    "ACL denying ",
    "OpenSSL ",
    "OCSP: ",
    "LWS: ",
    "http serving file ",
    "threshold too low, ",
)
"""The beginnings of all other messages."""
_OTHERS = re.compile(
    r"Client .* (?:already connected, closing old connection\.|connected with too large Will payload)$"
    r"|Invalid .* (?:from .*, disconnecting|in CONNECT from .*)\.$|The '\w+' option is now deprecated"
)


def is_message(text: str) -> bool:
    """Return whether a line, without its time, is a message of mosquitto.

    >>> is_message("New connection from ::1:5000 on port 1883."), is_message("meter 0 volt")
    (True, False)
    """
    kinds = (_OTHERS, CONNECTED, ENDED, EXPIRED, STARTING, SAVING)
    return text.startswith(BEGINNINGS) or any(kind.match(text) is not None for kind in kinds)


SUBSCRIBED = re.compile(r"([012]) (.+)$", re.DOTALL)
BROKEN = re.compile("[\ud800-\udfff]")
"""The characters that stand for invalid UTF-8 after decoding."""

UNKNOWN_CLIENT = "no such client has connected before"


@dataclass(frozen=True)
class Event:
    """A subscribe or unsubscribe in a log; `derived` if it follows from the end of a session."""

    client: str | None
    filter: str | None
    leaves: bool
    derived: bool = False
    reason: str | None = None


@dataclass
class Log:
    """The state of one broker after the lines read so far."""

    bridges: re.Pattern[str]
    """The pattern for client ids of bridges."""
    time: float | None = None
    sequence: int = 0
    """The number of lines read."""
    saved: bool = False
    """Whether the broker saved its sessions since it started."""
    clean: dict[str, bool] = field(default_factory=dict)
    """Every client that has connected, and whether its session is clean."""
    held: dict[str, dict[str, None]] = field(default_factory=dict)
    """The filters that each client holds, in order."""
    bridging: set[str] = field(default_factory=set)
    """The clients that are bridges."""
    stopped: bool = False
    """Whether the broker has terminated and not started again."""
    known: bool = False
    """Whether the current file has a line of mosquitto."""
    strange: bool = False
    """Whether the current file has a line of an unknown kind."""

    def read(self, line: bytes) -> Iterator[Event]:
        """Read the next line and yield its events."""
        decoded = line.decode("utf-8", "surrogateescape")
        self.sequence += 1
        stamp = STAMP.match(decoded)
        if stamp is not None:
            self.known = True
            stated = parse_time(stamp[1].replace(",", "."))
            # The lines of a log are in order, even if the clock was set back.
            self.time = stated if self.time is None else max(self.time, stated or self.time)
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
            self.stopped = False
            yield from self._restart()
        elif TERMINATING.match(text):
            self.stopped = True
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
            # An id such as `Bridge 7` looks like a message. If it is one, the client holds no such filter.
            if ends or subscribed is not None or not is_message(text):
                self.known = True
                yield from self._event(client, subscribed[2] if subscribed else said, subscribed is None)
                return
        if is_message(text):
            self.known = True
        elif text.strip() and not DETAIL.match(text):
            self.strange = True
            yield _bad_line(NOT_UTF8 if BROKEN.search(text) else UNKNOWN_CLIENT)

    def _event(self, client: str, name: str, leaves: bool) -> Iterator[Event]:
        if BROKEN.search(client) or BROKEN.search(name):
            yield _bad_line(NOT_UTF8)
        elif client not in self.bridging and not is_private(name):
            filters = self.held.setdefault(client, {})
            if leaves:
                filters.pop(name, None)
            else:
                filters[name] = None
            yield Event(client, name, leaves)

    def _client(self, text: str) -> str | None:
        """Return the longest known client id at the beginning of a text."""
        end = text.rfind(" ")
        while end > 0:
            if text[:end] in self.clean:
                return text[:end]
            end = text.rfind(" ", 0, end)
        return None


def _bad_line(reason: str) -> Event:
    return Event(None, None, leaves=False, reason=reason)


def log_shares(files: Sequence[SourceFile]) -> list[list[Stretch]]:
    """Return one share for each broker, with its logs from the oldest to the newest."""
    logs = log_files([file.path for file in files])
    ordered = sorted(range(len(files)), key=lambda i: (logs[i].broker, logs[i].order, logs[i].path))
    return [
        [Stretch(files[i].path, 0, files[i].size, i, True) for i in group]
        for _, group in groupby(ordered, key=lambda i: logs[i].broker)
    ]


def read_log(broker: str, logs: Sequence[Stretch], reading: Reading) -> Iterator[Rows]:
    """Yield the rows of the logs of a broker: the bad lines of each, and at the end what clients hold.

    A subscription stays as often as a client has asked for it since it dropped it last. If the log ends with
    the broker's shutdown, the sessions that the shutdown ended still count.
    """
    log = Log(re.compile(reading.bridges))
    held: dict[tuple[str, str], int] = {}
    # What ended with its session, when, and how often it was held: a shutdown ends all sessions.
    ended: list[tuple[float | None, tuple[str, str], int]] = []
    for stretch in logs:
        bad, read, timed, lines = Bad(), 0, 0, 0
        for window in text.windows(stretch):
            for place, line in enumerate(window.lines(), start=window.first):
                for event in log.read(line[: text.LONGEST_LINE + 1]):
                    reason = event.reason or _why_unusable(event)
                    read += not event.derived
                    if reason is not None:
                        if not event.derived:
                            bad.add(place, line, reason)
                        continue
                    timed += log.time is not None and not event.derived
                    key = (str(event.client), str(event.filter))
                    if event.derived and key in held:
                        ended.append((log.time, key, held[key]))
                    elif not event.leaves:
                        ended.clear()
                    _apply(held, event, log.time, reading.as_of)
            lines += len(window)
        _check_known(log, stretch.path)
        yield _rows(stretch, lines, [], bad, read, timed)
    restored: Counter[str] = Counter()
    if log.stopped and reading.as_of is None:
        last = log.time or 0.0
        for when, key, times in ended:
            if (when or last) >= last - SHUTDOWN_SECONDS and key not in held:
                held[key] = times
                restored[BEFORE_SHUTDOWN] += 1
    standing = [key for key, times in held.items() for _ in range(times)]
    pairs = [
        (broker if reading.node_from == "broker" else client, unshared(name)) for client, name in standing
    ]
    yield replace(_rows(logs[-1], 0, pairs, Bad(), 0, 0), cleaned=restored)


def _why_unusable(event: Event) -> str | None:
    """Return why an event cannot be used: its names are checked, and its filter."""
    topic = None if event.filter is None else unshared(event.filter)
    reason = why_unusable(event.client, "node") or why_unusable(topic, "topic")
    return reason or (None if topic is None or why_invalid(topic) is None else INVALID_FILTER)


def _apply(held: dict[tuple[str, str], int], event: Event, time: float | None, as_of: float | None) -> None:
    """Count the subscribes of a client to a filter since it dropped it last."""
    if as_of is not None and time is not None and time > as_of:
        return
    key = (str(event.client), str(event.filter))
    if event.leaves:
        held.pop(key, None)
    else:
        held[key] = held.get(key, 0) + 1


def _rows(
    stretch: Stretch, lines: int, pairs: list[tuple[str, str]], bad: Bad, read: int, timed: int
) -> Rows:
    nodes, topics = (pa.array([pair[i] for pair in pairs], pa.string()).dictionary_encode() for i in (0, 1))
    stated = {"time": timed, "operation": read - len(bad.places), "sequence": read - len(bad.places)}
    places = np.zeros(len(pairs), dtype=np.int64)
    return Rows(stretch, lines, places, nodes, topics, None, None, None, bad, read, stated, Counter())


def _check_known(log: Log, source: str) -> None:
    """Refuse a file without any line of mosquitto, and reset the flags for the next file."""
    if log.strange and not log.known:
        raise FormatError(
            f"{source} has no line in the format of mosquitto, such as `1700000000: meter 0 volt`: leave it "
            "out, decompress it, or log again without log_timestamp_format"
        )
    log.known = log.strange = False
