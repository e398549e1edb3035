"""The `meshwright` program as a process, also as `python -m meshwright`: its memory, its streams, its end.

The commands are in `cli`. Everything is imported late: Ctrl-C ends the program with code 130 even then.
"""

import io
import logging
import os
import sys


def run() -> None:
    """Run the program."""
    try:
        from meshwright.cli.exit_codes import BAD_INPUT, OUT_OF_MEMORY, UNEXPECTED
        from meshwright.cli.main import execute
        from meshwright.cli.output import note
        from meshwright.jit.announce import announce, limit_memory, memory_limit
    except KeyboardInterrupt:
        sys.exit(130)
    _prepare_streams()
    limit_memory()
    last_words = f"meshwright: error: {OUT_OF_MEMORY}\n".encode()
    try:
        with announce(note, own_process=True):
            code = execute(sys.argv[1:])
    except MemoryError:  # there is too little left even to explain the error, or to end in order
        os.write(2, last_words)
        os._exit(UNEXPECTED)
    _flush_streams()
    if code in (BAD_INPUT, UNEXPECTED) and memory_limit() is not None:
        os._exit(code)  # Python's own end may need memory, and abort or wait for ever
    sys.exit(code)


def _prepare_streams() -> None:
    """Make sure that output has a place and an encoding, and that libraries do not log to it."""
    logging.getLogger().addHandler(logging.NullHandler())  # library errors become one line of ours
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8"))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without × still gets an answer


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python would flush again at exit, and change the exit code
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    run()
