"""Names of nodes and topics as Arrow columns: checked, sorted, numbered, looked up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.arrays import is_whole
from meshwright.arrow import as_text, from_numpy, from_strings, is_text, to_numpy
from meshwright.errors import InputError, first_five, first_rows

Name: TypeAlias = str | int
"""The name of a node or a topic."""
TopicKind: TypeAlias = Literal["mqtt", "plain"]
"""What topics are: MQTT filters, which may have wildcards and overlap, or plain names."""
MQTT: TopicKind = "mqtt"
PLAIN: TopicKind = "plain"
TOPIC_KINDS = MQTT, PLAIN
SHOWN = 60
"""The most characters of a wrong value in an error."""
LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""The range of names that are integers."""
CANNOT_CONVERT = (ValueError, pa.ArrowTypeError, OverflowError)
"""What pyarrow raises for values that no column can hold, and for columns of pandas with the same name."""


def name_column(values: Iterable[Name], what: str) -> pa.ChunkedArray:
    """Turn names into an Arrow column of strings or of 64-bit integers, without nulls.

    It stays in chunks, because one array of strings holds at most 2 GiB of text.
    """
    if isinstance(values, str):
        raise InputError(f"{what}s are one string; give a list of names")
    if not isinstance(values, Iterable):
        raise InputError(f"{what}s are of type {type(values).__name__}: give a list of names")
    column = values
    try:
        if not isinstance(column, (pa.Array, pa.ChunkedArray)):
            column = name_array(column)
        if isinstance(column, pa.Array):
            column = pa.chunked_array([column])
        if pa.types.is_dictionary(column.type):
            column = _decoded(column)
        if pa.types.is_integer(column.type):
            column = column.cast(pa.int64())
    except CANNOT_CONVERT as error:
        why = first_misfit(values) or str(error).splitlines()[0]
        raise InputError(f"{what} names must be all strings or all integers of 64 bits: {why}") from error
    if column.null_count:
        rows = np.flatnonzero(to_numpy(column.is_null()))
        raise InputError(f"no {what} name in {first_rows(rows)} (from 1): fill every gap, or drop its row")
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    if is_text(column.type) or pa.types.is_int64(column.type):
        return column
    if len(column) == 0:
        return pa.chunked_array([], pa.string())
    raise InputError(f"{what} names are of type {column.type}: give strings or integers")


