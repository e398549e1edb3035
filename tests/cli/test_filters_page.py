"""The pages on filters and on adopting brokers: their commands run, and so do the examples of `lint`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from meshwright.cli import deploy
from terminal import meshwright

DOCS = Path(__file__).parents[2] / "docs"
ROWS = "node,topic\nberlin,site1/#\noslo,+/+/state\nmalmo,site1/a/temp\nmalmo,wet rain\nhq,#\nhq,lone\n"
BRIDGE = "listener {0} 127.0.0.1\nconnection to\naddress 127.0.0.1:{1}\nremote_clientid {0}\ntopic t out 1\n"


def commands_of(page: str) -> list[str]:
    """Return the commands of a page's shell blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with all files that the pages name."""
    monkeypatch.chdir(tmp_path)
    Path("filters.csv").write_text(ROWS)
    brokers = ("berlin", "oslo", "malmo", "hq")
    rows = "".join(f"{broker},127.0.0.1,{port}\n" for port, broker in enumerate(brokers, start=1))
    Path("brokers.csv").write_text(f"broker,host,port\n{rows}")
    for name in ("old", "malmo"):
        Path(name).mkdir()
    Path("old/a.conf").write_text(BRIDGE.format(1, 2))
    Path("old/b.conf").write_text("listener 2 127.0.0.1\n")
    Path("berlin.conf").write_text(BRIDGE.format(3, 4))
    Path("oslo.conf").write_text("listener 4 127.0.0.1\n")
    Path("malmo/mosquitto.conf").write_text("listener 5 127.0.0.1\n")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", ["filters.md", "adopting.md"])
def test_the_commands_of_a_page_run(page: str) -> None:
    """Every command of the page runs, one after the other."""
    commands = commands_of(page)
    assert len(commands) >= 5
    for command in commands:
        answer = meshwright(*shlex.split(command)[1:])
        assert (answer.code, answer.err) == (0, ""), command


@pytest.mark.usefixtures("folder")
def test_the_examples_of_lint_run() -> None:
    """What the help shows can be typed; the machine's own configuration is left out."""
    for command in commands_of("filters.md"):
        meshwright(*shlex.split(command)[1:])
    for example in [*deploy.LINT_EXAMPLES][1:]:
        answer = meshwright(*shlex.split(example)[1:])
        assert (answer.code, answer.err) == (0, ""), example


def test_the_page_shows_what_plan_says(folder: Path) -> None:
    """The output on the page is that of the command above it."""
    command = commands_of("filters.md")[0]
    shown = (DOCS / "filters.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    answer = meshwright(*shlex.split(command)[1:])
    assert all(line in answer.out for line in shown.splitlines())
    assert folder.is_dir()
