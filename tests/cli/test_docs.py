"""The documentation does not rot: generated parts are complete, examples run, links lead somewhere."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import runpy
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.main import get_command

import meshwright as mw
from meshwright.cli import check, churn, content, data, design, soc
from meshwright.cli.main import build_app
from meshwright.designs.registry import DESIGNS
from terminal import meshwright

CHECKOUT = Path(__file__).parents[2]
GENERATE = runpy.run_path(str(CHECKOUT / "docs" / "generate.py"))
DESIGN_LINKS = {f"designs/{name}.md" for name in DESIGNS}
DECISIONS = sorted((CHECKOUT / "docs" / "decisions").glob("*.md"))
PAGES = [
    *("README.md", "CHANGELOG.md"),
    *(f"docs/{path.name}" for path in (CHECKOUT / "docs").glob("*.md")),
    *(f"docs/decisions/{path.name}" for path in DECISIONS),
]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def built(page: str) -> str:
    """Return the text of a page of `docs` as the site shows it."""
    text = (CHECKOUT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return str(GENERATE["built"](page, text))


@pytest.mark.parametrize("page", GENERATE["PARTS"])
def test_generated_parts_are_not_committed(page: str) -> None:
    """The site fills in every marked part of a page; the committed page says in short what is there."""
    text = (CHECKOUT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    parts = re.findall(r"<!-- begin (\w+) -->\n(.*?)<!-- end \1 -->", text, re.DOTALL)
    assert [name for name, _ in parts] == [*GENERATE["PARTS"][page]]
    assert all(len(shown.strip().splitlines()) <= 2 for _, shown in parts)
    whole = built(page)
    assert "<!-- begin" not in whole
    for (_, shown), make in zip(parts, GENERATE["PARTS"][page].values(), strict=True):
        assert shown.strip() not in whole
        assert make() in whole


def test_only_marked_pages_have_parts() -> None:
    """No other page has a mark that nothing would fill in, and the pages of designs are not committed."""
    marked = {
        path.stem for path in (CHECKOUT / "docs").glob("*.md") if "<!-- begin " in path.read_text("utf-8")
    }
    assert marked == {*GENERATE["PARTS"]}
    assert "docs/designs/" in (CHECKOUT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_sites_pages_are_filled_in_when_it_is_built(tmp_path: Path) -> None:
    """The site's settings write the page of each design, remove others, and fill in what Sphinx reads."""
    docs = tmp_path / "docs"
    shutil.copytree(CHECKOUT / "docs", docs, ignore=shutil.ignore_patterns("_build", "designs", "pictures"))
    (tmp_path / "src").symlink_to(CHECKOUT / "src")
    (docs / "designs").mkdir()
    (docs / "designs" / "gone.md").write_text("# Gone\n", encoding="utf-8")
    handlers: dict[str, Any] = {}
    runpy.run_path(str(docs / "conf.py"))["setup"](SimpleNamespace(connect=handlers.__setitem__))
    handlers["config-inited"](None, None)
    assert {path.stem for path in (docs / "designs").glob("*.md")} == {*DESIGNS}
    source = [(docs / "python.md").read_text(encoding="utf-8")]
    handlers["source-read"](None, "python", source)
    assert source == [built("python")]


def test_the_pictures_of_generated_pages_are_light() -> None:
    """Every picture of the designs' pages and of the gallery is there and loads at once."""
    pages = {f"designs/{name}": text for name, text in GENERATE["design_pages"]().items()}
    for page, text in {**pages, "gallery": built("gallery")}.items():
        pictures = re.findall(r"!\[.*?\]\((.*?)\)", text)
        assert pictures
        for picture in pictures:
            assert (CHECKOUT / "docs" / page).parent.joinpath(picture).resolve().stat().st_size < 150_000


def test_every_chart_is_in_the_gallery() -> None:
    """Whatever draws a figure for users has its picture in the gallery."""
    source = (CHECKOUT / "docs" / "pictures.py").read_text(encoding="utf-8")
    for file in (CHECKOUT / "src" / "meshwright" / "report").glob("*.py"):
        drawn = re.findall(
            r"^def ([a-z]\w*)\((?:[^)]*)\) -> Any:$", file.read_text(encoding="utf-8"), re.MULTILINE
        )
        for name in drawn:
            assert f"{name}(" in source, name


