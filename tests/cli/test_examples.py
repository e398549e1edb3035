"""The examples of data commands, of `demo` and `bench`, and of the pages on churn and content, run."""

from __future__ import annotations

import gzip
import importlib
import pkgutil
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import meshwright as mw
from meshwright import cli
from meshwright.cli import check, content, data, design, main, raw_logs, trials
from meshwright.cli.main import build_app
from meshwright.workloads import zipf
from small_datasets import planned
from terminal import meshwright

CHECKOUT = Path(__file__).parents[2]
HERE = (
    *("trials.BENCH", "content.EXACT", "data.PROFILE", "data.SAMPLE"),
    *("raw_logs.FOLLOW", "raw_logs.INGEST", "raw_logs.TRAFFIC"),
)
IN_OTHER_TESTS = {
    "test_docs.py": "data.WORKLOAD design.PLAN check.VERIFY check.CERTIFY soc.SOC design.ADVISE "
    "design.COMPARE churn.CHURN churn.CHAOS content content.WORKLOAD content.ASSIGN content.COMPARE "
    "content.MIGRATE",
    "test_deploying_page.py": "deploy.ROUTE deploy.EXPORT deploy.DIFF deploy.APPLY deploy.FEDERATION",
    "test_filters_page.py": "deploy.LINT",
    "test_doctor.py": "trials.DOCTOR",
    "test_project_commands.py": "project.INIT project.STATUS",
    "test_reproduce_command.py": "trials.REPRODUCE",
    "test_report_command.py": "check.REPORT",
}
"""Whose examples these run."""
PAGES = {
    "README.md": "test_docs.py",
    "docs/adopting.md": "test_filters_page.py",
    "docs/algorithms.md": "test_examples.py",
    "docs/certificate.md": "test_how_to_pages.py",
    "docs/churn.md": "test_examples.py",
    "docs/ci.md": "test_how_to_pages.py",
    "docs/content.md": "test_examples.py",
    "docs/costs.md": "test_how_to_pages.py",
    "docs/data.md": "test_data_page.py",
    "docs/degree-limits.md": "test_how_to_pages.py",
    "docs/deploying.md": "test_deploying_page.py",
    "docs/filters.md": "test_filters_page.py",
    "docs/migration.md": "test_examples.py",
    "docs/planning-on-spark.md": "test_examples.py",  # parsed: a million brokers take their time
    "docs/project-file.md": "test_project_commands.py",
    "docs/report.md": "test_report_command.py",
    "docs/routes.md": "test_deploying_page.py",
    "docs/tutorial.md": "test_learning_pages.py",
    "docs/spark.md": "test_examples.py",  # they are parsed: nobody has these clusters here
}
"""Which test runs a page's commands."""


