"""What commands print: answers to stdout, notes and progress to stderr.

Progress is a bar on a terminal; elsewhere an occasional line, if --progress asks for it.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from meshwright.formatting import counted, escape_json, escape_terminal, hide_secrets, percentage, visible

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress, TaskID

WIDTH_WITHOUT_TERMINAL = 100
"""Wide enough for our tables; rich would otherwise assume 80 columns and wrap them."""


def answer_json(document: dict[str, Any]) -> None:
    """Print the JSON document of a command."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=not unicode, allow_nan=False)
    sys.stdout.write(escape_json(text) + "\n")


class Answer:
    """What a command answers: the result of its action, and how people read it.

    If no lines are given, they are those of the result. It also says whether it `passed`: exit code 0 or 1.
    """

    def __init__(self, result: Any, *lines: RenderableType, passed: bool | None = None) -> None:
        self.result = result
        self.lines = lines or result.lines
        self.passed = getattr(result, "passed", True) if passed is None else passed

    def show(self, *, json: bool) -> None:
        """Print the result as JSON or in lines, and its notes to stderr."""
        notes(getattr(self.result, "notes", ()))
        if json:
            answer_json(self.result.to_dict())
        else:
            answer(*self.lines)


def answer(*lines: RenderableType) -> None:
    """Print lines or tables; text is literal, never markup, and never steers the terminal."""
    if all(isinstance(line, str) for line in lines):
        print(*(escape_terminal(str(line)) for line in lines), sep="\n")
        return
    from rich.console import Console
    from rich.segment import Segment, Segments

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_WITHOUT_TERMINAL)
    for line in lines:
        if isinstance(line, str):
            console.print(escape_terminal(line))
            continue
        parts = [
            Segment(escape_terminal(part.text), part.style, part.control) for part in console.render(line)
        ]
        console.print(Segments(parts), end="")


def note(line: str) -> None:
    """Print a line to stderr that is not part of the answer."""
    with suppress(OSError):  # a full or closed stderr must not change the answer
        sys.stderr.write(f"meshwright: {escape_terminal(line)}\n")
        sys.stderr.flush()


def notes(lines: Iterable[str]) -> None:
    """Print the notes of a result to stderr."""
    for line in lines:
        note(line)


SAMPLES = 64
PROGRESS_WANTED = ContextVar("progress wanted", default=False)
"""Whether --progress asks for progress without a terminal."""
PROVING = "needed at least"
"""How the phases begin that prove a number of links; the rest says under which limit."""


def describe_links(edges: int, done: float, phase: str) -> str:
    """Return in plain words what a phase of a design has reached.

    >>> describe_links(40, 0.5, "linking"), describe_links(40, 0.5, "improving")
    ('40 links, 50.0 % support', '40 links, improving')
    >>> describe_links(1, 0.5, "needed at least with at most 5 per broker")
    'proving: at least 1 link with at most 5 per broker'
    """
    if phase == "linking":
        return f"{counted(edges, 'link')}, {100 * done:.1f} % support"
    if phase.startswith(PROVING):
        return f"proving: at least {counted(edges, 'link')}{phase.removeprefix(PROVING)}"
    return f"{counted(edges, 'link')}, {phase}"


@dataclass(frozen=True)
class Wording:
    """How the progress of a kind of work reads."""

    describe: Callable[[int, float, str], str]
    """Returns the words for a count, a share and a phase."""
    left: Callable[[int], str] | None = None
    """Returns what stands in place of the time left, for work that ends with its budget."""
    by_phase: bool = False
    """Whether each phase has its own title and pace."""
    resumes: bool = False
    """Whether an earlier run may have done a share before the first call."""
    quiet_seconds: float = 1.0
    """Work that takes less than this shows nothing."""
    line_seconds: float = 2.0
    """Seconds between two lines without a terminal."""


LINKS = Wording(describe_links)
SEARCH_STEPS = Wording(lambda _, __, phase: phase, left=lambda steps: f"{steps:,} steps")
CELLS = Wording(lambda cells, _, phase: f"{phase}, {cells:,} cells done", resumes=True)


def amounts(unit: str = "tasks") -> Wording:
    """Return the wording of phases that count rows, megabytes or tasks."""
    return Wording(
        lambda count, share, _: f"{count:,} {unit}, {percentage(share)}",
        by_phase=True,
        resumes=True,
        quiet_seconds=3.0,
        line_seconds=10.0,
    )


