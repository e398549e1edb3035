"""Small files and datasets for tests, and the pairs of a dataset."""

from __future__ import annotations

from pathlib import Path

from meshwright import load_interest, write_dataset
from meshwright.workloads import zipf
from terminal import meshwright


def subscriptions_file(folder: Path, text: str) -> Path:
    """Write subscriptions as a CSV file."""
    path = folder / "subscriptions.csv"
    path.write_text(text, encoding="utf-8")
    return path


def small_dataset(folder: Path) -> Path:
    """Write a synthetic dataset of 30 brokers and 8 topics."""
    return write_dataset(zipf(30, 8, size=3), folder / "dataset")


def planned(dataset: Path, *words: str) -> Path:
    """Plan a dataset by the command line, and return the folder of the plan, next to the dataset."""
    out = dataset.parent / "plan"
    assert meshwright("plan", dataset, "--force", "--out", out, *words).code == 0
    return out


def pairs_of(dataset: Path) -> set[tuple[str, str]]:
    """Return who subscribes to what in a dataset."""
    return {(row["node"], row["topic"]) for row in load_interest(dataset).to_arrow().to_pylist()}
