"""A dataset as its counts and tables: names are read as few as asked for, and damage is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from meshwright import Interest
from meshwright.errors import FormatError
from meshwright.pipeline.dataset.subscriptions import from_interest, subscriptions
from meshwright.store.datasets import write_dataset
from meshwright.workloads import zipf


@pytest.fixture
def interest() -> Interest:
    return zipf(7, 5, size=2, seed=3).canonical()


def state(folder: Path, **changes: object) -> None:
    """Change what a manifest states."""
    file = folder / "manifest.json"
    content = json.loads(file.read_text())
    content["counts"] |= changes
    file.write_text(json.dumps(content))


def test_names_of_a_few(interest: Interest, tmp_path: Path) -> None:
    """A few names are those with the ids that were asked for, from a folder or from this process."""
    folder = write_dataset(interest, tmp_path / "data")
    nodes, topics = interest.node_names.to_pylist(), interest.topic_names.to_pylist()
    for given in (subscriptions(None, folder), from_interest(None, interest)):
        assert given.name_nodes([4, 0, 4]) == [nodes[4], nodes[0], nodes[4]]
        assert given.name_topics([2]) == [topics[2]]
        assert given.count == interest.num_subscriptions
        assert given.has_fingerprint(interest.fingerprint)
        assert not given.has_fingerprint("other")
        assert given.fingerprint == interest.fingerprint
        assert given.names.node_names.to_pylist() == nodes
        given.check_names()


@pytest.mark.parametrize("kind", ["nodes", "topics"])
def test_counts_that_are_not_those_of_the_names(interest: Interest, tmp_path: Path, kind: str) -> None:
    """A manifest that states other counts than the tables have is damaged."""
    folder = write_dataset(interest, tmp_path / "data")
    state(folder, **{kind: 3})
    with pytest.raises(FormatError, match=r"it does not state .* as its counts"):
        subscriptions(None, folder)


def test_a_manifest_without_counts(interest: Interest, tmp_path: Path) -> None:
    """Counts are whole numbers for nodes, topics and subscriptions."""
    folder = write_dataset(interest, tmp_path / "data")
    state(folder, topics="five")
    with pytest.raises(FormatError, match=r"counts\.topics is 'five', not a whole number of 0 or more"):
        subscriptions(None, folder)
