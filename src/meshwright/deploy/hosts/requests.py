"""Requests to the process that runs a federation: files in its folder, each answered by another file."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meshwright.deploy.folder_store import is_supervised
from meshwright.deploy.inventory import Inventory
from meshwright.errors import InputError
from meshwright.files.atomic import new_file
from meshwright.files.urls import local_path

REQUEST_FILE = "request.json"
PAUSE, PATIENCE = 0.05, 120.0
"""Seconds between two looks at the folder, and until a request is given up."""


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
        write_json(folder / REQUEST_FILE, request)
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


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a file, whole or not at all."""
    with new_file(file) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
