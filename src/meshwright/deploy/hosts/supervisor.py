"""A federation that keeps running and applies new plans on request.

`request_update` writes a request file to the federation's folder. The supervising process looks for one,
applies it, and writes an answer file. So all brokers have one parent process, which stops them when it ends.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from meshwright.brokers.processes import Brokers
from meshwright.deploy.change import plan_change
from meshwright.deploy.folder_store import FederationFolder, hold_running, is_supervised
from meshwright.deploy.hosts.local import RunningFederation
from meshwright.deploy.hosts.update import apply_change
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import read_named_trees
from meshwright.errors import InputError, MeshwrightError
from meshwright.files.atomic import new_file
from meshwright.files.header import parse_json
from meshwright.files.schema import Line, parse_record
from meshwright.files.urls import local_path

REQUEST_FILE = "request.json"
PAUSE, PATIENCE = 0.05, 120.0
"""Seconds between two looks at the folder, and until a request is given up."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
"""Seconds before a broker that ended is started again: the first time, and after many times."""
CALM = 60.0
"""Seconds after which a broker that was started again counts as healthy."""
ENDED = "ended", "starting it again", "started again"
SUSPENDED = "is suspended", "resuming it", "resumed"
"""What is wrong with a broker, what will be done, and what was done."""
NUMBER = re.compile("[0-9A-Za-z]{1,64}")
"""What the number of a request looks like; it becomes part of a file name."""


class Request(Struct, forbid_unknown_fields=True):
    """What `request.json` asks for."""

    number: str
    plan: Line
    relays: bool
    places: dict[Line, Endpoint]
    profile: str | None = None
    version: str | None = None
    secret: Line | None = None
    """A file with another secret."""


def request_update(
    folder: Path,
    plan: str | Path,
    inventory: Inventory,
    *,
    allow_relays: bool = False,
    chosen: Mapping[str, str] | None = None,
) -> list[str]:
    """Ask the process that runs a federation to apply a plan, and return the files that changed.

    `chosen` may name another `profile`, `version`, or file with a `secret`.

    Raises
    ------
    InputError
        If it refuses, or ends before it answers.
    """
    number, local = uuid.uuid4().hex, local_path(plan)
    request = {
        "number": number,
        "plan": str(plan) if local is None else str(Path(local).absolute()),
        "relays": allow_relays,
        "places": {broker: endpoint.record() for broker, endpoint in inventory.endpoints.items()},
        **(chosen or {}),
    }
    answer_file = folder / f"answer-{number}.json"
    end = time.monotonic() + PATIENCE
    try:
        _write_json(folder / REQUEST_FILE, request)
        while not answer_file.is_file():
            if not is_supervised(folder) or time.monotonic() > end:
                raise InputError(
                    f"the federation in {folder} does not answer: start it again and apply again"
                )
            time.sleep(PAUSE)
        answer: dict[str, Any] = json.loads(answer_file.read_text(encoding="utf-8"))
    finally:
        # The next process that runs the federation must not find a request that nobody waits for.
        (folder / REQUEST_FILE).unlink(missing_ok=True)
        answer_file.unlink(missing_ok=True)
    if "error" in answer:
        raise InputError(answer["error"])
    changed: list[str] = answer["changed"]
    return changed


def supervise(
    federation: RunningFederation,
    *,
    until: Callable[[], bool],
    report: Callable[[str], None] | None = None,
) -> None:
    """Keep a federation running and apply requests until `until` returns true; `report` takes outcomes.

    A broker that ends is started again, and one that a signal suspends is resumed, after a pause that doubles
    each time. A request that cannot be read
    or applied is answered, and changes nothing.
    """
    say = report or (lambda _: None)
    folder = federation.brokers.folder
    restarts = Restarts(federation.brokers, say)
    with hold_running(folder):
        while not until():
            restarts.look()
            if (folder / REQUEST_FILE).is_file():
                federation = _answer_request(federation, folder, say)
            time.sleep(PAUSE)


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
    federation: RunningFederation, folder: Path, say: Callable[[str], None]
) -> RunningFederation:
    """Take a request out of the folder, apply it and write an answer, whatever the request holds.

    Returns the federation with its settings after that.
    """
    file = folder / REQUEST_FILE
    try:
        request = parse_json(file.read_text(encoding="utf-8"))
        number = request["number"]
        if not NUMBER.fullmatch(number):
            raise ValueError(f"number {number!r}")
    except (OSError, ValueError, TypeError, KeyError) as error:
        file.unlink(missing_ok=True)
        say(f"ignored a request that cannot be read: {type(error).__name__}: {error}")
        return federation
    file.unlink(missing_ok=True)
    federation, answer = _apply_request(federation, request)
    say(answer.get("error") or f"{len(answer['changed'])} files changed")
    with suppress(MeshwrightError, OSError):  # nobody may be waiting any more, or the disk may be full
        _write_json(folder / f"answer-{number}.json", answer)
    return federation


def _apply_request(
    federation: RunningFederation, request: dict[str, Any]
) -> tuple[RunningFederation, dict[str, Any]]:
    """Apply a request to the running brokers and their folders; return the federation and the answer.

    A change that was refused leaves the settings as they were. One that has begun goes on with the new ones.
    """
    changing = federation
    try:
        asked = parse_record(request, Request)
        trees = read_named_trees(asked.plan, allow_relays=asked.relays)
        settings = federation.settings.changed(asked.profile, asked.version, asked.secret)
        store = FederationFolder(federation.brokers.folder)
        change = plan_change(store, trees, settings, Inventory(asked.places))
        changing = replace(federation, settings=settings, inventory=change.inventory)
        return changing, {"changed": apply_change(change, changing)}
    except (MeshwrightError, OSError) as error:
        answer = str(error)
    except MemoryError:
        answer = "out of memory"
    except ValueError as error:
        answer = f"the request is not complete: {error}"
    return (changing if _is_changing(federation.brokers.folder) else federation), {"error": answer}


def _is_changing(folder: Path) -> bool:
    """Return whether a change of a federation is under way; False if its manifest cannot be read."""
    try:
        return read_federation(folder).rollout is not None
    except (MeshwrightError, OSError):
        return False


def _write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a file, whole or not at all."""
    with new_file(file) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
