"""The pages of a reproduction: whole in themselves, everything escaped, every check on both."""

from __future__ import annotations

import platform
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import meshwright as mw
from experiments import toy
from meshwright.experiments import Reproduction, pages, paper, reproduce


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reproduction:
    """Reproduce the toy."""
    monkeypatch.setattr(paper, "papers", lambda: {"toy": toy.PAPER})
    return reproduce("toy", tmp_path / "out")


class Tags(HTMLParser):
    """Collects the tags of a page with their attributes, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_machine_is_named() -> None:
    """The page names the processor that the system reports, never an empty one."""
    known = Path("/proc/cpuinfo")
    reported = known.read_text(encoding="utf-8") if known.is_file() else ""
    named = re.findall(r"^model name\s*: (.*)$", reported, re.MULTILINE)
    assert pages._processor() in (
        [name.strip() for name in named[:1]] or [platform.processor(), "unknown processor"]
    )


def test_the_page_makes_no_request(made: Reproduction) -> None:
    """No script, no link to load, no address: images are data, anchors stay on the page."""
    text = made.page.read_text(encoding="utf-8")
    page = Tags()
    page.feed(text)
    assert not {"script", "link", "iframe", "object", "form"} & {tag for tag, _ in page.tags}
    for tag, given in page.tags:
        for name in ("src", "href"):
            assert not given.get(name) or str(given[name]).startswith(("data:image/svg+xml;base64,", "#")), (
                tag
            )
    assert not re.search(r"https?://|url\(|@import", text)
    images = [given for tag, given in page.tags if tag == "img"]
    assert len(images) == 2
    assert all(given["alt"] for given in images)


def test_the_page_suits_phones_paper_and_the_dark(made: Reproduction) -> None:
    """It has a viewport, a narrow layout, a print style and dark colours."""
    text = made.page.read_text(encoding="utf-8")
    for needed in ('name="viewport"', "max-width: 40rem", "@media print", "prefers-color-scheme: dark"):
        assert needed in text


def test_graphs_are_described_without_their_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page names a real graph and its size; a public one, known by its content, is named as such."""
    monkeypatch.setattr(paper, "papers", lambda: {"toy": toy.PAPER})
    graph = mw.Interest.from_dict({"a": {"x", "y"}, "b": {"x"}})
    file = tmp_path / "secret-place.csv"
    file.write_text("node,topic\na,x\na,y\nb,x\n")
    text = reproduce("toy", tmp_path / "out", graphs={"friends": file}).page.read_text(encoding="utf-8")
    assert "friends: 2 subscribers, 2 topics, 3 subscriptions" in text
    assert "secret-place" not in text
    monkeypatch.setitem(pages.PUBLIC_GRAPHS, graph.fingerprint, "a graph of friends")
    assert pages.describe_graph("friends", graph).startswith("friends: a graph of friends, 2 subscribers")


def test_text_is_escaped(made: Reproduction) -> None:
    """Markup in titles, claims and reasons is shown, not obeyed; bars do not break the Markdown table."""
    text = made.page.read_text(encoding="utf-8")
    assert "<b>" not in text
    assert "It &lt;b&gt;exceeds&lt;/b&gt; 1000 | always" in text
    table = (made.out / "reproduction.md").read_text(encoding="utf-8")
    assert "It \\<b\\>exceeds\\</b\\> 1000 \\| always" in table
    rows = [line for line in table.splitlines() if line.startswith("| **")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [5, 5, 5, 5]


def test_every_check_is_on_both_pages(made: Reproduction) -> None:
    """Each check shows its claim, both values and its verdict; the page names machine, time and command."""
    page = Tags()
    page.feed(made.page.read_text(encoding="utf-8"))
    shown = "\n".join(page.text)
    table = (made.out / "reproduction.md").read_text(encoding="utf-8")
    for check in made.checks:
        for text in (check.id, check.claim, check.paper_value, check.ours, check.reason):
            assert text in shown
        assert check.ours in table
    for text in (shown, table):
        assert "meshwright reproduce toy --quick --out out" in text
        assert "of CPU for 4 cells" in text
        assert "Python 3." in text
