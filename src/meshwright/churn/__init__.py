"""Overlays that live: nodes join, leave and crash, and every change is repaired at once."""

from meshwright.churn.events import EVENTS, Event
from meshwright.churn.live import LiveOverlay
from meshwright.churn.policy import COVERS, POLICIES, Policy
from meshwright.churn.repair import Repair

__all__ = ["COVERS", "EVENTS", "POLICIES", "Event", "LiveOverlay", "Policy", "Repair"]
