"""What brokers say in their logs: by this, and by no sleeping, it is known when bridges are up."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from meshwright.deploy.config.wiring import OUT, client_id
from meshwright.errors import InputError, first_five

if TYPE_CHECKING:
    from meshwright.brokers.processes import Brokers
    from meshwright.deploy.config.wiring import Wiring

CONNECTED = re.compile(r"New (?:client|bridge) connected from \S+ as (.*) \(p\d+, c[01], k\d+")
ENDED = re.compile(r"Client (\S+)(?: \[\S+\])? (?:disconnected|closed its connection|has exceeded timeout)")
PAUSE = 0.01
GONE, RELOADED = "gone", "Reloading config."
"""What is said of a client that left, before its id; and by a broker that reads its files again.

It reads them before it does anything else, so that all that comes later is by what they say.
"""


class Logs:
    """The logs of running brokers, read as they grow."""

    def __init__(self, brokers: Brokers) -> None:
        self.brokers = brokers

    def marks(self, brokers: Iterable[str]) -> dict[str, int]:
        """Return how long the logs of these brokers are now; what comes later is after that."""
        found = {}
        for broker in brokers:
            file = self.brokers.log(broker)
            found[broker] = file.stat().st_size if file.exists() else 0
        return found

    def lines(self, broker: str, since: int = 0) -> list[str]:
        """Return what a broker said after a mark, without times; clients as `connected ID` and `gone ID`."""
        with self.brokers.log(broker).open("rb") as file:
            file.seek(since)
            text = file.read()
        said = []
        for line in text[: text.rfind(b"\n") + 1].decode(errors="replace").splitlines():
            words = line.partition(": ")[2]
            connected, ended = CONNECTED.match(words), ENDED.match(words)
            said.append(
                f"connected {connected[1]}" if connected else f"{GONE} {ended[1]}" if ended else words
            )
        return said

    def wait(
        self,
        wanted: Mapping[str, set[str]],
        since: Mapping[str, int],
        *,
        seconds: float = 30.0,
        idle: Callable[[], None] | None = None,
    ) -> None:
        """Wait until each broker has said all that is wanted of it after its mark.

        Raises
        ------
        InputError
            If a broker ends by itself, or something is not said in time.
        """
        left = {broker: set(lines) for broker, lines in wanted.items() if lines}
        end = time.monotonic() + seconds
        while True:
            for broker in list(left):
                left[broker] -= set(self.lines(broker, since.get(broker, 0)))
                if not left[broker]:
                    del left[broker]
            if not left:
                return
            self.brokers.check()
            if time.monotonic() > end:
                told = [f"{broker}: {line}" for broker, lines in left.items() for line in sorted(lines)]
                raise InputError(f"bridges are not up after {seconds:g} s; not said: {first_five(told)}")
            if idle is not None:
                idle()
            time.sleep(PAUSE)


def arrivals(wiring: Wiring, pairs: Iterable[tuple[str, str]], qos: int = 1) -> dict[str, set[str]]:
    """Return what listeners will say when these bridges are up: each subscription, or the connection."""
    wanted: dict[str, set[str]] = {}
    for dialler, listener in pairs:
        name = client_id(dialler, listener)
        topics = [topic for topic, way in wiring.bridges[dialler, listener].items() if way != OUT]
        said = {f"{name} {qos} {topic}" for topic in topics} or {f"connected {name}"}
        wanted.setdefault(listener, set()).update(said)
    return wanted
