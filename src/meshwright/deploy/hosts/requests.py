"""Requests to the process that runs a federation: to apply a plan, and to stop the change that is going on.

A request is a file in the federation's folder, and so is its answer. One client asks at a time. A request
that nobody has taken can be taken back; later, the change goes on without its client.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from meshwright.deploy.folder_store import is_supervised
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.rollout import Rollout
from meshwright.errors import GoesOnError, InputError, MeshwrightError
from meshwright.files.atomic import locked, new_file
from meshwright.files.schema import Line, parse_record
from meshwright.files.urls import local_path

REQUEST_FILE, TAKEN_FILE, STOP_FILE = "request.json", ".request", ".stop"
"""A change that somebody asks for, the same once it is taken, and the wish to stop the change."""
CLIENT_LOCK = ".client"
"""Locked by the process that asks for a change and waits for the answer."""
PAUSE, PATIENCE = 0.05, 120.0
"""Seconds between two looks at the folder, and until a request that nobody takes is given up."""


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


class UpdateAnswer(Struct, omit_defaults=True):
    """What the supervising process answers to a request."""

    changed: tuple[str, ...] = ()
    """The files that changed."""
    cut: dict[str, float] = {}
    """For how many seconds each topic was cut."""
    done: int = 0
    """How many waves are done."""
    waves: int = 0
    stopped: bool = False
    """Whether somebody stopped the change before its last wave."""
    error: str | None = None


def request_update(
    folder: Path,
    plan: str | Path,
    inventory: Inventory,
    *,
    allow_relays: bool = False,
    chosen: Mapping[str, str] | None = None,
) -> UpdateAnswer:
    """Ask the process that runs a federation to apply a plan, and return its answer.

    `chosen` may name another `profile`, `version`, or file with a `secret`.

    Raises
    ------
    InputError
        If it refuses, or ends before it answers.
    GoesOnError
        If this process is interrupted after the other one has begun.
    """
    number, local = uuid.uuid4().hex, local_path(plan)
    request = {
        "number": number,
        "plan": str(plan) if local is None else str(Path(local).absolute()),
        "relays": allow_relays,
        "places": {broker: endpoint.record() for broker, endpoint in inventory.endpoints.items()},
        **(chosen or {}),
    }
    file, answer_file = folder / REQUEST_FILE, folder / f"answer-{number}.json"
    with locked(folder / CLIENT_LOCK, f"the supervisor of {folder}"):
        end = time.monotonic() + PATIENCE
        waiting = False
        try:
            write_json(file, request)
            waiting = True
            while not answer_file.is_file():
                waiting = file.is_file()
                if not is_supervised(folder) or (waiting and time.monotonic() > end):
                    raise InputError(
                        f"the federation in {folder} does not answer: start it again and apply again"
                    )
                time.sleep(PAUSE)
            answer = parse_record(json.loads(answer_file.read_text(encoding="utf-8")), UpdateAnswer)
        except KeyboardInterrupt:
            if waiting and _withdraw(file):
                raise
            raise GoesOnError(_explain_interrupted(folder, request["plan"])) from None
        finally:
            # The next process that runs the federation must not find a request that nobody waits for.
            file.unlink(missing_ok=True)
            answer_file.unlink(missing_ok=True)
    if answer.error is not None:
        raise InputError(answer.error)
    return answer


def _withdraw(file: Path) -> bool:
    """Take a request back; return False if the other process has taken it."""
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    return True


def _explain_interrupted(folder: Path, plan: object) -> str:
    """Say what goes on, and how to follow and to stop it."""
    rollout = rollout_of(folder)
    at = "" if rollout is None else f", wave {rollout.done} of {len(rollout.waves)} now"
    again = f"meshwright apply {plan} {folder}"
    return (
        f"the change goes on in the process that runs {folder}{at}: {again} waits for its end, "
        f"and {again} --stop ends it after this wave"
    )


def request_stop(folder: Path) -> Rollout | None:
    """Stop the change of a running federation after its current wave, and wait for that.

    Returns the rollout that was stopped, or None if there is none, or it was in its last wave.

    Raises
    ------
    InputError
        If no process runs the federation.
    """
    file = folder / STOP_FILE
    try:
        if is_supervised(folder):
            file.touch()
            while file.is_file() and is_supervised(folder):
                time.sleep(PAUSE)
            return rollout_of(folder)
    finally:
        file.unlink(missing_ok=True)
    raise InputError(f"no process runs the brokers of {folder}: there is nothing to stop")


def explain_stop(done: int, waves: int) -> str:
    """Say in a line where a change was stopped, and how it goes on."""
    return (
        f"stopped after wave {done} of {waves}: apply the same plan to go on, or the former plan to go back"
    )


def rollout_of(folder: Path) -> Rollout | None:
    """Return the change of a federation that is under way; None if its manifest cannot be read."""
    try:
        return read_federation(folder).rollout
    except (MeshwrightError, OSError):
        return None


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a file, whole or not at all."""
    with new_file(file) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
