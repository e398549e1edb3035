"""The files and calls of docs/mistakes.md: what people get wrong, and what they are answered."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import meshwright as mw
from meshwright.errors import MeshwrightError
from terminal import meshwright

PAGE = Path(__file__).parents[1] / "docs" / "mistakes.md"
FILES = {
    "subscriptions.csv": "node,topic\na,x\nb,x\nb,y\nc,y\n",
    "other.csv": "node,topic\nd,z\ne,z\n",
    "export.csv": "Broker;Filter\na;x\nb;x\n",
    "ragged.csv": "node,topic\na,x\nb\n",
    "gaps.csv": "node,topic\na,x\nb,\n",
    "empty.csv": "",
    "notes.txt": "hello",
    "fake.parquet": "hello",
    "bad.jsonl": '{"node": "a", "topic"}\n',
    "filters.csv": "node,topic\na,x/#\nb,x/#/y\n",
    "places.csv": "node,x,y\na,0,0\n",
    "ragged-places.csv": "node,x,y\na,0\n",
    "mine/file": "mine",
}


def prepare(folder: Path) -> None:
    """Write the files that the mistakes are about, a plan, and a plan with trees."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    interest = mw.load(folder / "subscriptions.csv")
    plan = mw.design(interest)
    for name in ("plan", "routed"):
        plan.save(folder / name)
    mw.save(mw.route(plan.overlay), folder / "routed")


def listed() -> list[tuple[str, str]]:
    """Return each mistake of the page with its answer."""
    rows = re.findall(r"^\| `(.*)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [(call, answer.replace("\\|", "|")) for call, answer in rows]


def answered(call: str) -> str:
    """Make a mistake on the command line or in Python, and return the one line that answers it."""
    if call.startswith("meshwright "):
        return meshwright(*shlex.split(call)[1:]).complaint.removeprefix("meshwright: error: ").rstrip("\n")
    with pytest.raises(MeshwrightError) as caught:
        eval(call, {"mw": mw})
    assert "\n" not in str(caught.value)
    return str(caught.value)
