"""A federation that keeps running and applies new plans on request.

The supervising process looks for a request file in the federation's folder, applies it, and writes an answer
file. So all brokers have one parent process, which stops them when it ends.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.deploy.config.change import plan_change
from meshwright.deploy.config.inventory import Endpoint, Inventory
from meshwright.deploy.config.named_trees import read_named_trees
from meshwright.deploy.federation.update import apply_delta
from meshwright.errors import InputError, MeshwrightError
from meshwright.files.atomic import new_file

if TYPE_CHECKING:
    from meshwright.deploy.federation.run import RunningFederation

LOCK_FILE, REQUEST_FILE = "running.json", "request.json"
PAUSE, PATIENCE = 0.05, 120.0
"""Seconds between two looks at the folder, and until a request is given up."""


def is_supervised(folder: Path) -> bool:
    """Return whether a live process keeps a federation running from this folder: it holds a lock there.

    Raises
    ------
    InputError
        If the lock file belongs to another user and cannot be read.
    """
    import fcntl

    try:
        with (folder / LOCK_FILE).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    except PermissionError as error:
        raise InputError(
            f"cannot read {folder / LOCK_FILE}: run this as the user who runs the federation"
        ) from error
    return False


def require_stopped(folder: Path) -> None:
    """Refuse a folder whose federation is running: writing it again would pull it from under the brokers."""
    if is_supervised(folder):
        raise InputError(f"the federation in {folder} is running: stop it, or use meshwright apply")


@contextmanager
def _hold_lock(file: Path) -> Iterator[None]:
    """Hold the lock that says that this process runs the federation; the system frees it if we die."""
    import fcntl

    with file.open("w", encoding="utf-8") as opened:
        # Blocks only for a moment, while another process checks the lock.
        fcntl.flock(opened, fcntl.LOCK_EX)
        json.dump({"pid": os.getpid()}, opened)
        opened.flush()
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def request_update(
    folder: Path,
    plan: Path,
    inventory: Inventory,
    *,
    allow_relays: bool = False,
) -> list[str]:
    """Ask the process that runs a federation to apply a plan, and return the files that changed.

    Raises
    ------
    InputError
        If it refuses, or ends before it answers.
    """
    number = uuid.uuid4().hex
    request = {
        "number": number,
        "plan": str(plan.absolute()),
        "relays": allow_relays,
        "places": {broker: vars(endpoint) for broker, endpoint in inventory.endpoints.items()},
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
    """Keep a federation running and apply requests until `until` returns true; `report` takes outcomes."""
    folder = federation.brokers.folder
    with _hold_lock(folder / LOCK_FILE):
        while not until():
            federation.brokers.check()
            if (folder / REQUEST_FILE).is_file():
                request = json.loads((folder / REQUEST_FILE).read_text(encoding="utf-8"))
                (folder / REQUEST_FILE).unlink()
                answer = _apply_request(federation, request)
                if report is not None:
                    report(answer.get("error") or f"{len(answer['changed'])} files changed")
                _write_json(folder / f"answer-{request['number']}.json", answer)
            time.sleep(PAUSE)


def _apply_request(federation: RunningFederation, request: dict[str, Any]) -> dict[str, Any]:
    """Apply a request to the running brokers and their folders; return the answer."""
    settings = federation.settings
    try:
        trees = read_named_trees(request["plan"], allow_relays=request["relays"])
        places = {broker: Endpoint.from_record(fields) for broker, fields in request["places"].items()}
        change = plan_change(federation.brokers.folder, trees, settings, Inventory(places))
        return {"changed": apply_delta(change.delta, trees, change.inventory, federation)}
    except MeshwrightError as error:
        return {"error": str(error)}


def _write_json(file: Path, content: dict[str, Any]) -> None:
    with new_file(file) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
