"""Figures spelled for people do not mislead."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import meshwright as mw
from meshwright.designs import DESIGNS, Plan
from meshwright.formatting import duration, percentage
from meshwright.report.tables import name_of


@given(st.floats(0, 1))
def test_only_all_is_100_percent(share: float) -> None:
    """'100 %' is said of everything only and '0 %' of nothing only; else it is within 0.1 of the truth."""
    text = percentage(share)
    assert (text == "100 %") == (share == 1)
    assert (text == "0 %") == (share == 0)
    assert abs(float(text.removesuffix(" %")) - share * 100) <= 0.1 + 1e-9


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_durations_keep_their_order(one: float, other: float) -> None:
    """A longer time is never spelled as a shorter one."""

    def seconds(text: str) -> float:
        units = {"ms": 0.001, "s": 1.0, "min": 60.0}
        words = text.split()
        return sum(float(n) * units[u] for n, u in zip(words[::2], words[1::2], strict=True))

    short, long = sorted((one, other))
    assert seconds(duration(short)) <= seconds(duration(long))


def test_a_design_is_named_with_its_parameters() -> None:
    """A plan is called by its design's title and its parameters; a design unknown here by its own name."""
    overlay = mw.Overlay.empty(mw.Interest.from_dict({"a": {"x"}}))
    assert name_of(Plan(overlay, "gm", {}, 0, 0.0)) == DESIGNS["gm"].title
    assert name_of(Plan(overlay, "gpa", {"max_edges": 5000}, 0, 0.0)) == "GPA (max edges = 5,000)"
    assert name_of(Plan(overlay, "low", {"k": 2.5}, 0, 0.0)) == "Low-ODA (k = 2.5)"
    assert name_of(Plan(overlay, "from the future", {}, 0, 0.0)) == "from the future"
