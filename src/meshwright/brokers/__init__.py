"""Broker processes on this machine: find the program, choose ports, start, stop and supervise."""
