"""Broker processes on this machine: found, started, watched and stopped."""
