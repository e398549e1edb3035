"""One user's way from its home broker to the foreign one: replicate, connect, redirect (cbps, section V).

The foreign broker agrees only when the line of the ledger by which the user moves has come to it. So if it
lives, that line does too, whoever else dies: nobody is moved by a line that is lost, and its room is kept.
"""

from __future__ import annotations

from meshwright.content.migration import verbs
from meshwright.content.migration.desk import Departed, Desk, Guest
from meshwright.content.migration.ledger import GENERATION
from meshwright.content.migration.settling import Settling
from meshwright.content.migration.verbs import Entry


class Handover:
    """Users that are leaving this broker, and those that come."""

    def __init__(self, desk: Desk, settling: Settling) -> None:
        self._desk, self._settling = desk, settling
        self.leaving: dict[int, Entry] = {}

    def begin(self, entry: Entry) -> None:
        """Tell the foreign broker about a user; until it agrees, the user is served here."""
        self.leaving[entry.user] = entry
        self._desk.port.send(entry.broker, verbs.Replicate(entry.user, entry.version))

    def replicate(self, home: int, user: int, version: int) -> None:
        """Expect a user, and agree if the line by which it comes is here."""
        guest = self._desk.guests.setdefault(user, Guest())
        guest.home, guest.version = home, version
        self.agree(user)

    def agree(self, user: int) -> None:
        """Agree to a user's coming if the line by which it comes is here and nobody has been told so."""
        guest = self._desk.guests[user]
        if guest.home is not None and not guest.connected and self._desk.ledger.holds(guest.version):
            self._desk.port.send(guest.home, verbs.Replicated(user, guest.version))

    def new_lines(self, first: int) -> None:
        """Agree to whoever comes by the lines of the ledger from this one on."""
        for entry in self._desk.ledger.entries[first:]:
            guest = self._desk.guests.get(entry.user)
            if guest is not None and guest.version == entry.version:
                self.agree(entry.user)

    def replicated(self, user: int, version: int) -> None:
        """Send a user to its new broker, and what is known of it as well; from now on forward its mail."""
        desk = self._desk
        entry = self.leaving.get(user)
        if entry is None or entry.version != version:
            return
        del self.leaving[user]
        guest = desk.guests.pop(user)
        self._settling.tell_settled(user, guest)
        desk.to_user(user, verbs.ConnectTo(entry.broker, version))
        unsettled = [(number, kept[0], sorted(kept[1])) for number, kept in guest.unsettled.items()]
        desk.port.send(entry.broker, verbs.HandOver(user, unsettled))
        desk.departed[user] = Departed(entry.broker, desk.port.now() + desk.terms.ttl)
        self._settling.custody.located(user, entry.broker, version)

    def handed_over(self, user: int, unsettled: list[tuple[int, int, list[int]]]) -> None:
        """Take over a user's unsettled publications."""
        guest = self._desk.guests.get(user)
        if guest is None:
            return  # it has gone elsewhere since, and will publish them again
        for number, channel, lacking in unsettled:
            known = guest.unsettled.get(number)
            left = set(lacking) - self._desk.lost
            left = left if known is None else left & known[1]
            guest.unsettled[number] = channel, left
            if not left:  # those who lacked it have found room nowhere since
                del guest.unsettled[number]
                self._settling.settle(user, guest, number)
        guest.home = None
        self._settling.custody.release(user)

    def connect(self, user: int, version: int) -> None:
        """Welcome a user that has come, and tell everybody."""
        guest = self._desk.guests.get(user)
        if guest is None or guest.version != version:
            self._desk.to_user(user, verbs.Refused())
            return
        guest.connected = True
        self._desk.departed.pop(user, None)
        self._settling.custody.located(user, self._desk.me, version)
        self._desk.to_all(verbs.Located(user, self._desk.me, version))
        self._settling.custody.release(user)
        if guest.home is not None and guest.home not in self._desk.alive:
            self.handed_over(user, [])

    def down(self, broker: int) -> list[int]:
        """Drop handovers with a dead broker; return users that were to go there and are still here."""
        for user, guest in list(self._desk.guests.items()):
            if guest.home == broker and guest.connected:
                self.handed_over(user, [])
        stranded = [user for user, entry in self.leaving.items() if entry.broker == broker]
        for user in stranded:
            del self.leaving[user]
        for user in [user for user, gone in self._desk.departed.items() if gone.broker == broker]:
            del self._desk.departed[user]
        return stranded

    def elsewhere(self, user: int) -> None:
        """Expect a user no longer: it has turned up at another broker."""
        guest = self._desk.guests.get(user)
        if guest is None or guest.version >= self._desk.directory[user][1]:
            return
        del self._desk.guests[user]
        for parcel in guest.waiting:
            self._settling.custody.take(user, parcel)

    def new_generation(self, generation: int) -> None:
        """Expect nobody any more by a line that was lost with whoever wrote it."""
        for user, guest in list(self._desk.guests.items()):
            lost = guest.version // GENERATION < generation and not self._desk.ledger.holds(guest.version)
            if not guest.connected and lost:
                del self._desk.guests[user]
                for parcel in guest.waiting:
                    self._settling.custody.take(user, parcel)
