# SPDX-License-Identifier: BSD-3-Clause
"""One key of a turnserver.conf, and what has become of it: a row of the table in keys.py."""

from collections.abc import Callable
from dataclasses import dataclass

import coturn.syntax as syntax

HERE, ALWAYS, NOT = "here", "always so", "not here"
# What is told of a line: something is to be decided before the result is what was asked for; to be done
# beside it; to be known; or it is as it was.
DECIDE, DO, NOTE, SAME = "decide", "do", "note", "same"


@dataclass(frozen=True)
class Key:
    """name: as coturn spells it.
    verdict: HERE, it has a counterpart; ALWAYS, slipring is so in any case; NOT, it has none.
    text: for people, the third column of doc/coturn.md; of ALWAYS and NOT it says why.
    kind: how its value is read, a function of syntax.py; str: as it is.
    to: HERE: the key of slipring, or several, which all get the value. `take` turns it into
        slipring's, or into None: then nothing is written. Without `take` a module of this package
        makes something of the key.
    many: each line counts, not the last one alone.
    same: a value that asks for no more than what is so here anyway.
    off: ALWAYS flags: what is not here when the flag is false.
    told: what is told of a line that asks for what is not here: DECIDE, DO or NOTE.
    set: the flag is true whatever its value is, so coturn.
    """

    name: str
    verdict: str
    text: str
    kind: Callable = syntax.flag
    to: str | tuple = ""
    take: Callable = None
    many: bool = False
    same: object = None
    off: str = ""
    told: str = NOTE
    set: bool = False

    @property
    def paths(self):
        return (self.to,) if isinstance(self.to, str) else self.to

    def read(self, text):
        """The value of a line; Refused where it has none."""
        return True if self.set else self.kind(text)

    def asks(self, value):
        """Whether a line with this value asks for something, and for what slipring has not got: one of
        ALWAYS and NOT, or None."""
        if self.verdict == HERE or (self.same is not None and value == self.same):
            return None
        if self.verdict == NOT and value is False:
            return None
        if self.verdict == ALWAYS and value is False and self.off:
            return NOT
        return self.verdict


def within(low, high):
    """take: a number that has to be in a range of slipring's."""

    def take(value):
        if not low <= value <= high:
            raise syntax.Refused(f"{value} is not in slipring's range of {low} to {high}")
        return value

    return take


def bits(value):
    """take: bytes a second as bits, in whole kilobits and no fewer."""
    return -(-8 * within(0, 1 << 36)(value) // 1000) * 1000


def family(value):
    """take: the family of who names none."""
    if value not in ("ipv4", "ipv6", "keep"):
        raise syntax.Refused(f"'{value}' is none of ipv4, ipv6, keep")
    return "client" if value == "keep" else value


def text(longest):
    """take: a text of 1 to so many bytes."""

    def take(value):
        size = len(value.encode(errors="surrogateescape"))
        if not 1 <= size <= longest:
            raise syntax.Refused(f"it has {size} bytes: slipring takes 1 to {longest}")
        return value

    return take
