# SPDX-License-Identifier: BSD-3-Clause
"""From a question to its answer, in the thread of the event loop: memory, one flight for all questions about
a user, the sources in their order, and a deadline.
"""

import collections

import memory
import records
from records import Unknown

DEADLINE_S = 1
WAITING_MAX = 20_000  # questions; more get no answer at once

RESULTS = ("key", "unknown", "no_answer")


class Flight:
    """All questions about one user that wait for a source."""

    def __init__(self, asked, question, now):
        self.asked = asked  # (realm, name)
        self.question = question  # the first one
        self.began = now
        self.waiting = []  # (reply, number of the question)
        self.is_over = False


class Desk:
    def __init__(self, loop, known, sources):
        self.loop, self.memory, self.sources = loop, known, sources
        self.flights = {}
        self.oldest = collections.deque()  # flights in the order of their deadlines
        self.timer = None
        self.waiting = 0
        self.counts = dict.fromkeys(("questions", "cached", "joined", "stale", "late", "too_many", *RESULTS), 0)
        self.counts["latency_seconds_sum"] = 0.0

    def ask(self, question, reply):
        """Calls reply(bytes) once, now or later."""
        self.counts["questions"] += 1
        now = self.loop.time()
        asked = question.realm, question.name
        if not is_name(question.name) or not is_name(question.realm, True):
            entry = memory.Entry(Unknown(), now + 1, now + 1)
            return self.answer(reply, question.id, entry, now)
        if entry := self.memory.recall(asked, now):
            self.counts["cached"] += 1
            return self.answer(reply, question.id, entry, now)
        flight = self.flights.get(asked)
        if self.waiting >= WAITING_MAX:
            self.counts["too_many"] += 1
            return self.answer(reply, question.id, self.memory.recall_old(asked, now), now)
        self.waiting += 1
        if flight:
            self.counts["joined"] += 1
            flight.waiting.append((reply, question.id))
            return None
        flight = self.flights[asked] = Flight(asked, question, now)
        flight.waiting.append((reply, question.id))
        self.oldest.append(flight)
        if self.timer is None:
            self.timer = self.loop.call_later(DEADLINE_S, self.expire)
        return self.sources[0].ask(flight)

    def hear(self, index, flights, answers):
        """A source has answered {(realm, name): Found or Unknown}. A missing answer means that it cannot say."""
        now = self.loop.time()
        for flight in flights:
            answer = answers.get(flight.asked)
            if isinstance(answer, Unknown) and index + 1 < len(self.sources) and not flight.is_over:
                self.sources[index + 1].ask(flight)
                continue
            if answer is not None and (not flight.is_over or isinstance(answer, records.Found)):
                entry = self.memory.learn(flight.asked, answer, now)
            else:
                entry = None  # a late Unknown may be the word of a source before the last one
            self.end(flight, entry, now)

    def end(self, flight, entry, now):
        if flight.is_over:
            return
        flight.is_over = True
        del self.flights[flight.asked]
        self.waiting -= len(flight.waiting)
        self.counts["latency_seconds_sum"] += (now - flight.began) * len(flight.waiting)
        if entry is None:
            entry = self.memory.recall_old(flight.asked, now)
            self.counts["stale"] += len(flight.waiting) if entry else 0
        for reply, number in flight.waiting:
            self.answer(reply, number, entry, now)

    def answer(self, reply, number, entry, now):
        if entry is None:
            self.counts["no_answer"] += 1
            reply(records.no_answer(number))
        else:
            self.counts["unknown" if isinstance(entry.answer, Unknown) else "key"] += 1
            reply(memory.record(number, entry, now))

    def expire(self):
        """Ends the flights that are past their deadline."""
        now = self.loop.time()
        while self.oldest and (self.oldest[0].is_over or now >= self.oldest[0].began + DEADLINE_S):
            flight = self.oldest.popleft()
            self.counts["late"] += 0 if flight.is_over else len(flight.waiting)
            self.end(flight, None, now)
        self.timer = None
        if self.oldest:
            self.timer = self.loop.call_at(self.oldest[0].began + DEADLINE_S, self.expire)


def is_name(name, may_be_empty=False):
    """True if a store can have such a name."""
    if b"\0" in name or not name:
        return may_be_empty and not name
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