def name_array(values: Iterable[Name]) -> pa.Array:
    """Turn names into an Arrow array; only odd ones need pyarrow's own conversion, which is slow to start."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu":
        return from_numpy(values)
    listed: Any = values if isinstance(values, (list, np.ndarray)) else list(values)
    kinds = set(map(type, listed))
    if kinds == {str}:
        return from_strings(listed)
    if kinds == {int}:
        return from_numpy(np.array(listed, dtype=np.int64))
    return pa.array(listed) if len(listed) else pa.nulls(0)


def arrow_columns(data: Any, *columns: str) -> list[pa.ChunkedArray]:
    """Return columns of anything with the Arrow stream protocol; each must be there once."""
    table = _arrow_table(data)
    for column in columns:
        if column not in table.column_names:
            raise InputError(
                f"no column {column!r}; the columns are {first_five(table.column_names)}: "
                "rename one, or give node= and topic="
            )
        _check_single(table.column_names, column)
    return [table.column(column) for column in columns]


def _arrow_table(data: Any) -> pa.Table:
    """Return a table of anything with the Arrow stream protocol.

    Raises
    ------
    InputError
        If it has no such protocol, pandas has several columns of the same name, or a column has values of
        several types; the error names the first.
    """
    if not hasattr(data, "__arrow_c_stream__"):
        raise InputError(
            f"{type(data).__name__} does not offer __arrow_c_stream__: "
            "give an Arrow, pandas, polars or DuckDB table"
        )
    try:
        return pa.table(data)
    except CANNOT_CONVERT as error:
        columns = list(getattr(data, "columns", ()))
        for column in columns:
            _check_single(columns, column)
        column = next((name for name in columns if _fails(data, name)), None)
        why = None if column is None else first_misfit(data[column])
        start = "a column has mixed or unusable types"
        if why is not None:
            start = f"column {column!r} has mixed or unusable types"
        reason = why or str(error.args[0] if error.args else error).splitlines()[0]
        raise InputError(f"{start}: {reason}; give all strings or all integers") from error


def _check_single(columns: Sequence[Any], column: Any) -> None:
    """Raise an InputError if several columns of a table have this name."""
    if columns.count(column) > 1:
        raise InputError(f"more than one column {column!r}: keep one of them")


def _fails(data: Any, column: Any) -> bool:
    """Return whether a column of a data frame cannot become an Arrow column by itself."""
    try:
        pa.array(data[column])
    except CANNOT_CONVERT:
        return True
    return False


def first_misfit(values: Iterable[Any]) -> str | None:
    """Name the first value that is no name, or of another type than the names before it; None if all fit.

    >>> first_misfit(["a", None, 1]), first_misfit([2.5]), first_misfit([1, 2])
    ("row 3 is 1, unlike 'a' in row 1", 'row 1 is 2.5', None)
    """
    first: tuple[int, Any] | None = None
    for row, value in enumerate(map(_plain, values), start=1):
        if value is None or (isinstance(value, float) and np.isnan(value)):
            continue
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            return f"row {row} is {repr(value)[:SHOWN]}"
        first = first or (row, value)
        if isinstance(value, str) != isinstance(first[1], str):
            return f"row {row} is {repr(value)[:SHOWN]}, unlike {repr(first[1])[:SHOWN]} in row {first[0]}"
        if isinstance(value, int) and not LOWEST <= value <= HIGHEST:
            return f"row {row} is {repr(value)[:SHOWN]}, outside of the range of int64"
        if isinstance(value, str) and not _is_unicode(value):
            return f"row {row} is {repr(value)[:SHOWN]}, which has half of a surrogate pair"
    return None


def _plain(value: Any) -> Any:
    """Return the Python value of a scalar of Arrow or numpy."""
    if isinstance(value, pa.Scalar):
        return value.as_py()
    return value.item() if isinstance(value, np.generic) else value


def _is_unicode(name: str) -> bool:
    """Return whether UTF-8 can spell a string."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode a dictionary-encoded column."""
    kind = column.type.value_type
    if not pa.types.is_integer(kind):
        kind = pa.large_string()  # any length; and `take` does not work on the string views of polars
    chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def encode_names(
    column: pa.ChunkedArray, further: pa.ChunkedArray, what: str
) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return the sorted distinct names of both columns, and the position of each entry of the first."""
    given = [part for part in (column, further) if len(part)]
    if len({pa.types.is_integer(part.type) for part in given}) == 2:
        raise InputError(f"{what} names must be all strings or all integers, not both")
    if not given:
        return pa.nulls(0, column.type), np.zeros(0, dtype=np.int64)
    chunks = [chunk for part in given for chunk in part.cast(given[0].type).chunks]
    encoded = pa.chunked_array(chunks).dictionary_encode()  # its chunks share one dictionary
    distinct = encoded.chunk(0).dictionary
    names, rank = sort_names(distinct if pa.types.is_integer(distinct.type) else as_text(distinct))
    ids = np.concatenate([rank[to_numpy(chunk.indices)] for chunk in encoded.chunks])
    return names, ids[: len(column)]


def sort_names(names: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Sort names (strings by their UTF-8 bytes); return them, and the new position of each."""
    order = pc.sort_indices(names)
    rank = np.empty(len(names), dtype=np.int64)
    rank[to_numpy(order)] = np.arange(len(names))
    return names.take(order), rank


