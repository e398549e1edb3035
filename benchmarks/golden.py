"""Golden files: answers by name that were recorded once, and that the same code must give again.

In `tests/golden/` are, with the command that records them again after a deliberate change:

- `fixed_runs.json`: digests of fixed runs; `python -m benchmarks.fixed_runs --record`;
- `defaults.json`: defaults of public functions; `pytest tests/test_defaults.py --record`;
- `papers.json`: claims, drawings and small cells; `pytest tests/experiments/test_recorded.py --record`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "tests" / "golden"


class Golden:
    """The recorded answers of one file; patterns such as 'churn/*' select some by name."""

    def __init__(self, name: str, folder: Path = FOLDER) -> None:
        self._file = folder / f"{name}.json"
        self.answers: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))

    def differences(self, found: Mapping[str, Any], within: str = "*") -> list[str]:
        """Return a line for each answer that differs, is new or is missing."""
        recorded = self._select(within)
        return [
            f"{name}: recorded {recorded.get(name, 'nothing')}, found {found.get(name, 'nothing')}"
            for name in sorted({*recorded, *found})
            if name not in recorded or name not in found or recorded[name] != found[name]
        ]

    def record(self, found: Mapping[str, Any], within: str = "*") -> None:
        """Replace the recorded answers by those found."""
        kept = self.answers.keys() - self._select(within).keys()
        answers = {name: self.answers[name] for name in kept} | dict(found)
        self.answers = dict(sorted(answers.items()))
        text = json.dumps(self.answers, indent=1, ensure_ascii=False)
        self._file.write_text(text + "\n", encoding="utf-8")

    def _select(self, within: str) -> dict[str, Any]:
        return {name: answer for name, answer in self.answers.items() if fnmatchcase(name, within)}
