"""Distributed assignment: users and brokers as agents that agree on moves by messages (cbps, section V)."""

from meshwright.content.migration.run import TRANSPORTS, Migration, migrate
from meshwright.content.migration.terms import Crash, CrashAt, Terms

__all__ = ["TRANSPORTS", "Crash", "CrashAt", "Migration", "Terms", "migrate"]
