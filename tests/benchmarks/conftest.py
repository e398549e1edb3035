"""The benchmarks are not installed: find them beside the tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
