"""Broker logs: they show when bridges are up and changes have taken effect, so nothing waits by sleeping."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping

from meshwright.brokers.processes import Brokers, read_log
from meshwright.deploy.observations import (
    FILTER_CARRIED,
    FILTER_DROPPED,
    LINK_GONE,
    LINK_UP,
    LISTENING,
    Observation,
)
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.wiring import IDENTITY, client_id
from meshwright.errors import InputError, first_five

CONNECTED = re.compile(r"New (?:client|bridge) connected from \S+ as (.*) \(p\d+, c[01], k\d+")
DISCONNECTED = re.compile(
    r"Client (\S+)(?: \[\S+\])? (?:disconnected|closed its connection|has exceeded timeout)"
)
SECRET_PART = re.compile(rf"\b((?:local\.)?meshwright\.\S+>\S+?)\.[0-9a-f]{{{IDENTITY}}}\b")
"""The id of a bridge with the part that cannot be guessed."""
GONE = "gone"
"""The word before the id of a client that disconnected."""
RELOADED = "Reloading config."
"""The line of a broker that reads its files again. It reads them before it does anything else, so all later
lines follow the new configuration."""
PAUSE = 0.01
"""Seconds between two looks at the logs."""


class Logs:
    """The logs of running brokers, read as they grow."""

    def __init__(self, brokers: Brokers, settings: BrokerSettings | None = None) -> None:
        self.brokers, self.qos = brokers, 1 if settings is None else settings.qos

    def positions(self, brokers: Iterable[str]) -> dict[str, int]:
        """Return the current lengths of these brokers' logs; later lines come after them."""
        lengths = {}
        for broker in brokers:
            file = self.brokers.log(broker)
            lengths[broker] = file.stat().st_size if file.exists() else 0
        return lengths

    def lines(self, broker: str, since: int = 0) -> list[str]:
        """Return a broker's complete log lines after a position, without their times.

        Connections of clients become `connected ID`, their ends `gone ID`.
        """
        text = read_log(self.brokers.log(broker), since)
        lines = []
        for line in text[: text.rfind(b"\n") + 1].decode(errors="replace").splitlines():
            words = SECRET_PART.sub(r"\1", line.partition(": ")[2])
            # A broker at an IPv6 address says so, in the same words.
            words = words.replace("Opening ipv6 listen", "Opening ipv4 listen")
            if connected := CONNECTED.match(words):
                lines.append(f"connected {connected[1]}")
            elif disconnected := DISCONNECTED.match(words):
                lines.append(f"{GONE} {disconnected[1]}")
            else:
                lines.append(words)
        return lines

    def wait(
        self,
        wanted: Mapping[str, set[Observation]],
        since: Mapping[str, int],
        *,
        seconds: float = 30.0,
        while_waiting: Callable[[], None] | None = None,
    ) -> dict[tuple[str, Observation], float]:
        """Wait until each broker has logged all that is wanted after its position; return when it did.

        `while_waiting` is called between two looks at the logs.

        Raises
        ------
        InputError
            If a broker stops by itself, or lines are still missing after `seconds`.
        """
        missing = {
            broker: {_log_line(each, self.qos): each for each in seen}
            for broker, seen in wanted.items()
            if seen
        }
        shown: dict[tuple[str, Observation], float] = {}
        end = time.monotonic() + seconds
        while True:
            for broker in list(missing):
                for line in missing[broker].keys() & set(self.lines(broker, since.get(broker, 0))):
                    shown[broker, missing[broker].pop(line)] = time.monotonic()
                if not missing[broker]:
                    del missing[broker]
            if not missing:
                return shown
            self.brokers.check()
            if time.monotonic() > end:
                listed = [f"{broker}: {line}" for broker, lines in missing.items() for line in sorted(lines)]
                raise InputError(
                    f"bridges are not up after {seconds:g} s: see broker.log in the folders; "
                    f"lines not logged: {first_five(listed)}"
                )
            if while_waiting is not None:
                while_waiting()
            time.sleep(PAUSE)


def log_lines(observations: Iterable[Observation], qos: int) -> set[str]:
    """Return the lines by which a broker's log shows what is wanted, as `Logs.lines` returns them."""
    return {_log_line(seen, qos) for seen in observations}


def _log_line(seen: Observation, qos: int) -> str:
    """Return the line of one observation."""
    name = "" if seen.link is None else client_id(*seen.link)
    return {
        LISTENING: f"Opening ipv4 listen socket on port {seen.what}.",
        LINK_UP: f"connected {name}",
        LINK_GONE: f"{GONE} {name}",
        FILTER_CARRIED: f"{name} {qos} {seen.what}",
        FILTER_DROPPED: f"{name} {seen.what}",
    }.get(seen.kind, RELOADED)
