"""Live overlays: nodes join, leave and crash, and every change is repaired at once.

>>> import meshwright as mw
>>> live = mw.LiveOverlay(mw.design({"a": {"x"}, "b": {"x"}}, "gm"))
>>> live.apply([mw.churn.Event("join", "c", ("x",)), mw.churn.Event("leave", "a")])
Repair(batch c, a: 1 link added, 1 removed)
"""

from meshwright.churn.chaos import RepairCost, Scenario, chaos
from meshwright.churn.events import EVENTS, Event, FilterEvents, random_churn
from meshwright.churn.live import LiveOverlay
from meshwright.churn.repair import COVERS, POLICIES, Policy, Repair
from meshwright.churn.replay import FromScratch, Replay, Scratch, happen, replay

__all__ = [
    "COVERS",
    "EVENTS",
    "POLICIES",
    "Event",
    "FilterEvents",
    "FromScratch",
    "LiveOverlay",
    "Policy",
    "Repair",
    "RepairCost",
    "Replay",
    "Scenario",
    "Scratch",
    "chaos",
    "happen",
    "random_churn",
    "replay",
]
