"""Actions: one module for each thing a person does, called alike by the command line and by Python.

An action takes typed input and returns a typed result with `to_dict()`. It reads and writes files through the
store, reports progress by the one callback, and prints nothing.
"""
