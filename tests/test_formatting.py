"""Escapes: hostile names are shown as they are in every target, and do nothing."""

from __future__ import annotations

import html.parser
import io
import json
from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import meshwright as mw
from hostile import NAMES, UNSEEN
from meshwright.cli import output
from meshwright.deploy.folder_store import write_federation
from meshwright.deploy.graph_files import export
from meshwright.deploy.inventory import Endpoint, Inventory
from meshwright.deploy.manifest import read_federation
from meshwright.deploy.named_trees import NamedTrees, TopicTree
from meshwright.deploy.settings import BrokerSettings
from meshwright.deploy.targets.mosquitto.handbook import handbook
from meshwright.deploy.wiring import folder_of, wire
from meshwright.errors import InputError
from meshwright.files.schema import HAS_CONTROL
from meshwright.formatting import (
    escape_dot,
    escape_html,
    escape_json,
    escape_markdown,
    escape_markdown_code,
    escape_terminal,
    visible,
)
from meshwright.report.charts import federation_picture
from terminal import meshwright

texts = st.text(max_size=30) | st.sampled_from(NAMES)


class Tags(html.parser.HTMLParser):
    """Collects tags, attributes and text of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str | None] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect a tag."""
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") or name.startswith("on")]

    def handle_data(self, data: str) -> None:
        """Collect text."""
        self.text += data


@given(texts)
def test_text_is_seen_and_means_the_same(text: str) -> None:
    """No function lets unseen characters through, and ordinary text stays readable."""
    for function in (visible, escape_terminal, escape_html, escape_markdown, escape_dot):
        assert not UNSEEN & set(function(text))
    assert Tags(escape_html(text)).text == visible(text)
    assert Tags(escape_html(text)).tags == []
    document = json.dumps({"name": text}, ensure_ascii=False)
    assert not UNSEEN & set(escape_json(document))
    assert json.loads(escape_json(document)) == {"name": text}


@given(texts)
def test_markdown_shows_the_name_and_nothing_else(text: str) -> None:
    """A renderer that takes HTML, links addresses and knows tables shows the name as text."""
    renderer = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])
    page = Tags(renderer.render(f"| name |\n| --- |\n| x{escape_markdown(text)}x |\n"))
    assert set(page.tags) <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert page.links == []
    assert "".join(page.text.split()) == "".join(f"namex{visible(text)}x".split())


@given(texts.filter(str.strip))
def test_markdown_code(text: str) -> None:
    """The same holds for code."""
    page = Tags(MarkdownIt("commonmark", {"html": True}).render(f"x{escape_markdown_code(text)}x"))
    assert page.tags == ["p", "code"]
    assert "".join(page.text.split()) == "".join(f"x{visible(text)}x".split())


def planned(folder: Path, names: tuple[str, ...]) -> Path:
    """Write a plan with trees in which all brokers share a topic."""
    interest = mw.Interest.from_dict({name: {"t"} for name in names})
    made = mw.design(interest, "gm")
    mw.write_plan(made, folder / "plan")
    mw.write_trees(mw.route(made.overlay), folder / "plan")
    return folder / "plan"


ONE_LINE = tuple(name for name in NAMES if not HAS_CONTROL.search(name))
"""The hostile names that brokers may have; the others are refused."""


def export_star(names: Sequence[str], folder: Path) -> Path:
    """Export brokers of these names, the first in the middle, on this machine."""
    links = tuple((names[0], name) for name in names[1:])
    trees = NamedTrees(
        tuple(sorted(names)), {"t": TopicTree(links, frozenset(names[:3]), frozenset(names[3:]))}
    )
    inventory = Inventory.on_loopback(trees.brokers)
    return write_federation(trees, wire(trees), inventory, BrokerSettings(), folder)


