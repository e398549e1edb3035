"""The lines of `meshwright federation`: a verdict, a storm and a window of churn, worded for people."""

from __future__ import annotations

from typing import Any

import pytest

import meshwright as mw
from meshwright.churn.events import CRASH, LEAVE
from meshwright.cli.deploy.federation import _format_storm
from meshwright.cli.deploy.federation_churn import _format_window, _random_events
from meshwright.cli.deploy.federation_run import format_verdict
from meshwright.deploy.federation.churn_verdict import Count, Window
from meshwright.deploy.federation.storm import Storm
from meshwright.deploy.federation.verdict import Verdict
from meshwright.workloads import zipf


def test_a_verdict() -> None:
    """The counts come first, then five faults of each kind, then latency by hops."""
    fault = ("x", "a", "b")
    verdict = Verdict(1_000, 2_000, (fault,) * 6, (fault,), (), {1: (1_234, 0.0042, 0.25), 2: (1, 3.0, 3.0)})
    assert format_verdict(verdict) == [
        "1,000 messages, 2,000 deliveries due: 6 missing, 1 duplicate, 0 leaked",
        *["  missing: 'x' published at 'a', at 'b'"] * 5,
        "  duplicate: 'x' published at 'a', at 'b'",
        "  1 hop: 4.2 ms on average, 250 ms for 95 % (1,234 deliveries)",
        "  2 hops: 3.0 s on average, 3.0 s for 95 % (1 deliveries)",
    ]


def test_a_storm() -> None:
    """A storm states deliveries and the factor; without a loop the line says why there is none."""
    assert _format_storm(Storm("x", "a", 6, 12_000)) == (
        "without trees: one message on 'x' made 12,000 deliveries in 2 s where 6 are due: 2,000 times as many"
    )
    assert _format_storm(None) == "without trees: the links of no topic have a loop, so there is no storm"


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "leave of b: 500 ms in 1 wave"),
        (
            {"waves": 2, "restarts": ["a", "c"], "reloads": ["d"]},
            "leave of b: 500 ms in 2 waves, 2 restarted, 1 reloaded",
        ),
        (
            {
                "spans": dict.fromkeys("xyz", (0.0, 1.0)),
                "changed_topics": frozenset("x"),
                "changed_trees": Count(9, 1_000, 1, 2),
                "unchanged_trees": Count(9, 20, 3, 4),
            },
            "leave of b: 500 ms in 1 wave; "
            "of 1,000 deliveries on 1 topics whose tree changes 1 missing, 2 duplicate; "
            "of 20 deliveries on 2 topics whose tree stays but a broker restarts or reloads "
            "3 missing, 4 duplicate",
        ),
        (
            {"unexcused": 2, "ended": 100.0},
            "leave of b: 1 min 40 s in 1 wave; 2 lost or duplicate on undisturbed paths; NOT over in time",
        ),
    ],
)
def test_a_window(fields: dict[str, Any], line: str) -> None:
    """A window states the event, its duration and actions, the counts of affected topics, and faults."""
    assert _format_window(Window("leave", "b", 0.0, **{"ended": 0.5, **fields})) == line


def test_every_second_leave_is_a_crash() -> None:
    """Random churn is that of the library, with every second leave as a crash of the same broker."""
    interest = zipf(12, 6, size=3, seed=0)
    events = _random_events(interest, 20, 1)
    plain = [event for round_ in mw.churn.random_churn(interest, 20, seed=1) for event in round_]
    assert [event.node for event in events] == [event.node for event in plain]
    assert [event.event for event in events if event.event in (LEAVE, CRASH)][:4] == [LEAVE, CRASH] * 2
    assert {event.event for event in plain} & {CRASH} == set()
