"""Users whose broker has died, or could not take them over: they are let in where there is room."""

from __future__ import annotations

from collections.abc import Iterator

from meshwright.content.migration import verbs
from meshwright.content.migration.desk import Desk, Guest
from meshwright.content.migration.settling import Settling
from meshwright.content.migration.verbs import Entry


class Admission:
    """Those who wait for the baton to come, so that they can be written down."""

    def __init__(self, desk: Desk, settling: Settling) -> None:
        self._desk, self._settling = desk, settling
        self.waiting: list[int] = []

    def ask(self, user: int) -> None:
        """Put a user on the list."""
        if user not in self.waiting:
            self.waiting.append(user)

    def let_in(self, generation: int) -> Iterator[Entry]:
        """Write down those for whom there is room, refuse the others; only with the baton."""
        desk = self._desk
        waiting, self.waiting = self.waiting, []
        for user in waiting:
            if desk.ledger.running.has_room(user, desk.me):
                entry = desk.ledger.add(user, desk.me, generation, paid=False)
                self._welcome(user, entry.version)
                yield entry
            else:
                left = desk.guests.pop(user, None)
                desk.to_user(user, verbs.Refused())
                for parcel in left.waiting if left is not None else ():
                    self._settling.custody.take(user, parcel)

    def _welcome(self, user: int, version: int) -> None:
        desk = self._desk
        guest = desk.guests.setdefault(user, Guest())
        guest.connected, guest.home, guest.version = True, None, version
        desk.departed.pop(user, None)
        desk.to_user(user, verbs.Registered(version))
        self._settling.custody.located(user, desk.me, version)
        desk.to_all(verbs.Located(user, desk.me, version))
        self._settling.custody.release(user)
