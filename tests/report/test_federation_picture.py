"""The picture of a federation: brokers at fault stand out, and names are left out when they would overlap."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshwright.errors import InputError
from meshwright.report.federation_picture import MOST_NAMES, federation_picture
from meshwright.report.sheet import COLOURS

BRIDGES = {("b", "a"): 1, ("c", "b"): 4}


def drawn(path: Path, brokers: int = 3, **named: object) -> str:
    """Return the SVG of a federation."""
    names = [*"abc", *(f"broker{number}" for number in range(3, brokers))]
    return federation_picture(names, BRIDGES, path / "f.svg", **named).read_text().lower()  # type: ignore[arg-type]


def test_brokers_at_fault_have_another_colour(tmp_path: Path) -> None:
    """The colour of faults appears only if a broker is at fault."""
    assert COLOURS[2].lower() not in drawn(tmp_path)
    assert COLOURS[2].lower() in drawn(tmp_path, faulty={"b"})
    assert COLOURS[1].lower() not in drawn(tmp_path, faulty=set("abc"))


def test_bridges_with_more_topics_are_wider(tmp_path: Path) -> None:
    """The widest bridge has the most topics, and the others are in proportion."""
    text = drawn(tmp_path)
    assert "stroke-width: 3.6" in text
    assert "stroke-width: 1.35" in text


def test_names_and_title(tmp_path: Path) -> None:
    """Names are drawn for up to the limit of brokers, cut to 16 letters; the title is drawn if given."""
    few, many = (drawn(tmp_path, count).count("<!-- ") for count in (MOST_NAMES, MOST_NAMES + 1))
    assert few - many == MOST_NAMES
    assert "<!-- proof -->" in drawn(tmp_path, title="Proof")
    long = federation_picture(["x" * 20], {}, tmp_path / "f.svg").read_text()
    assert f"<!-- {'x' * 16} -->" in long


def test_an_empty_federation_can_be_drawn(tmp_path: Path) -> None:
    """No brokers make an empty picture; an unknown format is refused."""
    assert federation_picture([], {}, tmp_path / "f.png") == tmp_path / "f.png"
    assert (tmp_path / "f.png").stat().st_size > 0
    with pytest.raises(InputError, match="txt"):
        federation_picture([], {}, tmp_path / "f.txt")
