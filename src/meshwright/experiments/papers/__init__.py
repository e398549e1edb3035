"""The papers: each module has one or more figures, and the module named by the paper its `PAPER`."""
