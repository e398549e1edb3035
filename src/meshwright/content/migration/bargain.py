"""Which users a broker asks to move, and what they say (cbps, section IV C).

A move is priced when the user is asked, on the ledger as the broker has it, and again before it is written
down, on the ledger as it then is: others may have moved meanwhile. What no longer pays is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meshwright.content.migration import verbs
from meshwright.content.migration.desk import Desk


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
        mine = np.flatnonzero(desk.ledger.running.standing.broker_of == desk.me)
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
                    desk.to_user(user, verbs.RequestToMove(broker, -change))
        return pays

    def _best(self, user: int) -> tuple[int, float]:
        """Return the broker where a user would cost least, with by how much the cost rises."""
        desk, at = self._desk, self._desk.ledger.running.standing
        changes = desk.ledger.running.changes(user)
        changes[at.broker_load + at.load[user] > at.room] = np.inf
        for broker in range(desk.brokers):
            if broker not in desk.alive or (user, broker) in self.declined:
                changes[broker] = np.inf
        changes[desk.me] = 0.0
        best = int(np.argmin(changes))
        return best, float(changes[best])