def test_the_commands_of_designs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command on each design's page makes a plan."""
    monkeypatch.chdir(tmp_path)
    Path("subscriptions.csv").write_text("node,topic\na,x\nb,x\nb,y\nc,y\nc,x\n", encoding="utf-8")
    for name, text in GENERATE["design_pages"]().items():
        command = re.search(r"^meshwright (.*)$", text, re.MULTILINE)
        assert command is not None
        assert meshwright(*shlex.split(command[1]), "--force").code == 0, name


def test_everything_is_documented() -> None:
    """Every command, option and public name, and every design with its guarantee, is in its page."""
    command_line = built("command-line")
    program: Any = get_command(build_app())
    for name, command in GENERATE["every_command"]("meshwright", program):
        assert f"## {name}\n" in command_line
        for given in command.params:
            assert given.metavar is None or given.metavar.replace("|", "\\|") in command_line
            assert given.param_type_name == "argument" or all(f"`{o}" in command_line for o in given.opts)
    reference = built("python")
    for name in sorted({*mw.__all__} - {"__version__"}):
        assert f"## mw.{name}\n" in reference, name
        thing: Any = getattr(mw, name)
        for inner in getattr(thing, "__all__", ()) if inspect.ismodule(thing) else ():
            found: Any = getattr(thing, inner)
            assert not callable(found) or f"`mw.{name}.{inner}`" in reference, inner
    designs = built("algorithms")
    for known in DESIGNS.values():
        assert known.guarantee.replace("|", "\\|") in designs


@pytest.mark.parametrize(
    "page",
    [
        *("README.md", "docs/certificate.md", "docs/churn.md", "docs/content.md", "docs/migration.md"),
        *("docs/algorithms.md", "docs/report.md", "docs/routes.md", "docs/filters.md"),
    ],
)
def test_the_pages_python_runs(page: str) -> None:
    """The Python of a page prints what its comments say."""
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page, "exec"), {})
        expected = [line.partition("# ")[2] for line in block.splitlines() if line.startswith("print(")]
        assert printed.getvalue().splitlines() == expected


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_readmes_run_is_real(tmp_path: Path) -> None:
    """The README shows what `make demo` prints today, except times and paths."""

    def figures(text: str) -> str:
        # A longer time makes its column wider, and so the table's lines longer.
        text = re.sub(r"\S*/bin/meshwright", "meshwright", text)
        return " ".join(re.sub(r"─+", "─", re.sub(r"[\d.]+ (ms|s)\b", "TIME", text)).split())

    shown = re.search(r"```text\n(.*?)```", README, re.DOTALL)
    answer = meshwright("demo", "--out", tmp_path)
    assert shown is not None
    real, skipped = r"(?m)^real brokers .*$", "real brokers   skipped" in answer.out
    expected = re.sub(real, "", shown[1]) if skipped else shown[1]
    printed = re.sub(real, "", answer.out) if skipped else answer.out
    assert figures(expected) == figures(printed.replace(str(tmp_path), "out/demo"))


HELP_EXAMPLES = (
    *data.WORKLOAD_EXAMPLES,
    *design.PLAN_EXAMPLES,
    *check.VERIFY_EXAMPLES,
    *check.CERTIFY_EXAMPLES,
    *soc.SOC_EXAMPLES,
    *design.ADVISE_EXAMPLES,
    *design.COMPARE_EXAMPLES,
    *churn.CHURN_EXAMPLES,
    *churn.CHAOS_EXAMPLES,
    *content.EXAMPLES,
    *content.WORKLOAD_EXAMPLES,
    *content.ASSIGN_EXAMPLES,
    *content.COMPARE_EXAMPLES,
    *content.MIGRATE_EXAMPLES,
)
README_EXAMPLES = tuple(re.findall(r"^(meshwright .*?) *(?:#.*)?$", README, re.MULTILINE))


