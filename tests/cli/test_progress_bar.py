"""Progress: nothing for quick work, links, support and time left for long work."""

from __future__ import annotations

import io
import sys
from collections import deque
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.cli import output
from meshwright.cli.output import CELLS, SEARCH_STEPS, ProgressBar, amounts, time_left
from meshwright.cli.trials import _named_graphs
from meshwright.errors import InputError
from meshwright.progress import announce_phase, titled


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """Yield the clock of progress that is asked for even without a terminal."""
    clock = Clock()
    monkeypatch.setattr(output, "time", clock)
    asked = output.PROGRESS_WANTED.set(True)
    yield clock
    output.PROGRESS_WANTED.reset(asked)


def test_quick_work_is_silent(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the first second nothing is shown, not even if forced and on a terminal."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with ProgressBar("GM") as drawn:
        clock.now += 0.9
        drawn(10, 0.5, "linking")
    assert screen.getvalue() == ""


def test_long_work_without_a_terminal(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal, long work is silent, or prints an occasional line if forced."""
    for forced in (False, True):
        output.PROGRESS_WANTED.set(forced)
        with ProgressBar("GM") as drawn:
            for tenth in range(1, 10):
                clock.now += 1
                drawn(1000 * tenth, tenth / 10, "linking")
        printed = capsys.readouterr()
        assert printed.out == ""
        if not forced:
            assert printed.err == ""
    lines = printed.err.splitlines()
    assert lines[0] == "meshwright: GM: 2,000 links, 20.0 % support, 8 s left"
    assert len(lines) == 4


def test_long_work_on_a_terminal(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, a bar shows links, support and time left, and disappears at the end."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with ProgressBar("GM") as drawn:
        clock.now += 2
        drawn(1234, 0.5, "linking")
    assert "1,234 links, 50.0 % support" in screen.getvalue()
    assert "2 s left" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")


def test_other_work_is_printed_by_its_name(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Other phases than linking show their name instead of the support, and the time left."""
    with ProgressBar("Best") as drawn:
        clock.now += 5
        drawn(1234, 0.25, "improving")
    assert capsys.readouterr().err == "meshwright: Best: 1,234 links, improving, 15 s left\n"


def test_searches_show_their_steps(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """A search shows its result so far and its steps, if forced; not within the first second."""
    for forced in (False, True):
        output.PROGRESS_WANTED.set(forced)
        with ProgressBar("Descent", SEARCH_STEPS) as drawn:
            for steps in (1, 2000, 3000):
                clock.now += 0.9
                drawn(steps, 0.5, "cost 3")
        assert capsys.readouterr().err == "meshwright: Descent: cost 3, 3,000 steps\n" * forced


def test_stages_show_counts_and_time_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Phases of Spark show a count, a share and the time left of the phase; a new phase starts again."""
    with ProgressBar(wording=amounts("rows")) as drawn:
        clock.now += 2.9
        drawn(1, 0.1, "reading")
        for share, phase in ((0.2, "reading"), (0.5, "reading"), (0.1, "sorting"), (0.6, "sorting")):
            clock.now += 10
            drawn(round(10_000 * share), share, phase)
    assert [line.removeprefix("meshwright: ") for line in capsys.readouterr().err.splitlines()] == [
        "reading: 2,000 rows, 20.0 %, after 13 s, 80 s left",
        "reading: 5,000 rows, 50.0 %, after 23 s, 17 s left",
        "sorting: 1,000 rows, 10.0 %, after 33 s, time left unknown",
        "sorting: 6,000 rows, 60.0 %, after 43 s, 8 s left",
    ]


@pytest.mark.parametrize("kind", ["search", "stage"])
def test_other_bars_on_a_terminal(clock: Clock, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Searches and stages have a bar on a terminal, and no lines; it disappears at the end."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    drawing = ProgressBar("Descent", SEARCH_STEPS if kind == "search" else amounts("tasks"))
    with drawing:
        clock.now += 20
        drawing(7000, 0.5, "cost 3")
    assert ("7,000 steps" if kind == "search" else "7,000 tasks, 50.0 %") in screen.getvalue()
    assert "meshwright:" not in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")


def test_cells_of_an_earlier_run_cost_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """The time left of a reproduction follows from what this run did."""
    with ProgressBar("reproduce", CELLS) as drawn:
        drawn(10, 0.5, "a/fig1")
        for cells, share in ((11, 0.6), (1234, 0.7)):
            clock.now += 10
            drawn(cells, share, "a/fig1")
    assert [line.removeprefix("meshwright: ") for line in capsys.readouterr().err.splitlines()] == [
        "reproduce: a/fig1, 11 cells done, 40 s left",
        "reproduce: a/fig1, 1,234 cells done, 30 s left",
    ]


def test_a_budget_counts_as_progress(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """With a budget of links, the time left follows from the links if they are further than support."""
    with ProgressBar("GPA", goal=100) as drawn:
        clock.now += 4
        drawn(50, 0.1, "linking")
    assert capsys.readouterr().err.endswith("50 links, 10.0 % support, 4 s left\n")


@given(st.floats(0.01, 1), st.floats(1, 90))
def test_an_even_pace_is_printed_exactly(share: float, seconds: float) -> None:
    """When the pace never changes, the time left is what the pace says."""
    samples = deque((seconds * part / 10, share * part / 10) for part in range(10))
    printed = time_left(samples, seconds, share)
    left = seconds * (1 - share) / share
    if left < 99:
        assert abs(float(printed.removesuffix(" s left")) - left) <= 0.5 + 1e-6


def test_graphs_have_names() -> None:
    """A graph is NAME=PATH, and each name is given once; a path may hold an equals sign."""
    assert _named_graphs(["a=b=c", "d=e"]) == {"a": "b=c", "d": "e"}
    for wrong in ("a", "=b", "a="):
        with pytest.raises(InputError, match="give NAME=PATH"):
            _named_graphs([wrong])
    with pytest.raises(InputError, match="--graph a is given twice: keep one of them"):
        _named_graphs(["a=b", "a=c"])


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_no_pace_is_no_guess(share: float) -> None:
    """Without progress, no time left is stated."""
    assert time_left(deque([(0.0, share)]), 10.0, share) == "time left unknown"


def test_work_has_its_own_title_and_pace(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a title, that of each piece of work is shown, and its pace begins when the last one ended."""
    with ProgressBar() as bar:
        for title, shares in (("GM", (0.5, 1.0)), ("Low-ODA", (0.25, 0.5))):
            report = titled(bar, title)
            assert report is not None
            for share in shares:
                clock.now += 10
                report(round(1000 * share), share, "linking")
    assert [line.removeprefix("meshwright: ") for line in capsys.readouterr().err.splitlines()] == [
        "GM: 500 links, 50.0 % support, 10 s left",
        "GM: 1,000 links, 100.0 % support, 0 s left",
        "Low-ODA: 250 links, 25.0 % support, 30 s left",
        "Low-ODA: 500 links, 50.0 % support, 20 s left",
    ]


def test_a_phase_without_a_count_is_announced(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the name of such a phase is shown after the first second; `stop` removes it."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with ProgressBar() as bar:
        announce_phase(bar, "reading a.csv")
        assert screen.getvalue() == ""
        clock.now += 2
        announce_phase(bar, "comparing filters")
        assert "comparing filters" in screen.getvalue()
        bar.stop()
        assert screen.getvalue().endswith("\x1b[2K")
        assert "reading" not in screen.getvalue()


def test_announced_phases_print_no_lines(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal, a phase without a count prints nothing, even if progress is asked for."""
    with ProgressBar() as bar:
        clock.now += 5
        announce_phase(bar, "reading a.csv")
    assert capsys.readouterr().err == ""
