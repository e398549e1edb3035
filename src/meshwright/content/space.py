"""The content space: attributes with ranges, subscriptions as boxes, and the channels that it is cut into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meshwright.arrays import Floats
from meshwright.errors import InputError, first_five

MOST_CELLS = 1 << 22
"""More cells than this are rejected: they would take gigabytes."""


class Attribute(NamedTuple):
    """One dimension of a content space: its name and the range of its values."""

    name: str
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, eq=False)
class Boxes:
    """Subscriptions as boxes in the content space; a user may have none, one or several, which may overlap.

    A box includes its lower ends and excludes its upper ones, except for the upper end of the space.
    """

    user: NDArray[np.int64]
    """The user of each box."""
    low: Floats
    """Boxes × attributes: where each box begins."""
    high: Floats
    """Boxes × attributes: where each box ends."""

    def clip(self, attributes: Sequence[Attribute], users: int) -> Boxes:
        """Return the boxes as arrays, cut off at the borders of the space.

        Raises
        ------
        InputError
            If a box has no user, is empty, or lies outside of the space.
        """
        user = np.asarray(self.user, dtype=np.int64).reshape(-1)
        low, high = (
            np.asarray(ends, dtype=np.float64).reshape(len(user), len(attributes))
            for ends in (self.low, self.high)
        )
        first = np.array([attribute.low for attribute in attributes])
        last = np.array([attribute.high for attribute in attributes])
        for bad, why in (
            ((user < 0) | (user >= users), f"belong to no user from 0 to {users - 1}"),
            (~(low < high).all(axis=1), "are empty or not numbers: give each one low < high"),
            (~((low < last) & (high > first)).all(axis=1), "lie outside of the content space: move them"),
        ):
            if bad.any():
                raise InputError(f"boxes {first_five(np.flatnonzero(bad).tolist())} {why}")
        return Boxes(user, np.maximum(low, first), np.minimum(high, last))

    def by_user(self) -> Iterator[NDArray[np.int64]]:
        """Yield the boxes of each user that has any, users ascending."""
        order = np.argsort(self.user, kind="stable")
        bounds = np.flatnonzero(np.diff(self.user[order], prepend=-1, append=-1))
        for begin, end in pairwise(bounds):
            yield order[begin:end]


@dataclass(frozen=True, eq=False)
class Channels:
    """A content space that is cut into cells along each attribute; each cell belongs to one channel."""

    attributes: tuple[Attribute, ...]
    edges: tuple[Floats, ...]
    """For each attribute, the places of the cuts, both borders of the space included."""
    of_cell: NDArray[np.int64]
    """The channel of each cell; one dimension for each attribute."""
    names: tuple[str, ...]
    """The name of each channel."""

    def __len__(self) -> int:
        return len(self.names)

    def met_by(self, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all pairs of a user and a channel that the user's boxes meet, ascending."""
        found = []
        for user, low, high in zip(boxes.user.tolist(), boxes.low, boxes.high, strict=True):
            own = np.unique(self.of_cell[self.cells(low, high)])
            found.append(user * len(self) + own)
        keys = np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)
        return keys // max(len(self), 1), keys % max(len(self), 1)

    def cells(self, low: Floats, high: Floats) -> tuple[slice, ...]:
        """Return the cells that a box meets, as a slice along each attribute."""
        return cells_of_box(self.edges, low, high)


def cells_of_box(edges: Sequence[Floats], low: Floats, high: Floats) -> tuple[slice, ...]:
    """Return the cells between edges that a box meets, as a slice along each attribute."""
    return tuple(
        slice(
            max(int(np.searchsorted(cuts, begin, side="right")) - 1, 0),
            int(np.searchsorted(cuts, end, side="left")),
        )
        for cuts, begin, end in zip(edges, low, high, strict=True)
    )


