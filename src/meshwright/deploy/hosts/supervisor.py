"""A federation that keeps running and applies new plans on request.

The supervising process takes a request from the federation's folder, applies it under the folder's lock, and
writes an answer. So all brokers have one parent process, which stops them when it ends. A wish to stop, or
Ctrl-C of this process, ends a change after its current wave; the manifest says how far the change is.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from meshwright.brokers.processes import Brokers
from meshwright.deploy.change import plan_change
from meshwright.deploy.folder_store import FederationFolder, hold_running, is_locked
from meshwright.deploy.hosts.local import RunningFederation
from meshwright.deploy.hosts.requests import (
    CLIENT_LOCK,
    PAUSE,
    REQUEST_FILE,
    STOP_FILE,
    TAKEN_FILE,
    Request,
    UpdateAnswer,
    explain_stop,
    rollout_of,
    write_json,
)
from meshwright.deploy.hosts.update import apply_change
from meshwright.deploy.inventory import Inventory
from meshwright.deploy.named_trees import read_named_trees
from meshwright.errors import MeshwrightError
from meshwright.files.header import parse_json
from meshwright.files.schema import parse_record
from meshwright.formatting import counted

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
"""Seconds before a broker that ended is started again: the first time, and after many times."""
CALM = 60.0
"""Seconds after which a broker that was started again counts as healthy."""
ENDED = "ended", "starting it again", "started again"
SUSPENDED = "is suspended", "resuming it", "resumed"
"""What is wrong with a broker, what will be done, and what was done."""
NUMBER = re.compile("[0-9A-Za-z]{1,64}")
"""What the number of a request looks like; it becomes part of a file name."""


def supervise(
    federation: RunningFederation,
    *,
    until: Callable[[], bool],
    report: Callable[[str], None] | None = None,
) -> None:
    """Keep a federation running and apply requests until `until` returns true; `report` takes outcomes.

    A broker that ends is started again, and one that a signal suspends is resumed, after a pause that doubles
    each time. A request that cannot be read or applied is answered, and changes nothing. Ctrl-C during a
    change takes effect after the current wave.
    """
    say = report or (lambda _: None)
    folder = federation.brokers.folder
    restarts = Restarts(federation.brokers, say)
    with hold_running(folder):
        while not until():
            restarts.look()
            if (folder / REQUEST_FILE).is_file():
                with _interrupts_deferred() as interrupted:
                    federation = _answer_request(federation, folder, say, interrupted)
            (folder / STOP_FILE).unlink(missing_ok=True)
            time.sleep(PAUSE)


@contextmanager
def _interrupts_deferred() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; it takes effect at the end.

    A second one takes effect at once. Only the main thread receives signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    seen: list[int] = []

    def note_interrupt(number: int, _: object) -> None:
        seen.append(number)
        if len(seen) > 1:
            raise KeyboardInterrupt

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ours = [number for number, handler in handlers.items() if callable(handler)]
    for number in ours:
        signal.signal(number, note_interrupt)
    try:
        yield lambda: bool(seen)
    finally:
        for number in ours:
            signal.signal(number, handlers[number])
    if seen:
        raise KeyboardInterrupt


class Restarts:
    """Starts brokers again that ended, and resumes suspended ones, with growing pauses, and counts."""

    def __init__(self, brokers: Brokers, report: Callable[[str], None]) -> None:
        self.counts: Counter[str] = Counter()
        """How often each broker was started again or resumed."""
        self._brokers, self._report = brokers, report
        self._due: dict[str, float] = {}
        self._pauses: dict[str, float] = {}
        self._started: dict[str, float] = {}

    def look(self) -> None:
        """Heal the brokers whose pause is over, and begin one for those that ended or stand still."""
        now, ended = time.monotonic(), self._brokers.ended()
        suspended = dict.fromkeys(self._brokers.suspended(), "a signal such as SIGSTOP")
        for broker, reason in {**suspended, **ended}.items():
            what, act, done = ENDED if broker in ended else SUSPENDED
            if broker not in self._due:
                started = self._started.get(broker)
                calm = started is None or now - started > CALM
                pause = FIRST_PAUSE if calm else min(2 * self._pauses[broker], LONGEST_PAUSE)
                self._pauses[broker], self._due[broker] = pause, now + pause
                self._report(f"broker {broker!r} {what}: {reason}; {act} in {pause:g} s")
            elif now >= self._due[broker]:
                del self._due[broker]
                self._started[broker] = now
                self.counts[broker] += 1
                try:
                    (self._brokers.start if broker in ended else self._brokers.resume)(broker)
                    self._report(f"broker {broker!r} was {done}, {self.counts[broker]} times so far")
                except (MeshwrightError, OSError) as error:
                    self._report(f"broker {broker!r} cannot be started: {error}")
        # Brokers that a change removed, or that somebody resumed, are forgotten.
        self._due = {broker: due for broker, due in self._due.items() if broker in {**suspended, **ended}}


def _answer_request(
    federation: RunningFederation, folder: Path, say: Callable[[str], None], interrupted: Callable[[], bool]
) -> RunningFederation:
    """Take a request out of the folder, apply it and write an answer, whatever the request holds.

    Returns the federation with its settings after that.
    """
    taken = folder / TAKEN_FILE
    for stale in folder.glob("answer-*.json"):
        stale.unlink(missing_ok=True)  # whoever asked is gone: there is one client at a time
    try:
        (folder / REQUEST_FILE).rename(taken)
    except FileNotFoundError:  # withdrawn
        return federation
    try:
        request = parse_json(taken.read_text(encoding="utf-8"))
        number = request["number"]
        if not NUMBER.fullmatch(number):
            raise ValueError(f"number {number!r}")
    except (OSError, ValueError, TypeError, KeyError) as error:
        say(f"ignored a request that cannot be read: {type(error).__name__}: {error}")
        return federation
    finally:
        taken.unlink(missing_ok=True)
    federation, answer = _apply_request(
        federation, request, lambda: interrupted() or (folder / STOP_FILE).exists()
    )
    done = explain_stop(answer.done, answer.waves) if answer.stopped else None
    say(answer.error or done or f"{counted(len(answer.changed), 'file')} changed")
    with suppress(MeshwrightError, OSError):  # the disk may be full
        if is_locked(folder / CLIENT_LOCK):
            write_json(folder / f"answer-{number}.json", msgspec.to_builtins(answer))
    return federation


def _apply_request(
    federation: RunningFederation, request: dict[str, Any], stop: Callable[[], bool] = lambda: False
) -> tuple[RunningFederation, UpdateAnswer]:
    """Apply a request to the running brokers and their folders; return the federation and the answer.

    A change that was refused leaves the settings as they were. One that has begun goes on with the new ones.
    """
    changing = federation
    folder = federation.brokers.folder
    try:
        asked = parse_record(request, Request)
        trees = read_named_trees(asked.plan, allow_relays=asked.relays)
        settings = federation.settings.changed(asked.profile, asked.version, asked.secret)
        store = FederationFolder(folder)
        with store.lock():
            change = plan_change(store, trees, settings, Inventory(asked.places), together=True)
            changing = replace(federation, settings=settings, inventory=change.inventory)
            update = apply_change(change, changing, stop=stop)
        cut = {topic: round(ended - began, 3) for topic, (began, ended) in sorted(update.cut.items())}
        waves = len(change.rollout.waves)
        return changing, UpdateAnswer(tuple(update.changed), cut, update.waves, waves, update.stopped)
    except (MeshwrightError, OSError) as error:
        answer = str(error)
    except MemoryError:
        answer = "out of memory"
    except ValueError as error:
        answer = f"the request is not complete: {error}"
    return (federation if rollout_of(folder) is None else changing), UpdateAnswer(error=answer)