class ProgressBar:
    """The `progress` callback of the command line, as a context manager.

    Without a title of its own, it shows that of each piece of work: phases read `title: phase`, see `titled`.
    Progress is often fast at first and slow later, so the latest half of the work predicts the time left.
    """

    def __init__(self, title: str = "", wording: Wording = LINKS, *, goal: int | None = None) -> None:
        self.title, self.wording, self.goal = title, wording, goal
        self.terminal = sys.stderr.isatty()
        self.shown = self.terminal or PROGRESS_WANTED.get()
        self.began = self.last_line = self._last_call = time.monotonic()
        self.samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)
        self._work = ""
        """The title of the work that the samples are of."""
        self._bar: tuple[Progress, TaskID] | None = None
        self._drawing = threading.Lock()
        self._timer: threading.Timer | None = None

    def __call__(self, done: int, share: float, phase: str) -> None:
        """Take a count, the share that is done, and the phase; nothing of both announces the phase."""
        if not self.shown:
            return
        now, before, self._last_call = time.monotonic(), self._last_call, time.monotonic()
        title, phase = self._split(phase)
        if not done and not share:
            self._announce(title, phase, now)
            return
        detail = self.wording.describe(done, share, phase)
        share = max(share, done / self.goal if self.goal else 0.0)
        if not self.samples or title != self._work or share < self.samples[-1][1]:
            self._work = title
            self.samples.clear()
            self.samples.append((now, share) if self.wording.resumes else (before, 0.0))
        if now - self.began < self.wording.quiet_seconds:
            return
        left = time_left(self.samples, now, share) if self.wording.left is None else self.wording.left(done)
        self.samples.append((now, share))
        if self.terminal:
            self._draw(title, share, detail, left)
        elif now - self.last_line >= self.wording.line_seconds:
            self.last_line = now
            if self.wording.by_phase:
                detail = f"{detail}, after {now - self.began:.0f} s"
            note(f"{title}: {detail}, {left}")

    def _split(self, phase: str) -> tuple[str, str]:
        """Return the title of the work, and its phase."""
        if self.wording.by_phase:
            return phase, ""
        if self.title:
            return self.title, phase
        title, colon, rest = phase.partition(": ")
        return (title, rest) if colon else (phase, "")

    def _announce(self, title: str, phase: str, now: float) -> None:
        """Draw a phase that has nothing to count yet: soon, if it is one of the first, and on a terminal."""
        if not self.terminal:
            return
        self._cancel()
        wait = self.began + self.wording.quiet_seconds - now
        if wait <= 0:
            self._draw(title, 0.0, phase, "")
            return
        self._timer = threading.Timer(wait, self._draw, (title, 0.0, phase, ""))
        self._timer.daemon = True
        self._timer.start()

    def _draw(self, title: str, share: float, detail: str, left: str) -> None:
        """Draw the bar up to a share, with a detail and what is left."""
        from rich.markup import escape as literal

        self._cancel()
        texts = {"description": title, "detail": detail, "left": left}
        shown: dict[str, Any] = {name: literal(visible(hide_secrets(text))) for name, text in texts.items()}
        with self._drawing:
            if self._bar is None:
                self._bar = _start_bar(shown)
            bar, task = self._bar
            bar.update(task, completed=share, **shown)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def stop(self) -> None:
        """Remove the bar, so that lines can be printed; a later call draws it again."""
        self._cancel()
        with self._drawing:
            if self._bar is not None:
                self._bar[0].stop()
                self._bar = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _start_bar(shown: dict[str, Any]) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[detail]}"),
        TextColumn("[dim]{task.fields[left]}"),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(total=1.0, **shown)
    bar.start()
    return bar, task


def time_left(samples: deque[tuple[float, float]], now: float, share: float) -> str:
    """Predict the time left from the pace of the latest half of the run.

    >>> time_left(deque([(0.0, 0.0), (5.0, 0.4)]), 10.0, 0.6)
    '10 s left'
    >>> time_left(deque([(0.0, 0.0)]), 10.0, 0.0)
    'time left unknown'
    """
    began = samples[0][0]
    then, share_then = min(samples, key=lambda sample: abs(sample[0] - (began + now) / 2))
    pace = (share - share_then) / (now - then) if now > then else 0.0
    if pace <= 0:
        return "time left unknown"
    seconds = round((1 - share) / pace)
    return f"{seconds // 60} min {seconds % 60:02} s left" if seconds >= 100 else f"{seconds} s left"
