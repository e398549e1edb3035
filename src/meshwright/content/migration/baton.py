"""The baton: it goes round among the brokers, and its holder may write in the ledger."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meshwright.content.migration.broker_state import Desk
from meshwright.content.migration.handover import Admission, Bargain, Handover
from meshwright.content.migration.messages import Baton, Census, Entry


class Diary:
    """What an onlooker wants to know of the ledger; by itself it notes nothing."""

    def written(self, entry: Entry) -> None:
        """Hear of a line."""

    def turned(self, turn: int) -> None:
        """Hear that the baton has come to a broker."""

    def restored(self, lines: int) -> None:
        """Hear that a new baton has been made, and of how many lines the ledger then has."""

    def rested(self, turn: int) -> None:
        """Hear that no move pays."""


class Ring:
    """One broker's part in the baton's way."""

    def __init__(
        self, desk: Desk, bargain: Bargain, handover: Handover, admission: Admission, diary: Diary
    ) -> None:
        self._desk, self._bargain, self._handover = desk, bargain, handover
        self._admission, self._diary = admission, diary
        self.generation = 0
        self.turn = self.sent_turn = self.sent_to = -1
        self.stopped = False
        self._end: int | None = None
        """How many lines there were when we last passed this generation's baton on: all have seen those."""
        self._heard: dict[int, Census] = {}

    def receive(self, baton: Baton) -> None:
        """Take the baton: bring the ledger up to date, write, ask, and pass it on."""
        desk, ledger = self._desk, self._desk.ledger
        self.turn, self.stopped = baton.turn, False
        self._diary.turned(baton.turn)
        known = len(ledger.entries)
        ledger.follow(baton.start, baton.entries)
        if baton.generation > self.generation:
            self.generation, self._end = baton.generation, None
            self._handover.new_generation(baton.generation)
        self._handover.new_lines(known)
        before = len(ledger.entries)
        self._write()
        written = len(ledger.entries) > before
        busy = self._bargain.ask() or self._bargain.open or written
        quiet = 0 if busy or self._somebody_missing() else baton.quiet + 1
        if quiet >= len(desk.alive):
            self.stopped = True
            self._diary.rested(baton.turn)
        else:
            start = baton.start if self._end is None else self._end
            self._end = len(ledger.entries)
            onward = Baton(baton.turn + 1, baton.generation, start, ledger.entries[start:], quiet)
            pass_on = self._passing(onward)
            if written:
                pass_on()
            else:
                desk.port.later(desk.terms.pause, pass_on)

    def down(self) -> None:
        """Tell the first broker alive what we know, after some broker has died."""
        desk, entries = self._desk, self._desk.ledger.entries
        dead = [broker for broker in range(desk.brokers) if broker not in desk.alive]
        told = Census(
            dead, self.turn, self.sent_turn, self.sent_to, self.stopped, self.generation, list(entries)
        )
        first = min(desk.alive)
        if first == desk.me:
            self.hear(desk.me, told)
        else:
            desk.port.send(first, told)

    def hear(self, sender: int, census: Census) -> None:
        """Take what a broker knows; with all told of the same dead, see whether the baton is lost."""
        desk = self._desk
        self._heard[sender] = census
        dead = [broker for broker in range(desk.brokers) if broker not in desk.alive]
        heard = [self._heard.get(broker) for broker in sorted(desk.alive)]
        told = [each for each in heard if each is not None and list(each.dead) == dead]
        if len(told) < len(desk.alive):
            return
        self._heard.clear()
        latest = max(max(each.turn, each.sent_turn) for each in told)
        if any(0 <= each.turn == latest and not each.stopped for each in told):
            return  # somebody alive has it
        if any(0 <= each.sent_turn == latest and each.sent_to in desk.alive for each in told) and not any(
            each.stopped and each.turn == latest for each in told
        ):
            return  # it is on its way to somebody alive
        self._make(told, latest)

    def _make(self, told: list[Census], latest: int) -> None:
        """Make a new baton, with the lines of the longest ledger."""
        longest = max((each.entries for each in told), key=len)
        start = min(len(each.entries) for each in told)
        generation = max(each.generation for each in told) + 1
        self._diary.restored(len(longest))
        self.receive(Baton(latest + 1, generation, start, longest[start:], 0))

    def _write(self) -> None:
        """Let in whoever waits, and write down the accepted moves that still pay."""
        ledger = self._desk.ledger
        for user in self._bargain.accepted.keys() & set(self._admission.waiting):
            del self._bargain.accepted[user]
        for entry in self._admission.let_in(self.generation):
            self._diary.written(entry)
        for user, broker in self._bargain.due():
            entry = ledger.add(user, broker, self.generation, paid=True)
            self._diary.written(entry)
            self._handover.begin(entry)

    def _somebody_missing(self) -> bool:
        """Say whether any user is to be let in, on its way here, or written down at a broker that is dead."""
        desk = self._desk
        places = desk.ledger.running.state.broker_of
        mine = set(np.flatnonzero(places == desk.me).tolist()) - desk.lost
        coming = (desk.guests.get(user) for user in mine)
        if self._admission.waiting or not all(guest is not None and guest.settled_in for guest in coming):
            return True
        dead = [broker for broker in range(desk.brokers) if broker not in desk.alive]
        return any(user not in desk.lost for user in np.flatnonzero(np.isin(places, dead)).tolist())

    def _passing(self, baton: Baton) -> Callable[[], None]:
        def passing() -> None:
            desk = self._desk
            later = [broker for broker in sorted(desk.alive) if broker > desk.me]
            onward = later[0] if later else min(desk.alive)
            if onward == desk.me:
                desk.port.later(desk.terms.pause, lambda: self.receive(baton))
                return
            self.sent_turn, self.sent_to = baton.turn, onward
            desk.port.send(onward, baton)

        return passing