def test_federation_files(tmp_path: Path) -> None:
    """Folders, units, the compose file and plan.md hold hostile names of brokers and hosts safely."""
    for name in sorted(set(NAMES) - set(ONE_LINE)):
        with pytest.raises(InputError, match="hold control characters or line breaks: rename them"):
            export_star((name, "b"), tmp_path / "out")
    with pytest.raises(InputError, match=r"host is 'h<b>\[x\]\(javascript:1\)', not a name or address"):
        Endpoint("h<b>[x](javascript:1)", 1)
    folder = export_star(ONE_LINE, tmp_path / "out")
    assert set(read_federation(folder).wiring.order) == set(ONE_LINE)
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {folder_of(name) for name in ONE_LINE}
    for file in folder.rglob("*"):
        if file.is_file() and file.name != "federation.json":
            assert not UNSEEN & set(file.read_text()), file
    page = Tags(
        MarkdownIt("commonmark", {"html": True}).enable("table").render((folder / "plan.md").read_text())
    )
    assert set(page.tags) <= {
        "h1",
        "h2",
        "p",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "strong",
        "em",
    }
    assert all(visible(name) in page.text for name in ONE_LINE)
    services = yaml.safe_load((folder / "docker-compose.yml").read_text())["services"]
    assert len(services) == len(ONE_LINE)
    assert not any("$" in volume for service in services.values() for volume in service["volumes"])
    for name in ONE_LINE:
        unit = (folder / folder_of(name) / "mosquitto.service").read_text().splitlines()
        assert len(unit) == 14
        assert sum(line.startswith("Exec") for line in unit) == 3


@pytest.mark.parametrize("name", NAMES)
def test_relays_in_the_handbook(name: str) -> None:
    """The table of filters that brokers relay holds hostile names of brokers and filters as text."""
    a, b, c = (f"{place}{name}" for place in "abc")
    held = {a: frozenset({f"{name}/+"}), b: frozenset({f"{name}/n"}), c: frozenset({f"{name}/#"})}
    tree = TopicTree(((a, b), (b, c)), frozenset(held), filters=held)
    trees = NamedTrees((a, b, c), {f"{name}/#": tree})
    text = handbook(trees, wire(trees), Inventory.on_loopback(trees.brokers), BrokerSettings())
    assert not UNSEEN & set(text)
    page = Tags(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))
    assert set(page.tags) <= {"h1", "h2", "p", "code", "table", "thead", "tbody", "tr", "th", "td"}
    rows = [line for line in text.splitlines() if line.startswith("| b") and "relays" not in line]
    assert page.links == []
    assert len(rows) == 4, "two relays, the heading of the table of brokers, and the broker itself"
    assert visible(f"{name}/+") in page.text


def test_graph_files(tmp_path: Path) -> None:
    """Graphviz and JSON hold hostile names; GraphML refuses those that XML cannot, and keeps the rest."""
    plan = planned(tmp_path, NAMES)
    text = export(plan, "dot", tmp_path / "out").read_text()
    assert not UNSEEN & set(text)
    assert text.count("--") == len(NAMES) - 1
    document = json.loads(export(plan, "json", tmp_path / "out").read_text())
    assert {link[end] for link in document["links"] for end in ("u", "v")} == set(NAMES)
    with pytest.raises(mw.errors.InputError, match="XML cannot"):
        export(plan, "graphml", tmp_path / "out")
    fine = tuple(name for name in NAMES if not set(name) & {chr(number) for number in range(32)})
    plan = planned(tmp_path / "fine", fine)
    assert set(nx.read_graphml(export(plan, "graphml", tmp_path / "out"))) == set(fine)


def test_the_picture_is_xml(tmp_path: Path) -> None:
    """A picture of brokers with hostile names is well-formed, and has no script."""
    from xml.etree import ElementTree

    pairs = {(NAMES[0], name): 1 for name in NAMES[1:]}
    federation_picture(NAMES, pairs, tmp_path / "p.svg", title="x")
    assert not any("script" in node.tag for node in ElementTree.parse(tmp_path / "p.svg").iter())


@pytest.mark.parametrize("terminal", [False, True])
def test_answers_steer_no_terminal(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    """Lines, tables, notes and JSON show hostile names, on a terminal, too."""
    from rich.table import Table

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    screen, errors = Screen(), Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setattr("sys.stderr", errors)
    table = Table("name")
    for name in NAMES:
        table.add_row(name)
        output.answer(name)
        output.note(name)
        output.answer_json({"name": name})
    output.answer(table, "line")
    ours = screen.getvalue()
    for style in ("\x1b[1m", "\x1b[0m"):  # rich's own
        ours = ours.replace(style, "")
    assert not UNSEEN & set(ours + errors.getvalue())
    assert ours.endswith("line\n")
    assert "[bold red]markup[/]" in ours


def test_errors_steer_no_terminal(tmp_path: Path) -> None:
    """An error that names a hostile file or topic is one visible line."""
    assert "\\x1b" in meshwright("route", tmp_path / "\x1b[2Jplan", "x").complaint
    planned(tmp_path, ("a\u202e", "b"))
    for answer in (meshwright("federation", tmp_path / "plan", "--brokers", "1"),):
        assert not UNSEEN & set(answer.err)
