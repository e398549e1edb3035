"""Reader of edge lists in SNAP format: one `follower followee` per line; # or % starts a comment line.

Further columns, such as weights, are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.pipeline.readers import text
from meshwright.pipeline.readers.fields import NOT_UTF8
from meshwright.pipeline.readers.formats import Reading
from meshwright.pipeline.readers.rows import Bad, Rows, make_rows
from meshwright.pipeline.readers.sources import Stretch
from meshwright.pipeline.readers.text import Window

COMMENT = r"^\s*([#%]|$)"
GAP = r"[\s,;]+"
ONE_END = "fewer than two columns"


def read_edges(stretch: Stretch, reading: Reading) -> Iterator[Rows]:
    """Yield the rows of a stretch: `u v` means that u subscribes to v and, both ways, v also to u."""
    for window in text.windows(stretch):
        made = parse_window(window, stretch)
        yield made
        if reading.both_ways:
            good = len(made.node)
            yield replace(made, lines=0, node=made.topic, topic=made.node, bad=Bad(), read=good)


def parse_window(window: Window, stretch: Stretch) -> Rows:
    """Parse the lines of a window, all at once."""
    bad = Bad()
    lines, numbers = window.lines(), np.arange(len(window))
    try:
        given = pa.array(lines, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        numbers = np.array([at for at, line in enumerate(lines) if text.is_utf8(line)], dtype=np.int64)
        for at in sorted(set(range(len(lines))) - set(numbers.tolist())):
            bad.add(int(window.places[at]), lines[at], NOT_UTF8)
        given = pa.array([lines[at].decode() for at in numbers], pa.string())
    rows = pc.invert(pc.match_substring_regex(given, COMMENT))
    given, numbers = given.filter(rows), numbers[rows.to_numpy(zero_copy_only=False)]
    too_long = pc.greater(pc.binary_length(given), text.LONGEST_LINE).to_numpy(zero_copy_only=False)
    fields = pc.split_pattern_regex(pc.utf8_trim_whitespace(given), GAP)
    fits = pc.greater_equal(pc.list_value_length(fields), 2)
    both = pc.if_else(fits, fields, pa.scalar(["-", "-"], fields.type))
    columns = {"node": pc.list_element(both, 0), "topic": pc.list_element(both, 1)}
    reasons = [(too_long, text.TOO_LONG), (~fits.to_numpy(zero_copy_only=False), ONE_END)]
    return make_rows(
        stretch,
        len(window),
        window.places[numbers],
        columns,
        lambda row: lines[numbers[row]],
        bad,
        further=reasons,
    )