def commands(page: str) -> list[list[str]]:
    """Return the words of each command in a page's shell blocks."""
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    return [shlex.split(line, comments=True)[1:] for line in blocks.splitlines() if line.startswith("mesh")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with all files that the examples read."""
    monkeypatch.chdir(tmp_path)
    for name in ("events", "incoming", "logs", "published"):
        Path(name).mkdir()
    many = zipf(1200, 40, size=4, seed=1).to_arrow().to_pydict()
    nodes = [{"b0001": "berlin", "b0002": "oslo"}.get(node, node) for node in many["node"]]
    interest = mw.Interest.from_pairs(nodes, many["topic"])
    assert {"berlin", "oslo"} <= set(nodes)
    mw.write_dataset(interest, "dataset")
    mw.write_dataset(zipf(100, 40, size=4, seed=2), "sample")
    pairs = [("berlin", "rain"), ("berlin", "wind"), ("oslo", "rain"), ("rome", "wind"), ("rome", "sun")]
    rows = "".join(f"{node},{topic}\n" for node, topic in pairs)
    Path("subscriptions.csv").write_text(f"node,topic\n{rows}")
    lines = '{"broker": "oslo", "topic": "rain", "time": "2026-01-01T00:00:00Z"}\n'
    Path("events/1.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    connected = "1700000000: New client connected from 127.0.0.1:1 as c (p2, c1, k60).\n"
    for broker in ("berlin", "oslo"):
        Path(f"logs/{broker}.log").write_text(f"{connected}1700000001: c 0 rain\n")
    Path("follows.txt").write_text("1 2\n2 3\n")
    published = "publisher,topic,time\nann,rain,1\nbob,rain,3\n"
    Path("published/1.csv.gz").write_bytes(gzip.compress(published.encode()))
    sold = [("ann", 10, 1), ("bob", 450, 3), ("ann", 20, 5)]
    Path("messages.jsonl").write_text(
        "".join(f'{{"publisher": "{who}", "price": {price}, "time": {at}}}\n' for who, price, at in sold)
    )
    Path("wanted.csv").write_text("user,low,high\nann,0,100\nbob,400,500\n")
    Path("users.csv").write_text("user,x,y\nann,0,0\nbob,3,4\n")
    Path("brokers.csv").write_text("broker,x,y\nnorth,0,1\nsouth,0,0\n")
    return tmp_path


def ready(words: list[str]) -> list[str]:
    """Let a command end by itself, and run where there is a master."""
    if words[0] == "follow":
        shutil.rmtree("events")  # other examples read it, this one writes it
        rows = {
            "jsonl": '{"node": "rome", "topic": "rain", "time": 5}\n',
            "csv": "node,topic,time\nrome,rain,5\n",
        }
        kind = words[words.index("--format") + 1]
        Path(f"incoming/1.{kind}").write_text(rows[kind])
        words = [*words, "--once"]
    return [word.replace("spark://head:7077", "local[2]") for word in words]


LARGE = [*commands("docs/spark.md"), *commands("docs/planning-on-spark.md")]


@pytest.mark.parametrize("words", LARGE, ids=" ".join)
def test_commands_for_clusters_have_the_right_options(words: list[str]) -> None:
    """Every command of the pages on Spark has arguments and options that its command accepts."""
    program: Any = get_command(build_app())
    name, *rest = words
    command = program.commands[name]
    command.make_context(name, [*rest])
    with pytest.raises(Exception, match="No such option: --nothing"):
        command.make_context(name, [*rest, "--nothing"])


QUICK_ONES = [*raw_logs.INGEST_EXAMPLES[:2], data.PROFILE_EXAMPLES[1], data.SAMPLE_EXAMPLES[1]]
"""A few seconds each, most of them Spark's; the second one of `traffic` stands on the page on content too."""
ALL = [
    *raw_logs.INGEST_EXAMPLES,
    *data.PROFILE_EXAMPLES,
    *data.SAMPLE_EXAMPLES,
    *raw_logs.TRAFFIC_EXAMPLES,
    *raw_logs.FOLLOW_EXAMPLES,
]


@pytest.mark.usefixtures("spark", "folder")
@pytest.mark.parametrize(
    "example", [pytest.param(it, marks=[] if it in QUICK_ONES else pytest.mark.slow) for it in ALL]
)
def test_examples_on_data_run(example: str) -> None:
    """What the help of a data command shows can be typed, and leaves what it says."""
    words = ready(shlex.split(example)[1:])
    answer = meshwright(*words)
    assert answer.code == 0, answer.err
    for option in ("--out", "--chart"):
        assert option not in words or Path(words[words.index(option) + 1]).exists()


@pytest.mark.slow
def test_the_benchmarks_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick run of `bench` measures everything and writes its page; the full one is the same, longer."""
    assert trials.BENCH_EXAMPLES == ("meshwright bench", "meshwright bench --quick --out results.md")
    monkeypatch.chdir(tmp_path)
    answer = meshwright(*shlex.split(trials.BENCH_EXAMPLES[1])[1:])
    assert answer.code == 0, answer.err
    assert "Failed" not in Path("results.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("folder")
def test_the_designs_pages_commands_run() -> None:
    """The commands of the page on designs run, each into a new folder."""
    shown = commands("docs/algorithms.md")
    assert len(shown) >= 4
    for words in shown:
        shutil.rmtree("plan", ignore_errors=True)
        answer = meshwright(*words)
        assert (answer.code, answer.err) == (0, ""), words


@pytest.mark.usefixtures("folder")
def test_the_churn_pages_commands_run() -> None:
    """The commands of the page on churn run."""
    planned(Path("subscriptions.csv").absolute())
    shown = commands("docs/churn.md")
    assert len(shown) >= 2
    for words in shown:
        answer = meshwright(*words)
        assert (answer.code, answer.err) == (0, ""), words
    assert Path("churn").is_dir()


@pytest.mark.usefixtures("spark", "folder")
def test_a_workload_of_logs_can_be_made() -> None:
    """From publish logs to a workload: the page on content's last block."""
    shown = commands("docs/content.md")[-2:]
    assert [words[:2] for words in shown] == [["traffic", "messages.jsonl"], ["content", "workload"]]
    for words in shown:
        answer = meshwright(*words)
        assert answer.code == 0, answer.err
    assert Path("workload").is_dir()


@pytest.mark.usefixtures("folder")
def test_an_exact_example_runs() -> None:
    """The example of `content exact` proves its answer."""
    shape = ["--users", "6", "--brokers", "2", "--channels", "3", "--length", "0.4"]
    assert meshwright("content", "workload", *shape, "--out", "small").code == 0
    for example in content.EXACT_EXAMPLES:
        assert meshwright(*shlex.split(example)[1:]).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("page", ["docs/content.md", "docs/migration.md"])
def test_long_commands_run(page: str, folder: Path) -> None:
    """What the pages on content and migration show can be typed; of 100,000 publications some will do."""
    meshwright("content", "workload", "--users", "200", "--brokers", "4", "--out", "workload")
    for words in commands(page):
        if words[0] != "traffic" and "--traffic" not in words:
            answer = meshwright(*(word.replace("100000", "2000") for word in words))
            assert answer.code == 0, (words, answer.err)


def test_no_example_is_left_out() -> None:
    """Every command with examples, and every page with commands, is run by one of these tests."""
    showing = set()
    for module in pkgutil.walk_packages(cli.__path__, "meshwright.cli."):
        for name in vars(importlib.import_module(module.name)):
            if name.endswith("EXAMPLES"):
                command = f"{module.name}.{name}".removeprefix("meshwright.cli.")
                showing.add(re.sub(r"[._]EXAMPLES$", "", command))
    # The README shows a run of the demo; what the program's own help shows is shown by its commands.
    assert trials.DEMO_EXAMPLES == ("meshwright demo --out out/demo",)
    assert set(main.EXAMPLES) <= {"meshwright demo", *design.PLAN_EXAMPLES, *check.VERIFY_EXAMPLES}
    run = {*HERE, "trials.DEMO", "main"}
    for test, names in IN_OTHER_TESTS.items():
        text = (Path(__file__).parent / test).read_text(encoding="utf-8")
        for name in names.split():
            shown = re.sub(r"\.([A-Z]+)$", r".\1_EXAMPLES", name)
            shown = shown if shown != name else f"{name}.EXAMPLES"
            assert f"*{'.'.join(shown.split('.')[-2:])}" in text
        run |= set(names.split())
    assert showing == run
    pages = ["README.md", *(f"docs/{path.name}" for path in (CHECKOUT / "docs").glob("*.md"))]
    assert {page for page in pages if commands(page)} == set(PAGES)
    for page, test in PAGES.items():
        text = (Path(__file__).parent / test).read_text(encoding="utf-8")
        assert Path(page).name in text
