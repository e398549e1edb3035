"""How users move: request, replicate, connect, redirect; and admission after a failure (cbps, V).

A move is priced when the user is asked, on the ledger as the broker has it, and again before it is written
down, on the ledger as it then is: others may have moved meanwhile. What no longer pays is dropped.

The foreign broker agrees only when the line of the ledger by which the user moves has come to it. So if it
lives, that line does too, whoever else dies: nobody is moved by a line that is lost, and its room is kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meshwright.content.migration import messages
from meshwright.content.migration.broker_state import Departed, Desk, Guest
from meshwright.content.migration.delivery import Settling
from meshwright.content.migration.ledger import GENERATION
from meshwright.content.migration.messages import Entry


class Bargain:
    """Requests that are out, those that are accepted, and what has been declined."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.asked: dict[int, int] = {}
        self.accepted: dict[int, int] = {}
        self.declined: set[tuple[int, int]] = set()
        """Users and the brokers that they would not move to: they are not asked that again."""

    @property
    def open(self) -> bool:
        """Whether any request or acceptance is out."""
        return bool(self.asked or self.accepted)

    def answered(self, user: int, broker: int, *, agreed: bool) -> None:
        """Take a user's answer."""
        if self.asked.get(user) != broker:
            return  # the broker it was to move to is dead, or the user was thought to be so
        del self.asked[user]
        self._desk.counts["accepted" if agreed else "declined"] += 1
        if agreed:
            self.accepted[user] = broker
        else:
            self.declined.add((user, broker))

    def forget(self, broker: int) -> None:
        """Drop everything that has to do with a dead broker."""
        for kept in (self.asked, self.accepted):
            for user in [user for user, target in kept.items() if target == broker]:
                del kept[user]

    def due(self) -> Iterator[tuple[int, int]]:
        """Give the accepted moves that still pay and have room, each priced as the ledger is by then."""
        desk, running = self._desk, self._desk.ledger.running
        accepted, self.accepted = self.accepted, {}
        for user, broker in accepted.items():
            here = desk.guests.get(user)
            if here is None or not here.settled_in or desk.ledger.place(user) != desk.me:
                continue
            if running.has_room(user, broker) and running.change(user, broker) < -desk.ledger.least:
                yield user, broker
            else:
                desk.counts["withdrawn"] += 1

    def ask(self) -> bool:
        """Ask the users with the most traffic whose moves pay; say whether any move pays."""
        desk = self._desk
        pays = False
        mine = np.flatnonzero(desk.ledger.running.state.broker_of == desk.me)
        for user in mine[np.argsort(-desk.workload.load[mine], kind="stable")].tolist():
            if len(self.asked) + len(self.accepted) >= desk.terms.requests:
                return True
            if user in self.asked or user in self.accepted:
                continue
            broker, change = self._best(user)
            if change < -desk.ledger.least:
                pays = True
                guest = desk.guests.get(user)
                if guest is not None and guest.settled_in:
                    self.asked[user] = broker
                    desk.to_user(user, messages.RequestToMove(broker, -change))
        return pays

    def _best(self, user: int) -> tuple[int, float]:
        """Return the broker where a user would cost least, with by how much the cost rises."""
        desk, at = self._desk, self._desk.ledger.running.state
        changes = desk.ledger.running.changes(user)
        changes[at.broker_load + at.load[user] > at.room] = np.inf
        for broker in range(desk.brokers):
            if broker not in desk.alive or (user, broker) in self.declined:
                changes[broker] = np.inf
        changes[desk.me] = 0.0
        best = int(np.argmin(changes))
        return best, float(changes[best])


class Handover:
    """Users that are leaving this broker, and those that come."""

    def __init__(self, desk: Desk, settling: Settling) -> None:
        self._desk, self._settling = desk, settling
        self.leaving: dict[int, Entry] = {}

    def begin(self, entry: Entry) -> None:
        """Tell the foreign broker about a user; until it agrees, the user is served here."""
        self.leaving[entry.user] = entry
        self._desk.port.send(entry.broker, messages.Replicate(entry.user, entry.version))

    def replicate(self, home: int, user: int, version: int) -> None:
        """Expect a user, and agree if the line by which it comes is here."""
        guest = self._desk.guests.setdefault(user, Guest())
        guest.home, guest.version = home, version
        self.agree(user)

    def agree(self, user: int) -> None:
        """Agree to a user's coming if the line by which it comes is here and nobody has been told so."""
        guest = self._desk.guests[user]
        if guest.home is not None and not guest.connected and self._desk.ledger.holds(guest.version):
            self._desk.port.send(guest.home, messages.Replicated(user, guest.version))

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
        desk.to_user(user, messages.ConnectTo(entry.broker, version))
        unsettled = [(number, kept[0], sorted(kept[1])) for number, kept in guest.unsettled.items()]
        desk.port.send(entry.broker, messages.HandOver(user, unsettled))
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
            self._desk.to_user(user, messages.Refused())
            return
        guest.connected = True
        self._desk.departed.pop(user, None)
        self._settling.custody.located(user, self._desk.me, version)
        self._desk.to_all(messages.Located(user, self._desk.me, version))
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
                desk.to_user(user, messages.Refused())
                for parcel in left.waiting if left is not None else ():
                    self._settling.custody.take(user, parcel)

    def _welcome(self, user: int, version: int) -> None:
        desk = self._desk
        guest = desk.guests.setdefault(user, Guest())
        guest.connected, guest.home, guest.version = True, None, version
        desk.departed.pop(user, None)
        desk.to_user(user, messages.Registered(version))
        self._settling.custody.located(user, desk.me, version)
        desk.to_all(messages.Located(user, desk.me, version))
        self._settling.custody.release(user)