@pytest.mark.parametrize("examples", [README_EXAMPLES, pytest.param(HELP_EXAMPLES, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("spark")
def test_the_examples_run(examples: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of the README and of each command's help do what they say, on the README's own data."""
    data = re.search(r"```csv\n(.*?)```", README, re.DOTALL)
    assert data is not None
    (tmp_path / "subscriptions.csv").write_text(data[1], encoding="utf-8")
    nodes = sorted({line.partition(",")[0] for line in data[1].splitlines()[1:]})
    places = "".join(f"{node},{number},{number**2}\n" for number, node in enumerate(nodes))
    (tmp_path / "filters.csv").write_text("node,topic\na,x/#\nb,x/y\nhq,#\n", encoding="utf-8")
    (tmp_path / "export.txt").write_text("Broker;Filter\na;x\nb;x\n", encoding="utf-8")
    (tmp_path / "places.csv").write_text(f"node,x,y\n{places}", encoding="utf-8")
    event = '{"event": "join", "node": "paris", "topics": ["sun", "wind"]}\n'
    (tmp_path / "events.jsonl").write_text(event, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert len(examples) >= 3
    for example in examples:
        # The latest plan may be another one.
        if example.split()[1] in ("plan", "advise"):
            shutil.rmtree("plan", ignore_errors=True)
        if example.split()[1] in ("verify", "soc", "churn", "chaos"):
            meshwright("plan", "subscriptions.csv", "--out", "plan", "--force")
        # There is no master at that address here.
        answer = meshwright(*shlex.split(example.replace("spark://head:7077", "local[2]"))[1:])
        assert (answer.code, answer.err) == (0, ""), example
        assert "--chart comparison.png" not in example or Path("comparison.png").is_file()


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Every link to a file names one of the checkout, or the page of a design, which the site writes."""
    folder, name = (CHECKOUT / page).parent, Path(page).stem
    text = built(name) if folder.name == "docs" else (CHECKOUT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target and target not in DESIGN_LINKS:
            assert folder.joinpath(target).exists(), target


def test_the_links_of_designs_lead_somewhere() -> None:
    """The table of designs links to the page of each, and each page leads back to files that are there."""
    assert set(re.findall(r"\]\((designs/\w+\.md)\)", built("algorithms"))) == DESIGN_LINKS
    for text in GENERATE["design_pages"]().values():
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (CHECKOUT / "docs" / "designs" / target).resolve().is_file() or target in DESIGN_LINKS, (
                target
            )


def test_every_page_is_in_the_site() -> None:
    """The index of the site lists every page."""
    for folder in (CHECKOUT / "docs", CHECKOUT / "docs" / "decisions"):
        index = (folder / "index.md").read_text(encoding="utf-8").splitlines()
        assert {path.stem for path in folder.glob("*.md")} - {"index"} <= set(index)


@pytest.mark.parametrize("path", [it for it in DECISIONS if it.stem != "index"], ids=lambda it: it.stem)
def test_decisions_have_one_form(path: Path) -> None:
    """A record says why, what, what follows, and what would change it, on one page."""
    text = path.read_text(encoding="utf-8")
    parts = re.findall(r"^\*\*(.*?)\.\*\*", text, re.MULTILINE)
    assert parts == ["Context", "Decision", "Consequences", "What would change it"]
    assert len(text.splitlines()) < 50


def test_the_picture_is_light() -> None:
    """The README's picture loads at once: below 150 KB."""
    assert (CHECKOUT / "docs" / "demo.png").stat().st_size < 150_000


def test_accidents_and_attacks_name_their_tests() -> None:
    """Every row of "What can go wrong" names files of tests that exist, and each has tests."""
    text = (CHECKOUT / "docs" / "what-can-go-wrong.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and ".py" in line]
    assert len(rows) >= 30
    for row in rows:
        for name in re.findall(r"`([\w/]+\.py)`", row.rsplit("|", 2)[1]):
            file = CHECKOUT / "tests" / name
            assert file.is_file(), name
            assert "def test_" in file.read_text(encoding="utf-8"), name


def test_each_sentence_on_security_names_its_test() -> None:
    """What SECURITY.md promises, and what it does not, stands in rows, each with tests that exist."""
    text = (CHECKOUT / "SECURITY.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    rows = [row for row in rows if not row.endswith((" held by |", " shown by |"))]
    assert len(rows) >= 20
    for row in rows:
        sentence, names = row.strip("| ").split(" | ")
        assert sentence.rstrip().endswith("."), sentence
        named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", names)
        assert named, sentence
        assert len(named) == names.count("`") // 2, names
        for file, test in named:
            found = re.search(rf"^def {test}\(", (CHECKOUT / "tests" / file).read_text("utf-8"), re.MULTILINE)
            assert found, f"{file}::{test}"
    promised = text[text.index("## What Meshwright promises") :]
    assert not re.search("^[-*] ", promised, re.MULTILINE)  # nothing is promised outside of the rows


def test_contributing_names_what_is_there() -> None:
    """Every folder and file that CONTRIBUTING names exists, in the checkout or in the package."""
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./-]+(?:/|\.py|\.txt|\.md))`", text))
    named -= {"experiments/KEY.py", "build/"}  # a pattern, and what make writes
    assert len(named) > 30
    for name in named:
        places = (CHECKOUT, CHECKOUT / "src" / "meshwright", CHECKOUT / "src" / "meshwright" / "pipeline")
        assert any((place / name).exists() for place in places), name
