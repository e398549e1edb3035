"""How commands fail: one line with the cause and the fix, the exit code, a traceback on demand."""

from __future__ import annotations

import subprocess
import sys

import pytest

from meshwright.cli.exit_codes import OUT_OF_MEMORY, explain
from terminal import meshwright


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["plam"], "no such command 'plam'"),
        (["plan"], "missing argument 'DATASET|FILE'"),
        (["plan", "some.csv"], "missing option '--out'"),
        (["plan", "some.csv", "--out"], "'--out'"),
        (["plan", "some.csv", "--out", "plan", "--max-edges", "many"], "'--max-edges'"),
        (["plan", "some.csv", "--out", "plan", "--max-edges", "-1"], "'--max-edges'"),
        (["plan", "some.csv", "--out", "plan", "--max-degree", "-1"], "'--max-degree'"),
        (["plan", "some.csv", "--out", "plan", "--threads", "0"], "'--threads'"),
        (["plan", "some.csv", "--out", "plan", "--threads", "1025"], "give 1024 or less"),
        (["plan", "some.csv", "other.csv", "--out", "plan"], "other.csv"),
        (["verify", "--nonsense"], "--nonsense"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], expected: str) -> None:
    """A usage error is one line that names the word at fault and where to read on."""
    complaint = meshwright(*words).complaint
    assert expected in complaint
    assert "--help'" in complaint


def test_the_help_that_is_named_is_that_of_the_command() -> None:
    """An option without its value, which the parser reports without a command, names the command's help."""
    for words in (
        ["plan", "--out"],
        ["plan", "some.csv", "--out", "--debug"],
        ["content", "assign", "--out"],
    ):
        complaint = meshwright(*words).err.splitlines()[-1]
        assert f"see 'meshwright {words[0]}" in complaint, complaint


@pytest.mark.parametrize("words", [[], ["content"]])
def test_groups_without_a_command_print_their_help(words: list[str]) -> None:
    """A group alone answers with its help, as with --help."""
    answer = meshwright(*words)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == meshwright(*words, "--help").out


def test_a_bug_asks_to_be_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected error ends with code 70 and one line; with --debug the traceback comes before it."""

    def burst(*_: object, **__: object) -> None:
        raise RuntimeError("the roof\nis on fire")

    monkeypatch.setattr("meshwright.store.interest_files.read_source", burst)
    answer = meshwright("plan", "some.csv", "--out", "plan")
    assert (answer.code, answer.out, answer.err.count("\n")) == (70, "", 1)
    assert "RuntimeError: the roof is on fire" in answer.err
    assert "report" in answer.err
    for words in (["--debug", "plan"], ["plan", "--debug"]):
        loud = meshwright(*words, "some.csv", "--out", "plan")
        assert loud.code == 70
        assert loud.err.startswith("Traceback")
        assert loud.err.endswith(answer.err)


def test_debug_shows_where_bad_input_was_found() -> None:
    """With --debug, bad input has its traceback too, and the same exit code."""
    answer = meshwright("plan", "no-such-file.csv", "--out", "plan", "--debug")
    assert answer.code == 2
    assert "Traceback" in answer.err
    assert "meshwright: error: " in answer.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("error", "code"),
    [(MemoryError(), 70), (PermissionError(13, "Permission denied", "/etc/plan"), 2), (OSError("odd"), 70)],
)
def test_errors_of_the_machine(error: Exception, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """No memory or no permission is one line too, and names the file if there is one."""
    assert explain(error) == code
    printed = capsys.readouterr().err
    assert printed.startswith("meshwright: error: ")
    assert printed.count("\n") == 1
    assert getattr(error, "filename", None) is None or "/etc/plan" in printed


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a command with code 130 and one line."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("meshwright.store.interest_files.read_source", interrupt)
    answer = meshwright("plan", "some.csv", "--out", "plan")
    assert (answer.code, answer.out, answer.err.count("\n")) == (130, "", 1)


def test_too_little_memory_to_explain_an_error() -> None:
    """If memory runs out again while an error is explained, there is one line all the same."""
    program = (
        "import sys\n"
        "from meshwright import __main__\n"
        "from meshwright.cli import main\n"
        "def fail(*words): raise MemoryError\n"
        "main.build_app = main.explain = fail\n"
        "__main__.run()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr == f"meshwright: error: {OUT_OF_MEMORY}\n"
