"""Sizes inside the engine that change its speed and memory, never its answer."""

from __future__ import annotations

from dataclasses import dataclass

from meshwright.errors import InputError


@dataclass(frozen=True)
class Tuning:
    """How the engine lays out its state; None means: chosen by the size of the interest."""

    window: int | None = None
    """How many of its best pairs a row keeps."""
    heavy: int | None = None
    """The number of subscribers from which a topic has a bit row."""
    large: int | None = None
    """The size from which a component has a bit row."""
    giant: int = 8
    """The size from which a component may be its topic's giant."""
    node_bits: bool | None = None
    """Whether contributions are counted by bits of topics, or by lists."""

    counted: int | None = None
    """The number of subscribers below which a topic is counted for each pair of them; 0 for none."""

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise InputError(f"a window of {self.window} pairs: give at least 1")
