"""A process that runs one command after the other: folder and words in, the answer out."""

from __future__ import annotations

import json
import os
import sys

from terminal import meshwright


def serve() -> None:
    """Answer every line with the exit code and the output of its command."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        folder, words = json.loads(line)
        os.chdir(folder)
        answer = meshwright(*words)
        answers.write(json.dumps([answer.code, (answer.err + answer.out)[-2000:]]) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
