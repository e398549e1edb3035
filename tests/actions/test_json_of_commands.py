"""What `--json` prints is what the action returns, for commands whose results do not state times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meshwright.actions.content.workload import Drawn, Measured, make_users
from meshwright.actions.ingest import ingest
from meshwright.actions.profile import profile_sources
from meshwright.actions.reproduce import list_papers
from meshwright.actions.sample import sample_source
from meshwright.actions.traffic import Publications, sum_traffic
from meshwright.actions.workload import Shape, make_workload
from terminal import meshwright

ROWS = "node,topic\na,x\nb,x\nb,y\nb,y\n,y\n"
MESSAGES = "publisher,topic,size,time\na,x,10,0\nb,x,20,4\n"
CASES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "ingest": (
        "ingest rows.csv --out out --max-bad 1",
        lambda here: ingest([here / "rows.csv"], here / "out", max_bad=1),
    ),
    "profile": ("profile good.csv", lambda here: profile_sources([str(here / "good.csv")])),
    "sample": (
        "sample good.csv --nodes 1 --out out",
        lambda here: sample_source(str(here / "good.csv"), str(here / "out"), 1),
    ),
    "traffic": (
        "traffic messages.csv --out out",
        lambda here: sum_traffic([here / "messages.csv"], here / "out", Publications()),
    ),
    "workload": (
        "workload unif --nodes 9 --topics 4 --size 2 --out out --raw raw",
        lambda here: make_workload(
            "unif", Shape(nodes=9, topics=4, size=2), str(here / "out"), raw=here / "raw"
        ),
    ),
    "hard": (
        "workload hard --case cuboid --k 3 --m 4 --out out",
        lambda here: make_workload("hard", Shape(case="cuboid", k=3, m=4), str(here / "out")),
    ),
    "content": (
        "content workload --users 20 --brokers 2 --channels 3 --out out",
        lambda here: make_users(here / "out", Drawn(20, 2), channels=3, measured=Measured()),
    ),
    "reproduce": ("reproduce list", lambda _: list_papers()),
}


@pytest.mark.parametrize(("words", "act"), CASES.values(), ids=CASES)
def test_json_is_the_result(
    words: str, act: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command and the action give the same document, but for the folders."""
    documents = []
    for name in ("command", "action"):
        here = tmp_path / name
        here.mkdir()
        monkeypatch.chdir(here)
        (here / "rows.csv").write_text(ROWS, encoding="utf-8")
        (here / "good.csv").write_text("node,topic\na,x\nb,x\n", encoding="utf-8")
        (here / "messages.csv").write_text(MESSAGES, encoding="utf-8")
        if name == "command":
            documents.append(str(meshwright(*words.split(), "--json").json))
        else:
            documents.append(str(act(Path()).to_dict()))
    assert documents[0] == documents[1]
