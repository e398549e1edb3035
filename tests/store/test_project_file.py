"""The project file: the nearest one is read, whole, and what is wrong in it is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from meshwright.designs.registry import DESIGNS
from meshwright.errors import FormatError, InputError
from meshwright.store.project_file import NAME, Project, find_project, read_project

LEAST = '[subscriptions]\nsource = "rows.csv"\n'


def project_of(folder: Path, text: str) -> Project:
    file = folder / NAME
    file.write_text(text, encoding="utf-8")
    return read_project(file)


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    """A project is looked for from the folder upwards, and the first file ends the search."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_project(inner) is None
    (tmp_path / NAME).write_text(LEAST)
    assert find_project(inner) == tmp_path / NAME
    (inner.parent / NAME).write_text(LEAST)
    assert find_project(inner) == inner.parent / NAME


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """Whoever can write above our folder does not choose what we write; in a folder of theirs they may."""
    inner = tmp_path / "ours"
    inner.mkdir()
    (tmp_path / NAME).write_text(LEAST)
    os.chown(tmp_path / NAME, 12345, 12345)
    with pytest.raises(InputError, match="belongs to another user"):
        find_project(inner)
    os.chown(inner, 12345, 12345)
    assert find_project(inner) == tmp_path / NAME


def test_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths lead to the same place from every folder; URLs and absolute paths stay."""
    text = '[subscriptions]\nlogs = ["logs/*.log", "s3://bucket/logs"]\n'
    text += '[target]\ninventory = "/etc/brokers.csv"\n'
    project = project_of(tmp_path, text)
    (tmp_path / "inner").mkdir()
    for folder, before in ((tmp_path, ""), (tmp_path / "inner", "../")):
        monkeypatch.chdir(folder)
        assert project.source == f"{before}dataset"
        assert project.places(project.tables.subscriptions.logs) == [
            f"{before}logs/*.log",
            "s3://bucket/logs",
        ]
        assert project.place(project.tables.target.inventory) == "/etc/brokers.csv"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[subscriptons]\n", "has an unknown field 'subscriptons': did you mean 'subscriptions'?"),
        (LEAST + '[design]\nobjective = "front"\n', "design.objective is 'front', not 'edges'"),
        (LEAST + "sorce = 1\n", "subscriptions has an unknown field 'sorce': did you mean 'source'?"),
        (LEAST + "[design]\nmax_degre = 3\n", "'max_degre': did you mean 'max_degree'?"),
        (LEAST + "[design]\nk = 0\n", "design.k is 0, not a number of 1 or more"),
        (LEAST + "[design]\nseed = -1\n", "design.seed is -1"),
        (LEAST + '[routes]\nobjective = "fast"\n', "routes.objective is 'fast', not 'hops' or"),
        ("[design]\n", "has no field 'subscriptions'"),
        ("source = rows.csv\n", "is not TOML"),
    ],
)  # fmt: skip
def test_wrong_keys_are_named(text: str, error: str, tmp_path: Path) -> None:
    """What is unknown or wrong is refused with its place and, if there is one, the likely key."""
    with pytest.raises(FormatError) as caught:
        project_of(tmp_path, text)
    assert error in str(caught.value)
    assert str(tmp_path / NAME) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[subscriptions]\n", "either source or logs"),
        (LEAST + 'logs = ["x"]\n', "either source or logs"),
        (LEAST + '[publications]\ntraffic = "t"\nlogs = ["x"]\n', "publications has traffic and logs"),
        (LEAST + '[design]\nalgorithm = "lov"\n', "no algorithm 'lov': did you mean 'low'?"),
        (LEAST + '[routes]\nobjective = "stable"\n', "stable need today"),
        (LEAST + '[outputs]\nplan = "s3://bucket/plan"\n', "outputs has the URL s3://bucket/plan"),
    ],
)
def test_what_does_not_fit_together_is_refused(text: str, error: str, tmp_path: Path) -> None:
    """Keys that contradict each other, or lack each other, are refused before anything is done."""
    with pytest.raises(InputError) as caught:
        project_of(tmp_path, text)
    assert error in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A project file that is no file is an error with its path."""
    (tmp_path / NAME).mkdir()
    assert find_project(tmp_path) is None
    with pytest.raises(InputError, match="cannot read"):
        read_project(tmp_path / NAME)


def test_every_parameter_of_a_design_is_a_key(tmp_path: Path) -> None:
    """The table of the design takes the parameters of the registry, and gives those that are there."""
    project = project_of(tmp_path, LEAST + "[design]\nk = 2\nstrict = true\nratio = 0.5\n")
    assert project.parameters == {"k": 2, "strict": True, "ratio": 0.5}
    taken = set().union(*(design.parameters for design in DESIGNS.values())) - {"costs"}
    assert taken <= set(project.tables.design.__struct_fields__)