def sorted_names(names: pa.Array, what: str) -> pa.Array:
    """Return names as `name_column` has them; raise an InputError unless they ascend, each once."""
    if not isinstance(names, pa.Array):
        raise InputError(f"{what} names are of type {type(names).__name__}: give an Arrow array")
    column = name_column(names, what)
    checked = column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
    rises = to_numpy(pc.less(checked[:-1], checked[1:]))
    if not rises.all():
        late = np.flatnonzero(~rises) + 1
        raise InputError(
            f"{what} names {first_five(checked.take(from_numpy(late)).to_pylist())} are not above the name "
            "before them: sort names (strings by their UTF-8 bytes), each once, or use Interest.from_pairs"
        )
    return checked


def axis_names(names: Sequence[Name] | None, length: int, what: str, axis: str) -> pa.ChunkedArray:
    """Return the names of a matrix's rows or columns, one distinct name for each; numbers by default."""
    if names is None:
        return pa.chunked_array([from_numpy(np.arange(length))])
    column = name_column(names, what)
    if len(column) != length:
        raise InputError(f"{len(column)} {what} names for {length} {axis}s: give one for each {axis}")
    if len(column.unique()) != length:
        raise InputError(f"{what} names are not distinct: give each {axis} its own name")
    return column


def position_of(names: pa.Array, name: Name, what: str) -> int:
    """Return the position of a name.

    Raises
    ------
    InputError
        If it is unknown.
    """
    is_name = isinstance(name, str) if is_text(names.type) else is_whole(name)
    found = -1
    if is_name:
        with suppress(pa.ArrowInvalid, OverflowError, UnicodeEncodeError):  # no name of this type can be it
            found = names.index(name_array([_plain(name)]).cast(names.type)[0]).as_py()
    if found < 0:
        shown = " ".join(repr(name).split("\n"))
        raise InputError(f"no {what} {shown} among the {len(names)} {what}s")
    return int(found)


def guess_topic_kind(topic_names: pa.Array) -> TopicKind:
    """Return `mqtt` if some topic has a level that is a wildcard, else `plain`."""
    if not is_text(topic_names.type):
        return PLAIN
    wild = pc.match_substring_regex(topic_names, r"(^|/)(\+(/|$)|#$)")
    return MQTT if pc.any(wild, min_count=0).as_py() else PLAIN


def check_topic_kind(kind: str | None) -> TopicKind | None:
    """Return a kind of topics, or None for one that is not stated.

    Raises
    ------
    InputError
        If it is neither `mqtt` nor `plain` nor None.
    """
    if kind is None:
        return None
    for known in TOPIC_KINDS:
        if kind == known:
            return known
    raise InputError(f"no topic kind {kind!r}: choose {' or '.join(TOPIC_KINDS)}")


def graph_columns(graph: Any) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return the node and the topic of each subscription in a networkx graph, all its nodes, and all topics.

    If its nodes have the attribute `bipartite`, those with 0 are nodes and those with 1 are topics. In any
    other graph each node is a topic too, and an undirected edge stands for a subscription both ways.
    """
    if not (hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise InputError(f"{type(graph).__name__} is not a networkx graph: give a Graph or a DiGraph")
    pairs = [(u, v) for u, v, *_ in graph.edges]
    side = dict(graph.nodes(data="bipartite"))
    if all(value is None for value in side.values()):
        if not graph.is_directed():
            pairs += [(v, u) for u, v in pairs if u != v]
        return [u for u, _ in pairs], [v for _, v in pairs], list(graph.nodes), list(graph.nodes)
    unsaid = [name for name, value in side.items() if value not in (0, 1)]
    if unsaid:
        raise InputError(f"nodes {first_five(unsaid)} have no bipartite = 0 or 1: set it on all")
    pairs = [(u, v) if side[u] == 0 else (v, u) for u, v in pairs]
    wrong = [pair for pair in pairs if side[pair[0]] == side[pair[1]]]
    if wrong:
        raise InputError(f"edges {first_five(wrong)} join two of one side: join nodes to topics")
    nodes, topics = ([name for name, value in side.items() if value == own] for own in (0, 1))
    return [node for node, _ in pairs], [topic for _, topic in pairs], nodes, topics
