"""Parcels for users that move: each is in one broker's hands at a time, so none is lost and none is doubled.

A broker hands a parcel to the user if it is here, keeps it if the user is on its way here, forwards it if the
user has left within the TTL, and otherwise gives it back to its origin with the newest address it knows. The
origin sends it there, or keeps it until it hears of the user again.
"""

from __future__ import annotations

from collections.abc import Callable

from meshwright.content.migration import verbs
from meshwright.content.migration.desk import Desk
from meshwright.content.migration.routes import Routes
from meshwright.content.migration.verbs import Branch, Parcel, Publication

DELIVERY, ACKNOWLEDGEMENT, PUBLICATION = "delivery", "acknowledgement", "publication"
"""What a parcel may be: for a subscriber, or for its publisher's broker."""


class Custody:
    """Takes care of parcels; `opened` is given those that this broker itself must see to."""

    def __init__(self, desk: Desk, routes: Routes, opened: Callable[[int, Parcel], None]) -> None:
        self._desk, self._routes, self._opened = desk, routes, opened
        self.kept: dict[int, list[Parcel]] = {}
        """Parcels of which this broker is the origin, for users of whom it does not know where they are."""

    def carry(self, publication: Publication, origin: int, branch: Branch) -> None:
        """Hand a publication to the users here that it is for, and send it on along the tree."""
        guests, send = self._desk.guests, self._desk.port.send
        first = self._desk.brokers
        for user in branch.targets:
            if user != publication.publisher:
                guest = guests.get(user)
                if guest is not None and guest.connected:
                    send(first + user, verbs.Deliver(publication))
                else:
                    self.take(user, Parcel(DELIVERY, publication, origin))
        for further in branch.branches:
            if further.broker in self._desk.alive:
                send(further.broker, verbs.Carry(publication, origin, further))
            else:
                self._around(publication, origin, further)

    def take(self, user: int, parcel: Parcel) -> None:
        """See to a parcel for a user, wherever that is."""
        guest = self._desk.guests.get(user)
        if guest is None:
            self._pass_on(user, parcel)
        elif not guest.connected or (guest.home is not None and parcel.kind == ACKNOWLEDGEMENT):
            guest.waiting.append(parcel)  # what it acknowledges may not have been handed over yet
        elif parcel.kind == DELIVERY:
            self._desk.to_user(user, verbs.Deliver(Publication(*parcel.content)))
        else:
            self._opened(user, parcel)

    def release(self, user: int) -> None:
        """See again to what has waited for a user: it is here now, or will not come."""
        guest = self._desk.guests.get(user)
        if guest is not None:
            waiting, guest.waiting = guest.waiting, []
            for parcel in waiting:
                self.take(user, parcel)

    def bounced(self, sender: int, user: int, parcel: Parcel, broker: int, version: int) -> None:
        """Take a parcel back, with an address; if that is where it comes from, wait for a better one."""
        self.located(user, broker, version)
        if self._desk.directory[user][0] == sender:
            self.keep(user, parcel)
        else:
            self._resolve(user, parcel)

    def located(self, user: int, broker: int, version: int) -> None:
        """Learn where a user is; parcels that were kept for it go there."""
        desk = self._desk
        if version <= desk.directory[user][1]:
            return
        desk.directory[user] = broker, version
        self._routes.moved(user)
        if broker in desk.alive:
            for parcel in self.kept.pop(user, ()):
                self.take(user, parcel)

    def keep(self, user: int, parcel: Parcel) -> None:
        """Keep a parcel until the user is heard of."""
        self._desk.counts["kept"] += 1
        self.kept.setdefault(user, []).append(parcel)

    def look_again(self, user: int) -> None:
        """Try once more to send what is kept for a user, if it is thought to be on a broker alive."""
        if self._desk.directory[user][0] in self._desk.alive:
            for parcel in self.kept.pop(user, ()):
                self._resolve(user, parcel)

    def _pass_on(self, user: int, parcel: Parcel) -> None:
        desk = self._desk
        gone = desk.departed.get(user)
        if gone is not None and gone.broker in desk.alive and desk.port.now() < gone.until:
            desk.counts["redirected"] += 1
            desk.port.send(gone.broker, verbs.Redirect(user, parcel))
        elif parcel.origin == desk.me:
            self._resolve(user, parcel)
        elif parcel.origin in desk.alive:
            desk.counts["returned"] += 1
            desk.port.send(parcel.origin, verbs.Bounce(user, parcel, *desk.directory[user]))

    def _resolve(self, user: int, parcel: Parcel) -> None:
        """Send a parcel of our own to where the user is now, or keep it."""
        desk = self._desk
        if user in desk.lost:
            return
        place = desk.directory[user][0]
        if user in desk.guests:
            self.take(user, parcel)
        elif place in desk.alive and place != desk.me:
            desk.port.send(place, verbs.Redirect(user, parcel))
        else:
            self.keep(user, parcel)

    def _around(self, publication: Publication, origin: int, branch: Branch) -> None:
        """Reach what hangs on a dead broker without it; the users that it had are to be looked for."""
        for user in branch.targets:
            if user != publication.publisher:
                self._pass_on(user, Parcel(DELIVERY, publication, origin))
        self.carry(publication, origin, Branch(self._desk.me, (), branch.branches))
