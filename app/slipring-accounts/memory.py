# SPDX-License-Identifier: BSD-3-Clause
"""Answers of the sources: keys of users, and names that they do not know. Each of the two tables
is bounded and forgets the name that was asked least recently, so invented names push out no users.
"""

import collections
import random

import records

NAMES = 100_000  # of each table
JITTER = 0.1
AGAIN_S = 5  # lifetime of an old answer while the sources say nothing

Entry = collections.namedtuple("Entry", "answer fresh_until stale_until")


class Memory:
    """Times are those of the event loop's clock, in seconds."""

    def __init__(self, lifetime, unknown, stale, names=NAMES):
        self.lifetime, self.unknown, self.stale, self.names = lifetime, unknown, stale, names
        self.found, self.missing = collections.OrderedDict(), collections.OrderedDict()

    def learn(self, asked, answer, now):
        """Keeps an answer about (realm, name), and returns its entry. The source may say how long it holds."""
        is_found = isinstance(answer, records.Found)
        usual = self.lifetime if is_found else self.unknown
        fresh = answer.ttl if answer.ttl is not None else usual * random.uniform(1 - JITTER, 1 + JITTER)
        entry = Entry(answer, now + fresh, now + fresh + (self.stale if is_found else 0))
        table, unlike = (self.found, self.missing) if is_found else (self.missing, self.found)
        unlike.pop(asked, None)
        table[asked] = entry
        table.move_to_end(asked)
        if len(table) > self.names:
            table.popitem(last=False)
        return entry

    def recall(self, asked, now):
        """The entry of an answer that still holds, or None."""
        for table in (self.found, self.missing):
            if (entry := table.get(asked)) and now < entry.fresh_until:
                table.move_to_end(asked)
                return entry
        return None

    def recall_old(self, asked, now):
        """The entry of a user who was known, for the time in which no source answers, or None."""
        entry = self.found.get(asked)
        return entry if entry and now < entry.stale_until else None


def record(number, entry, now):
    """The answer to a question with this number."""
    left = int(entry.fresh_until - now)
    if isinstance(entry.answer, records.Unknown):
        return records.unknown(number, max(left, 1))
    lifetime = left if now < entry.fresh_until else AGAIN_S
    return records.key(number, entry.answer, max(lifetime, 1), max(int(entry.stale_until - now) - lifetime, 0))
