"""The how-to pages on degree limits, certificates, churn, costs and CI: every command runs as it stands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from brokers import PROGRAM
from meshwright.workloads import zipf
from terminal import meshwright

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run(command: str) -> None:
    """Run a line of a page in this folder, with its output where `>` says."""
    words, _, target = command.partition(" > ")
    answer = meshwright(*shlex.split(words)[1:])
    assert (answer.code, answer.err) == (0, ""), command
    if target:
        Path(target).write_text(answer.out, encoding="utf-8")


@pytest.mark.slow
def test_degree_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the page keep the limit of 8 that they name."""
    monkeypatch.chdir(tmp_path)
    rows = zipf(60, 15, size=4, seed=1).to_arrow().to_pylist()
    lines = [f"{row['node']},{row['topic']}" for row in rows]
    Path("subscriptions.csv").write_text("\n".join(["node,topic", *lines, ""]), encoding="utf-8")
    commands = [line for block in blocks("degree-limits.md", "sh") for line in block.splitlines()]
    assert len(commands) == 5
    for command in commands:
        run(command)
    assert json.loads(Path("limited/plan.json").read_text())["figures"]["max_degree"] <= 8
    assert "degree_bound" in json.loads(Path("certified/plan.json").read_text())["figures"]
    assert Path("front").is_dir()


def test_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command of the page gives a plan without a certificate one."""
    monkeypatch.chdir(tmp_path)
    run("meshwright workload zipf --nodes 30 --topics 10 --size 3 --out dataset")
    run("meshwright plan dataset --out plan")
    assert "lower_bound" not in json.loads(Path("plan/plan.json").read_text())["figures"]
    for block in blocks("certificate.md", "sh"):
        run(block)
    assert "lower_bound" in json.loads(Path("plan/plan.json").read_text())["figures"]


def test_churn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the page run, and the folders hold what its table lists, policy by policy."""
    monkeypatch.chdir(tmp_path)
    rows = zipf(30, 10, size=3, seed=1).to_arrow().to_pylist()
    lines = [f"{row['node']},{row['topic']}" for row in rows]
    Path("subscriptions.csv").write_text("\n".join(["node,topic", *lines, ""]), encoding="utf-8")
    run("meshwright plan subscriptions.csv --out plan")
    commands = [line for block in blocks("churn.md", "sh") for line in block.splitlines()]
    assert len(commands) == 3
    for command in commands:
        run(command)
    text = (DOCS / "churn.md").read_text(encoding="utf-8")
    table = text.partition("writes\n\n")[2].partition("\n\n")[0]
    first = [line.split("|")[1] for line in table.splitlines()[2:]]
    listed = {name.rstrip("/") for cell in first for name in re.findall(r"`([^`]+)`", cell)}
    whole = {name.removeprefix("DIR/") for name in listed if name.startswith("DIR/")}
    each = {name for name in listed if not name.startswith("DIR/")}
    assert {path.name for path in Path("churn").iterdir()} == {*whole, "naive", "shadow", "tidy"}
    for policy in ("naive", "shadow", "tidy"):
        assert {path.name for path in Path("churn", policy).iterdir()} == each
    run("meshwright churn plan subscriptions.csv --rounds 5 --out alone")
    assert {path.name for path in Path("alone").iterdir()} == whole | each


def test_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of cost files of the page are accepted, and totals are recomputed."""
    monkeypatch.chdir(tmp_path)
    places, delays = blocks("costs.md", "csv")
    Path("places.csv").write_text(places, encoding="utf-8")
    Path("delays.csv").write_text(delays, encoding="utf-8")
    wanted = "node,topic\nberlin,rain\noslo,rain\nrome,rain\nrome,sun\nberlin,sun\n"
    Path("subscriptions.csv").write_text(wanted, encoding="utf-8")
    commands = [line for block in blocks("costs.md", "sh") for line in block.splitlines()]
    assert len(commands) == 5
    for command in commands:
        run(command)
    assert json.loads(Path("fast/plan.json").read_text())["figures"]["total_cost"] == 28 + 31


def test_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks pass on a plan and its configuration; the steps of the job are among them."""
    monkeypatch.chdir(tmp_path)
    wanted = "node,topic\na,x\nb,x\nb,y\nc,y\n"
    Path("subscriptions.csv").write_text(wanted, encoding="utf-8")
    for words in (
        "plan subscriptions.csv --out plan",
        "route plan subscriptions.csv",
        "export plan --to mosquitto --out federation",
    ):
        assert meshwright(*words.split()).code == 0
    commands = [line for block in blocks("ci.md", "sh") for line in block.splitlines()]
    for command in commands:
        if command.split()[1] != "federation" or PROGRAM is not None:
            run(command)
    assert json.loads(Path("verdict.json").read_text())["verified"] is True
    job, comment = blocks("ci.md", "yaml")
    steps = re.findall(r"run: (meshwright .*)", job)
    assert steps
    for step in steps:
        run(step)
    assert meshwright("init").code == 0
    Path("subscriptions.csv").write_text(wanted + "d,y\n", encoding="utf-8")
    (step,) = re.findall(r"run: (meshwright .*)", comment)
    for command in step.split(" && "):
        run(command)
    assert "| wave | broker |" in Path("change.md").read_text(encoding="utf-8")
