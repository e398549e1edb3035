"""Publications until everybody has them: the publisher's broker keeps count of who lacks which."""

from __future__ import annotations

from collections.abc import Sequence

from meshwright.content.migration import verbs
from meshwright.content.migration.custody import ACKNOWLEDGEMENT, DELIVERY, PUBLICATION, Custody
from meshwright.content.migration.desk import Desk, Guest
from meshwright.content.migration.routes import Routes
from meshwright.content.migration.verbs import Parcel, Publication


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
            self._desk.to_user(user, verbs.Settled(guest.settled))
            guest.settled = []

    def _of_somebody_else(self, publication: Publication) -> None:
        """Forward a publication that was sent here before its publisher knew that it would move."""
        desk, publisher = self._desk, publication.publisher
        gone = desk.departed.get(publisher)
        if gone is not None and gone.broker in desk.alive and desk.port.now() < gone.until:
            desk.counts["redirected"] += 1
            desk.port.send(gone.broker, verbs.Redirect(publisher, Parcel(PUBLICATION, publication, desk.me)))
        elif publisher in desk.guests:
            self.custody.take(publisher, Parcel(PUBLICATION, publication, desk.me))
        else:
            desk.counts["returned"] += 1
            desk.to_user(publisher, verbs.Returned(publication))

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
                desk.port.send(broker, verbs.Acknowledge(desk.me, numbers))
        owed, self._owed = self._owed, set()
        for publisher in sorted(owed):
            guest = desk.guests.get(publisher)
            if guest is not None:
                self.tell_settled(publisher, guest)
