# SPDX-License-Identifier: BSD-3-Clause
"""One key of a turnserver.conf, and its counterpart: a row of the table in keys.py."""

from collections.abc import Callable
from dataclasses import dataclass

import coturn.syntax as syntax

HERE, ALWAYS, NOT = "here", "always so", "not here"
# Kinds of messages about a line: the user must decide something before the result does what the file asks
# for; must do something in addition; should know something; or nothing has changed.
DECIDE, DO, NOTE, SAME = "decide", "do", "note", "same"


@dataclass(frozen=True)
class Key:
    """name: as coturn spells it.
    verdict: HERE, it has a counterpart; ALWAYS, slipring always does it; NOT, it has no counterpart.
    text: for people, the third column of doc/coturn.md; for ALWAYS and NOT the reason.
    kind: function that reads its value, from syntax.py; str leaves it as it is.
    path: for HERE: the key of slipring, or several, which all get the value. `take` converts the value,
        or returns None: then nothing is written. Without `take` a module of this package handles the key.
    many: each line counts, not only the last one.
    same: a value that asks only for slipring's own behaviour.
    off: for ALWAYS flags: the missing feature if the flag is false.
    told: kind of message about a line that asks for a missing feature: DECIDE, DO or NOTE.
    set: coturn takes the flag as true, whatever its value is.
    """

    name: str
    verdict: str
    text: str
    kind: Callable = syntax.flag
    path: str | tuple = ""
    take: Callable = None
    many: bool = False
    same: object = None
    off: str = ""
    told: str = NOTE
    set: bool = False

    @property
    def paths(self):
        return (self.path,) if isinstance(self.path, str) else self.path

    def read(self, text):
        """The value of a line; raises Refused if it has no valid value."""
        return True if self.set else self.kind(text)

    def asks(self, value):
        """Verdict on a line with this value: ALWAYS or NOT if it asks for something that slipring always or
        never does, else None."""
        if self.verdict == HERE or (self.same is not None and value == self.same):
            return None
        if self.verdict == NOT and value is False:
            return None
        if self.verdict == ALWAYS and value is False and self.off:
            return NOT
        return self.verdict


def within(low, high):
    """take: a number that must be in a range of slipring."""

    def take(value):
        if not low <= value <= high:
            raise syntax.Refused(f"{value} is not in slipring's range of {low} to {high}")
        return value

    return take


def bits(value):
    """take: bytes a second as bits a second, rounded up to whole kilobits."""
    return -(-8 * within(0, 1 << 36)(value) // 1000) * 1000


def family(value):
    """take: the family for clients that name no family."""
    if value not in ("ipv4", "ipv6", "keep"):
        raise syntax.Refused(f"'{value}' is not one of ipv4, ipv6, keep")
    return "client" if value == "keep" else value


def text(longest):
    """take: a text of 1 to `longest` bytes."""

    def take(value):
        size = len(value.encode(errors="surrogateescape"))
        if not 1 <= size <= longest:
            raise syntax.Refused(f"it has {size} bytes: slipring accepts 1 to {longest}")
        return value

    return take
