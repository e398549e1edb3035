"""Delivery of publications: nothing is lost and nothing is delivered twice while users move.

A broker hands a parcel to the user if it is here, keeps it if the user is on its way here, forwards it if the
user has left within the TTL, and otherwise gives it back to its origin with the newest address it knows. The
origin sends it there, or keeps it until it hears of the user again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from meshwright.content.migration import messages
from meshwright.content.migration.broker_state import Desk, Guest
from meshwright.content.migration.knowledge import Routes
from meshwright.content.migration.messages import Branch, Parcel, Publication

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
                    send(first + user, messages.Deliver(publication))
                else:
                    self.take(user, Parcel(DELIVERY, publication, origin))
        for further in branch.branches:
            if further.broker in self._desk.alive:
                send(further.broker, messages.Carry(publication, origin, further))
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
            self._desk.to_user(user, messages.Deliver(Publication(*parcel.content)))
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
            desk.port.send(gone.broker, messages.Redirect(user, parcel))
        elif parcel.origin == desk.me:
            self._resolve(user, parcel)
        elif parcel.origin in desk.alive:
            desk.counts["returned"] += 1
            desk.port.send(parcel.origin, messages.Bounce(user, parcel, *desk.directory[user]))

    def _resolve(self, user: int, parcel: Parcel) -> None:
        """Send a parcel of our own to where the user is now, or keep it."""
        desk = self._desk
        if user in desk.lost:
            return
        place = desk.directory[user][0]
        if user in desk.guests:
            self.take(user, parcel)
        elif place in desk.alive and place != desk.me:
            desk.port.send(place, messages.Redirect(user, parcel))
        else:
            self.keep(user, parcel)

    def _around(self, publication: Publication, origin: int, branch: Branch) -> None:
        """Reach what hangs on a dead broker without it; the users that it had are to be looked for."""
        for user in branch.targets:
            if user != publication.publisher:
                self._pass_on(user, Parcel(DELIVERY, publication, origin))
        self.carry(publication, origin, Branch(self._desk.me, (), branch.branches))


class Settling:
    """Sends publications out, gathers acknowledgements, and tells publishers what is settled."""

    def __init__(self, desk: Desk, routes: Routes) -> None:
        self._desk, self._routes = desk, routes
        self.custody = Custody(desk, routes, self.open)
        self._outgoing: dict[int, list[tuple[int, int, int]]] = {}
        self._owed: set[int] = set()
        """Publishers that are to be told of settled numbers."""
        self._gathering = False

    def publish(self, publication: Publication) -> None:
        """Take a publication of a user: its first time, or again."""
        desk = self._desk
        publisher, number, channel, _ = publication
        guest = desk.guests.get(publisher)
        if guest is None or not guest.connected:
            self._of_somebody_else(publication)
            return
        if number in guest.unsettled:
            self._send_again(publication, guest.unsettled[number][1])
            return
        lacking = set(desk.audience[channel])
        lacking.discard(publisher)
        if desk.lost:
            lacking -= desk.lost
        if not lacking:
            self.settle(publisher, guest, number)
            return
        guest.unsettled[number] = channel, lacking
        branch, absent = self._routes.route(channel)
        for user in absent:
            if user != publisher:
                self.custody.keep(user, Parcel(DELIVERY, publication, desk.me))
        self.custody.carry(publication, desk.me, branch)

    def received(self, user: int, numbers: Sequence[Sequence[int]]) -> None:
        """Pass on what a user has received to the brokers of those who have published it."""
        directory, me = self._desk.directory, self._desk.me
        for publisher, number in numbers:
            place = directory[publisher][0]
            if place == me:
                self.acknowledge(publisher, number, user, me)
            else:
                self._outgoing.setdefault(place, []).append((publisher, number, user))
        self._gather()

    def acknowledge(self, publisher: int, number: int, user: int, origin: int) -> None:
        """Strike a user off those who lack a publication."""
        guest = self._desk.guests.get(publisher)
        if guest is None or not guest.connected or guest.home is not None:
            self.custody.take(publisher, Parcel(ACKNOWLEDGEMENT, (number, user), origin))
            return
        kept = guest.unsettled.get(number)
        if kept is not None:
            kept[1].discard(user)
            if not kept[1]:
                del guest.unsettled[number]
                self.settle(publisher, guest, number)

    def open(self, user: int, parcel: Parcel) -> None:
        """See to a parcel for the broker of a publisher, which is this one."""
        if parcel.kind == PUBLICATION:
            self.publish(Publication(*parcel.content))
        else:
            self.acknowledge(user, parcel.content[0], parcel.content[1], parcel.origin)

    def lose(self, user: int) -> None:
        """Wait for a user no longer: it has found room nowhere."""
        self._desk.lost.add(user)
        self._routes.moved(user)
        self.custody.kept.pop(user, None)
        for publisher, guest in self._desk.guests.items():
            for number in [number for number, kept in guest.unsettled.items() if user in kept[1]]:
                self.acknowledge(publisher, number, user, self._desk.me)

    def tell_settled(self, user: int, guest: Guest) -> None:
        """Tell a publisher what is settled."""
        if guest.settled:
            self._desk.to_user(user, messages.Settled(guest.settled))
            guest.settled = []

    def _of_somebody_else(self, publication: Publication) -> None:
        """Forward a publication that was sent here before its publisher knew that it would move."""
        desk, publisher = self._desk, publication.publisher
        gone = desk.departed.get(publisher)
        if gone is not None and gone.broker in desk.alive and desk.port.now() < gone.until:
            desk.counts["redirected"] += 1
            desk.port.send(
                gone.broker, messages.Redirect(publisher, Parcel(PUBLICATION, publication, desk.me))
            )
        elif publisher in desk.guests:
            self.custody.take(publisher, Parcel(PUBLICATION, publication, desk.me))
        else:
            desk.counts["returned"] += 1
            desk.to_user(publisher, messages.Returned(publication))

    def _send_again(self, publication: Publication, lacking: set[int]) -> None:
        """Send a publication to those who still lack it; what is kept for them already need not go twice."""
        desk, custody = self._desk, self.custody
        key = publication[:2]
        for user in sorted(lacking):
            custody.look_again(user)
            kept = custody.kept.get(user, ())
            if not any(parcel.kind == DELIVERY and tuple(parcel.content[:2]) == key for parcel in kept):
                desk.counts["sent again"] += 1
                custody.take(user, Parcel(DELIVERY, publication, desk.me))

    def settle(self, publisher: int, guest: Guest, number: int) -> None:
        """Note that everybody has a publication; its publisher is told soon."""
        guest.settled.append(number)
        self._owed.add(publisher)
        self._gather()

    def _gather(self) -> None:
        if not self._gathering:
            self._gathering = True
            self._desk.port.later(self._desk.terms.gather, self._gathered)

    def _gathered(self) -> None:
        """Send all acknowledgements of the last while, together."""
        desk = self._desk
        self._gathering = False
        outgoing, self._outgoing = self._outgoing, {}
        for broker, numbers in outgoing.items():
            if broker in desk.alive:  # else the publisher will publish it again, and be acknowledged again
                desk.port.send(broker, messages.Acknowledge(desk.me, numbers))
        owed, self._owed = self._owed, set()
        for publisher in sorted(owed):
            guest = desk.guests.get(publisher)
            if guest is not None:
                self.tell_settled(publisher, guest)
