"""A federation that keeps running, and changes when it is asked to.

Whoever runs it looks for a request in its folder, does what that asks, and leaves an answer. So brokers have
one parent, which ends them all when it ends.
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

from meshwright.deploy.config.delta import delta
from meshwright.deploy.config.folders import read_federation
from meshwright.deploy.config.inventory import Inventory, Place
from meshwright.deploy.config.routed import Routed
from meshwright.deploy.config.wiring import rewire
from meshwright.deploy.federation.update import perform, update_folders
from meshwright.errors import InputError, MeshwrightError
from meshwright.files.single import new_file
from meshwright.store import read_trees

if TYPE_CHECKING:
    from meshwright.deploy.federation.run import Running

KEPT, REQUEST = "running.json", "request.json"
PAUSE, PATIENCE = 0.05, 120.0


def is_kept(folder: Path) -> bool:
    """Say whether a process that lives keeps a federation running from this folder: it holds a lock there.

    Raises
    ------
    InputError
        If that file is another user's, and may not be looked at.
    """
    import fcntl

    try:
        with (folder / KEPT).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    except PermissionError as error:
        raise InputError(f"cannot read {folder / KEPT}: be the user that keeps the federation") from error
    return False


def check_free(folder: Path) -> None:
    """Refuse a folder whose federation is kept running: to write it anew would take it from under that."""
    if is_kept(folder):
        raise InputError(
            f"the federation in {folder} is kept running: end it, or go there by meshwright apply"
        )


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold a file that says who we are; the system lets go of it when this process ends, however it does."""
    import fcntl

    with file.open("w", encoding="utf-8") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)  # who only looks holds it for a moment
        json.dump({"pid": os.getpid()}, opened)
        opened.flush()
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def ask(
    folder: Path, plan: Path, places: Inventory, *, overlaps: str = "refuse", relays: bool = False
) -> list[str]:
    """Ask whoever runs a federation to go to a plan, and return the files that changed.

    Raises
    ------
    InputError
        If it refuses, or ends meanwhile.
    """
    number = uuid.uuid4().hex
    request = {
        "number": number,
        "plan": str(plan.absolute()),
        "overlaps": overlaps,
        "relays": relays,
        "places": {broker: vars(place) for broker, place in places.places.items()},
    }
    answer = folder / f"answer-{number}.json"
    end = time.monotonic() + PATIENCE
    try:
        _put(folder / REQUEST, request)
        while not answer.is_file():
            if not is_kept(folder) or time.monotonic() > end:
                raise InputError(
                    f"the federation in {folder} does not answer: start it again and apply again"
                )
            time.sleep(PAUSE)
        told: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    finally:
        (folder / REQUEST).unlink(missing_ok=True)  # else the next one who keeps it would do it
        answer.unlink(missing_ok=True)
    if "error" in told:
        raise InputError(told["error"])
    changed: list[str] = told["changed"]
    return changed


def keep(here: Running, *, until: Callable[[], bool], tell: Callable[[str], None] | None = None) -> None:
    """Keep a federation running and do what it is asked to, until told otherwise."""
    folder = here.brokers.folder
    with _locked(folder / KEPT):
        while not until():
            here.brokers.check()
            if (folder / REQUEST).is_file():
                request = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
                (folder / REQUEST).unlink()
                told = _done(here, request)
                if tell is not None:
                    tell(told.get("error") or f"{len(told['changed'])} files changed")
                _put(folder / f"answer-{request['number']}.json", told)
            time.sleep(PAUSE)


def _done(here: Running, request: dict[str, Any]) -> dict[str, Any]:
    folder = here.brokers.folder
    try:
        before = read_federation(folder)
        trees = read_trees(request["plan"])
        routed = Routed.of(trees).checked(overlaps=request["overlaps"], relays=request["relays"])
        wiring = rewire(routed, before.wiring)
        inventory = Inventory({broker: Place(**place) for broker, place in request["places"].items()})
        found = delta(
            before.wiring, wiring, version=here.settings.version, secured=before.secured,
            restless=before.restless(inventory, here.settings), durable=here.settings.durable,
        )  # fmt: skip
        changed: set[str] = set()
        for wave in found.waves:
            changed.update(perform(wave, found, inventory, here.settings, here.brokers, here.logs))
        changed.update(update_folders(routed, wiring, inventory, here.settings, folder))
        return {"changed": sorted(changed)}
    except MeshwrightError as error:
        return {"error": str(error)}


def _put(file: Path, content: dict[str, Any]) -> None:
    with new_file(file) as beside:
        beside.write_text(json.dumps(content), encoding="utf-8")
