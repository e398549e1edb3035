"""The pages on routes and deploying: their commands run, and so do the examples in the commands' help."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import meshwright as mw
from brokers import PROGRAM
from meshwright.cli import deploy
from meshwright.store.traffic import CHANNELS, RATES, Traffic
from terminal import meshwright
from written_inputs import write_traffic

DOCS = Path(__file__).parents[2] / "docs"
HELD = {"berlin": {"rain", "wind"}, "oslo": {"rain", "wind"}, "rome": {"rain"}, "ulm": {"wind"}}


def commands_of(page: str) -> list[str]:
    """Return our commands in a page's shell blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("meshwright ")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with all files that the examples name."""
    monkeypatch.chdir(tmp_path)
    interest = mw.Interest.from_dict(HELD)
    mw.write_dataset(interest, "dataset")
    rows = zip(*interest.to_arrow().to_pydict().values(), strict=True)
    Path("subscriptions.csv").write_text(
        "node,topic\n" + "".join(f"{node},{topic}\n" for node, topic in rows)
    )
    newer = mw.Interest.from_dict({**HELD, "paris": {"wind"}})
    for name, of in (("plan", interest), ("plan-of-yesterday", interest), ("new-plan", newer)):
        overlay = mw.design(of, "low")
        mw.write_plan(overlay, name)
        mw.write_trees(mw.route(overlay.overlay), name)
    figures = {"messages": [9], "bytes": [0], "rate": [9.0], "byte_rate": [0.0]}
    rates = pa.table({"publisher": ["ulm"], "channel": ["rain"], **figures}, schema=RATES)
    channels = pa.table({"channel": ["rain"], "publishers": [1], **figures}, schema=CHANNELS)
    write_traffic(Traffic(rates, channels, {}), "traffic")
    return tmp_path


def inventory(*brokers: str) -> None:
    """Write an inventory of brokers on this machine, which need no passwords."""
    rows = "".join(f"{broker},localhost,{port}\n" for port, broker in enumerate(brokers, start=1883))
    Path("brokers.csv").write_text(f"broker,host,port\n{rows}")


COMMANDS = list(
    dict.fromkeys(
        [
            *commands_of("routes.md"), *commands_of("deploying.md"),
            *deploy.ROUTE_EXAMPLES, *deploy.EXPORT_EXAMPLES,
            *deploy.DIFF_EXAMPLES, *deploy.APPLY_EXAMPLES, *deploy.FEDERATION_EXAMPLES,
        ]
    )
)  # fmt: skip
WITH_BROKERS = [command for command in COMMANDS if shlex.split(command)[1] == "federation"]


def run(command: str) -> None:
    """Run a command, with the inventory that it needs."""
    words = shlex.split(command)[1:]
    inventory(*HELD, *(["paris"] if words[0] == "apply" else []))
    if words[0] == "plan":
        # Each page makes its own plan; a note would say that the trees of the other page's plan are gone.
        shutil.rmtree(words[-1], ignore_errors=True)
    answer = meshwright(*words)
    assert (answer.code, answer.err) == (0, ""), command


@pytest.mark.usefixtures("folder")
def test_commands_run() -> None:
    """Every command of both pages and of the help texts that starts no broker runs, one after the other."""
    assert len(COMMANDS) >= 15
    for command in COMMANDS:
        if command not in WITH_BROKERS:
            run(command)


@pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")
@pytest.mark.usefixtures("spark", "folder")
@pytest.mark.parametrize("churn", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_commands_with_brokers_run(churn: bool) -> None:
    """Every command of both pages and of the help texts that starts brokers runs."""
    commands = [command for command in WITH_BROKERS if ("--churn" in command) == churn]
    assert len(commands) >= 1 + (not churn)
    for command in commands:
        run(command)
