"""What commands print: answers to stdout; notes, progress and errors to stderr. And their exit codes."""

from __future__ import annotations

import errno
import json
import re
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import typer

from meshwright import escape
from meshwright.errors import MeshwrightError
from meshwright.formatting import counted

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress, TaskID


def check_target(path: str | Path, kind: str) -> None:
    """Raise an OutputError before long work if a folder of this kind cannot be written to a path or URL."""
    from meshwright.files.atomic import check_free, check_place
    from meshwright.files.header import KINDS
    from meshwright.files.remote import check_bucket, check_remote_place
    from meshwright.files.urls import local_path

    local, wanted = local_path(path), next(known for known in KINDS if known.name == kind)
    if local is not None:
        check_free(Path(local), wanted)
        check_place(path)
    elif kind == "dataset":
        check_bucket(str(path))  # a dataset that is only half written may be replaced
    else:
        check_remote_place(str(path), wanted)


WIDTH_WITHOUT_TERMINAL = 100
"""Wide enough for our tables; rich would otherwise assume 80 columns and wrap them."""

SHOWN_REASONS = 5


def answer_json(document: dict[str, Any]) -> None:
    """Print the JSON document of a command."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=not unicode, allow_nan=False)
    sys.stdout.write(escape.json(text) + "\n")


def answer(*lines: RenderableType) -> None:
    """Print lines or tables; text is literal, never markup, and never steers the terminal."""
    if all(isinstance(line, str) for line in lines):
        print(*(escape.terminal(str(line)) for line in lines), sep="\n")
        return
    from rich.console import Console
    from rich.segment import Segment, Segments

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_WITHOUT_TERMINAL)
    for line in lines:
        if isinstance(line, str):
            console.print(escape.terminal(line))
            continue
        parts = [
            Segment(escape.terminal(part.text), part.style, part.control) for part in console.render(line)
        ]
        console.print(Segments(parts), end="")


def format_reasons(reasons: Mapping[str, int]) -> list[str]:
    """Return lines with the most frequent reasons for quarantine."""
    return [f"  {count:,} × {reason}" for reason, count in list(reasons.items())[:SHOWN_REASONS]]


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner on a terminal while work without a count runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def note(line: str) -> None:
    """Print a line to stderr that is not part of the answer."""
    with suppress(OSError):  # a full or closed stderr must not change the answer
        sys.stderr.write(f"meshwright: {escape.terminal(line)}\n")
        sys.stderr.flush()


class Drawing:
    """A progress display: when to show something, and the bar. Subclasses provide the text."""

    quiet_seconds: ClassVar[float] = 1.0
    """Work that takes less than this shows nothing."""
    line_seconds: ClassVar[float] = 2.0
    """Seconds between two lines without a terminal."""

    def __init__(self, *, forced: bool = False) -> None:
        self.terminal = sys.stderr.isatty()
        self.shown = self.terminal or forced
        self.began = self.last_line = time.monotonic()
        self._bar: tuple[Progress, TaskID] | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    def due(self) -> bool:
        """Return whether progress should be visible now."""
        return self.shown and self.elapsed >= self.quiet_seconds

    def line_due(self) -> bool:
        """Return whether another line may be written; a positive answer counts as written."""
        now = time.monotonic()
        if now - self.last_line < self.line_seconds:
            return False
        self.last_line = now
        return True

    def draw(self, title: str, share: float, *, detail: str, left: str) -> None:
        """Draw the bar up to a share, with a detail and what is left."""
        from rich.markup import escape as literal

        texts = {"description": title, "detail": detail, "left": left}
        shown: dict[str, Any] = {name: literal(escape.visible(text)) for name, text in texts.items()}
        if self._bar is None:
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
            self._bar = bar, bar.add_task(total=1.0, **shown)
            bar.start()
        bar, task = self._bar
        bar.update(task, completed=share, **shown)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()


SAMPLES = 64


PROVING = "needed at least"
"""How the phases begin that prove a number of links; the rest says under which limit."""


def _describe(edges: int, done: float, what: str) -> str:
    """Return in plain words what a phase has reached.

    >>> _describe(40, 0.5, "linking"), _describe(40, 0.5, "improving")
    ('40 links, 50.0 % support', '40 links, improving')
    >>> _describe(1, 0.5, "needed at least with at most 5 per broker")
    'proving: at least 1 link with at most 5 per broker'
    """
    if what == "linking":
        return f"{counted(edges, 'link')}, {100 * done:.1f} % support"
    if what.startswith(PROVING):
        return f"proving: at least {counted(edges, 'link')}{what.removeprefix(PROVING)}"
    return f"{counted(edges, 'link')}, {what}"


class ProgressDrawing(Drawing):
    """The `progress` callback of one design: a bar on a terminal, or an occasional line if forced.

    Support rises fast at first and slowly later, so the latest half of the run predicts the time left.
    """

    def __init__(self, title: str, *, forced: bool = False, max_edges: int | None = None) -> None:
        super().__init__(forced=forced)
        self.title, self.max_edges = title, max_edges
        self.samples: deque[tuple[float, float]] = deque([(self.began, 0.0)], maxlen=SAMPLES)

    def __call__(self, edges: int, done: float, what: str) -> None:
        """Take the edges so far, the share done (while linking: the support) and the phase."""
        if not self.due():
            return
        now = time.monotonic()
        share = max(done, edges / self.max_edges if self.max_edges else 0.0)
        detail = _describe(edges, done, what)
        left = time_left(self.samples, now, share)
        self.samples.append((now, share))
        if self.terminal:
            self.draw(self.title, share, detail=detail, left=left)
        elif self.line_due():
            note(f"{self.title}: {detail}, {left}")


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


class SearchDrawing(Drawing):
    """The `progress` callback of a search: a bar on a terminal, or an occasional line if forced."""

    def __init__(self, title: str, *, forced: bool = False) -> None:
        super().__init__(forced=forced)
        self.title = title

    def __call__(self, steps: int, done: float, what: str) -> None:
        """Take the steps so far, the share of the budget that is spent, and the result so far."""
        if not self.due():
            return
        if self.terminal:
            self.draw(self.title, done, detail=what, left=f"{steps:,} steps")
        elif self.line_due():
            note(f"{self.title}: {what}, {steps:,} steps")


ANSWER_IS_NO = 1
BAD_INPUT = 2
UNEXPECTED = 70
"""EX_SOFTWARE of sysexits.h: a bug of Meshwright."""
INTERRUPTED = 130
CLOSED_PIPE = 141
"""The code that a shell reports for a program ended by SIGPIPE."""

OUT_OF_MEMORY = "out of memory: use a machine with more, or a sample of the data"

UsageError = typer.BadParameter.__mro__[1]
"""The base class of errors on the command line. Typer exports only this child of it."""


def end_if_empty(
    source: str, subscriptions: int, *, json: bool, mend: str = "name one that has some"
) -> None:
    """End the command with exit code 1 if a source has no subscriptions: there is nothing to answer."""
    if subscriptions:
        return
    note(f"{source} has no subscriptions: {mend}")
    if json:
        answer_json({"source": source, "subscriptions": 0})
    raise typer.Exit(ANSWER_IS_NO)


def explain(error: Exception, command: str = "meshwright") -> int:
    """Print one line on stderr about what went wrong in a command, and return the exit code."""
    if isinstance(error, UsageError):
        return _say(_usage(error, command), BAD_INPUT)
    if isinstance(error, MeshwrightError):
        return _say(str(error), BAD_INPUT)
    if isinstance(error, MemoryError) or _cannot_map(error):
        return _say(OUT_OF_MEMORY, UNEXPECTED)
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return _say("too many open files: raise the limit, with ulimit -n 4096", BAD_INPUT)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EROFS, errno.EDQUOT):
        where = f" for {error.filename!r}" if error.filename else ""
        return _say(f"{error.strerror}{where}: free some space, or choose another path", BAD_INPUT)
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename!r}" if error.filename else ""
        return _say(f"{error.strerror}{where}: choose another file or path", BAD_INPUT)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _say(
        f"{what}: this is a bug of Meshwright; please report it with the output of --debug", UNEXPECTED
    )


def _cannot_map(error: Exception) -> bool:
    """Return whether a library or a thread could not be loaded, most likely because the memory is limited."""
    import resource

    limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    known = (
        "failed to map segment",
        "Could not find/load shared object",
        "cannot allocate memory",
        "start new thread",
    )
    kinds = (OSError, ImportError, RuntimeError, SystemError)
    return limited and isinstance(error, kinds) and any(text in str(error) for text in known)


PLAIN_WORDS = (
    (r"Input should be a valid number.*", "give a number"),
    (r"Input should be a valid integer.*", "give a whole number"),
    (r"Input should be greater than or equal to (\S+)", r"give \1 or more"),
    (r"Input should be less than or equal to (\S+)", r"give \1 or less"),
    (r"No such option: (\S+) \(Possible options: (.*)\)", r"no such option \1: did you mean \2?"),
    (r"No such command ('[^']*')\. Did you mean", r"no such command \1: did you mean"),
)
"""Texts of the option parser, and how we say it."""


def _usage(error: Exception, command: str) -> str:
    """Format a usage error like ours: no capital, no full stop, and the command that helps."""
    message: str = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    for pattern, ours in PLAIN_WORDS:
        message = re.sub(pattern, ours, message)
    context = getattr(error, "ctx", None)
    if context is not None:  # the option parser leaves it out for an option without its value
        command = context.command_path
    see = " See" if message.endswith("?") else "; see"
    return f"{message[:1].lower()}{message[1:]}{see} '{command} --help'"


def _say(message: str, code: int) -> int:
    note(f"error: {' '.join(message.splitlines())}")
    return code
