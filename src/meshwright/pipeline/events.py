"""What a record says beside its names: whether it subscribes or unsubscribes, when, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from meshwright.pipeline import rows
from meshwright.pipeline.checking import checked
from meshwright.pipeline.options import moment

if TYPE_CHECKING:
    import pyarrow as pa

    from meshwright.pipeline.options import Reading
    from meshwright.pipeline.text import Run

WHAT = ("time", "operation", "sequence")
OPERATIONS = {"subscribe": False, "sub": False, "unsubscribe": True, "unsub": True}
"""The operations, in any case of letters, and whether each one leaves the topic."""


def columns(reading: Reading) -> list[tuple[str, str, bool]]:
    """Return what is looked for in a record, each with its column and whether that must be there."""
    found = [("node", reading.node, True), ("topic", reading.topic, True)]
    for what in WHAT:
        if reading.publications and what == "operation":
            continue
        default = "size" if reading.publications and what == "sequence" else what
        asked: str | None = getattr(reading, what)
        found.append((what, asked or default, asked is not None))
    return found


class Rows:
    """Rows made one by one from the records of a run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.found: dict[str, list[Any]] = {
            name: [] for name in ("place", "node", "topic", "time", "sequence", "leaves", "record", "reason")
        }

    def refuse(self, place: int, record: bytes | str, reason: str) -> None:
        """Set a record aside."""
        self._add(place=place, record=record, reason=reason)

    def take(self, place: int, record: bytes | str, fields: Mapping[str, Any]) -> None:
        """Take a record's fields: names and sequence as texts or integers, the time as text or number."""
        values: dict[str, Any] = {"time": None, "sequence": None, "leaves": None}
        for what, read in (("time", _time), ("operation", _leaves), ("sequence", _sequence)):
            given = fields.get(what)
            if given is None or given == "":
                continue
            value, reason = read(given)
            if reason is not None:
                self.refuse(place, record, reason)
                return
            values["leaves" if what == "operation" else what] = value
        names = {}
        for what in ("node", "topic"):
            name = fields.get(what)
            if isinstance(name, bool) or not (name is None or isinstance(name, (str, int))):
                self.refuse(place, record, f"{what} name is no string and no integer")
                return
            names[what] = None if name is None else str(name)
            if name is not None and not _is_text(names[what]):
                self.refuse(place, record, rows.NOT_UTF8)
                return
        self._add(place=place, record=record, **names, **values)

    def _add(self, **given: Any) -> None:
        for name, column in self.found.items():
            column.append(given.get(name))

    def batch(self) -> pa.RecordBatch:
        """Return what was made."""
        import pyarrow as pa

        kinds = rows.arrow_schema()
        arrays = {
            name: pa.array(column, kinds.field(name).type)
            for name, column in self.found.items()
            if name != "record"
        }
        reasons = arrays.pop("reason")
        kept = pa.array([_bytes(record) for record in self.found["record"]], pa.binary())
        return checked(kept, reasons, source=self.run.source, block=self.run.block, **arrays)


def _bytes(record: bytes | str) -> bytes:
    return record if isinstance(record, bytes) else record.encode("utf-8", "surrogatepass")


def _is_text(name: str | None) -> bool:
    """Tell whether a name can be written as UTF-8: JSON may hold half a pair of surrogates."""
    return name is None or name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _time(given: object) -> tuple[float | None, str | None]:
    read = (
        moment(str(given)) if isinstance(given, (str, int, float)) and not isinstance(given, bool) else None
    )
    return read, rows.BAD_TIME if read is None else None


def _leaves(given: object) -> tuple[bool | None, str | None]:
    leaves = OPERATIONS.get(given.strip().lower()) if isinstance(given, str) else None
    return leaves, rows.UNKNOWN_OPERATION if leaves is None else None


def _sequence(given: object) -> tuple[int | None, str | None]:
    try:
        number = int(given) if isinstance(given, (str, int)) and not isinstance(given, bool) else None
    except ValueError:
        number = None
    if number is None or abs(number) >= 2**63:
        return None, rows.BAD_SEQUENCE
    return number, None