def covered_cells(edges: Sequence[Floats], low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Return whether each cell between edges is in one of some boxes: one dimension for each attribute."""
    covered = np.zeros([len(cuts) - 1 for cuts in edges], dtype=bool)
    for begin, end in zip(low, high, strict=True):
        covered[cells_of_box(edges, begin, end)] = True
    return covered


def grid(attributes: Sequence[Attribute], parts: Sequence[int]) -> Channels:
    """Cut each attribute into equal parts; every cell is a channel of its own.

    Raises
    ------
    InputError
        For attributes without a range, fewer than one part, or more than 4 million cells.

    Examples
    --------
    >>> grid([Attribute("price", 0, 10)], [4]).names
    ('0', '1', '2', '3')
    >>> grid([Attribute("price", 0, 10), Attribute("age")], [2, 2]).names
    ('0,0', '0,1', '1,0', '1,1')
    """
    attributes = _check_attributes(attributes)
    if len(parts) != len(attributes):
        raise InputError(f"{len(parts)} numbers of parts for {len(attributes)} attributes: give one for each")
    for attribute, part in zip(attributes, parts, strict=True):
        if part < 1:
            raise InputError(f"{attribute.name} cut into {part} channels: give at least 1")
    _check_cells(parts)
    edges = tuple(
        np.linspace(attribute.low, attribute.high, part + 1)
        for attribute, part in zip(attributes, parts, strict=True)
    )
    # Leading zeros keep the order of names that of positions.
    digits = [len(str(part - 1)) for part in parts]
    names = tuple(
        ",".join(f"{place:0{width}}" for place, width in zip(cell, digits, strict=True))
        for cell in product(*(range(part) for part in parts))
    )
    return Channels(attributes, edges, np.arange(len(names)).reshape(tuple(parts)), names)


def channels_from_boxes(attributes: Sequence[Attribute], boxes: Boxes, users: int) -> Channels:
    """Cut the space along the boxes themselves: two places are in one channel if the same users want both.

    So no box is over-approximated. The number of cells grows with the number of boxes to the power of the
    number of attributes; if there are more than 4 million, use a grid. Channels are numbered by their first
    cell.

    Raises
    ------
    InputError
        For attributes without a range, bad boxes (see `Boxes.clip`), or too many cells.

    Examples
    --------
    >>> boxes = Boxes(np.array([0, 1]), np.array([[0.0], [0.25]]), np.array([[0.5], [1.0]]))
    >>> channels_from_boxes([Attribute("x")], boxes, 2).of_cell
    array([0, 1, 2])
    """
    attributes = _check_attributes(attributes)
    boxes = boxes.clip(attributes, users)
    edges = tuple(
        np.unique(np.concatenate(([attribute.low, attribute.high], boxes.low[:, axis], boxes.high[:, axis])))
        for axis, attribute in enumerate(attributes)
    )
    shape = tuple(len(cuts) - 1 for cuts in edges)
    _check_cells(shape)
    signature = _signatures(boxes, edges, users)
    _, first, which = np.unique(signature, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    width = len(str(len(first) - 1))
    names = tuple(f"{number:0{width}}" for number in range(len(first)))
    return Channels(attributes, edges, rank[which.reshape(-1)].reshape(shape), names)


def _signatures(boxes: Boxes, edges: tuple[Floats, ...], users: int) -> NDArray[np.uint64]:
    """Return 128 bits for each cell that identify its set of users: the sum of each user's random bits.

    A user counts once in a cell, even if several of its boxes cover it, so its boxes are joined first.
    """
    shape = tuple(len(cuts) - 1 for cuts in edges)
    bits = np.random.Generator(np.random.PCG64(0)).integers(0, 2**64, (users, 2), dtype=np.uint64)
    sums = np.zeros((*shape, 2), dtype=np.uint64)
    for own in boxes.by_user():
        if len(own) == 1:
            sums[cells_of_box(edges, boxes.low[own[0]], boxes.high[own[0]])] += bits[boxes.user[own[0]]]
        else:
            sums[covered_cells(edges, boxes.low[own], boxes.high[own])] += bits[boxes.user[own[0]]]
    return sums.reshape(-1, 2)


def _check_attributes(attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
    if not attributes:
        raise InputError("a content space without attributes: give at least one")
    bad = [it.name for it in attributes if not -np.inf < it.low < it.high < np.inf]
    if bad:
        raise InputError(f"attributes {first_five(bad)} have no range: give finite low < high")
    return tuple(attributes)


def _check_cells(parts: Sequence[int]) -> None:
    cells = 1
    for part in parts:
        cells *= int(part)
    if cells > MOST_CELLS:
        raise InputError(f"{cells:,} cells are more than {MOST_CELLS:,}: use a coarser grid")
