"""A federation that keeps running, and changes when it is asked to.

Whoever runs it looks for a request in its folder, does what that asks, and leaves an answer. So brokers have
one parent, which ends them all when it ends.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.deploy.delta import delta
from meshwright.deploy.folders import read_federation
from meshwright.deploy.inventory import Inventory, Place, moved
from meshwright.deploy.routed import Routed
from meshwright.deploy.updating import perform, update_folders
from meshwright.deploy.wiring import wire
from meshwright.errors import InputError, MeshwrightError
from meshwright.store import read_trees

if TYPE_CHECKING:
    from meshwright.deploy.federation import Running

KEPT, REQUEST = "running.json", "request.json"
PAUSE, PATIENCE = 0.05, 120.0


def is_kept(folder: Path) -> bool:
    """Say whether a process that lives keeps a federation running from this folder."""
    try:
        pid = int(json.loads((folder / KEPT).read_text(encoding="utf-8"))["pid"])
        os.kill(pid, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


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
    _put(folder / REQUEST, request)
    answer = folder / f"answer-{number}.json"
    end = time.monotonic() + PATIENCE
    while not answer.is_file():
        if not is_kept(folder) or time.monotonic() > end:
            (folder / REQUEST).unlink(missing_ok=True)
            raise InputError(f"the federation in {folder} does not answer: start it again and apply again")
        time.sleep(PAUSE)
    told: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    answer.unlink()
    if "error" in told:
        raise InputError(told["error"])
    changed: list[str] = told["changed"]
    return changed


def keep(here: Running, *, until: Callable[[], bool], tell: Callable[[str], None] | None = None) -> None:
    """Keep a federation running and do what it is asked to, until told otherwise."""
    folder = here.brokers.folder
    _put(folder / KEPT, {"pid": os.getpid()})
    try:
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
    finally:
        (folder / KEPT).unlink(missing_ok=True)


def _done(here: Running, request: dict[str, Any]) -> dict[str, Any]:
    folder = here.brokers.folder
    try:
        before = read_federation(folder)
        trees = read_trees(request["plan"])
        routed = Routed.of(trees).checked(overlaps=request["overlaps"], relays=request["relays"])
        wiring = wire(routed, before.wiring.order)
        inventory = Inventory({broker: Place(**place) for broker, place in request["places"].items()})
        found = delta(
            before.wiring, wiring, version=here.settings.version, secured=before.secured,
            moved=moved(before.inventory, inventory),
        )  # fmt: skip
        for wave in found.waves:
            perform(wave, found, inventory, here.settings, here.brokers, here.logs)
        return {"changed": update_folders(routed, wiring, inventory, here.settings, folder)}
    except MeshwrightError as error:
        return {"error": str(error)}


def _put(file: Path, content: dict[str, Any]) -> None:
    beside = file.with_name(f".{file.name}.writing")
    beside.write_text(json.dumps(content), encoding="utf-8")
    beside.replace(file)
