"""Distributed assignment: users and brokers as agents that agree on moves by messages (cbps, section V)."""

from meshwright.content.migration.broker_state import Crash, CrashAt, Terms
from meshwright.content.migration.run import TRANSPORTS, Migration, migrate

__all__ = ["TRANSPORTS", "Crash", "CrashAt", "Migration", "Terms", "migrate"]
