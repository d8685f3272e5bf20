# SPDX-License-Identifier: BSD-3-Clause
"""What a file asks for: its settings by key, and what is to be told of each."""

import difflib
import re
from dataclasses import dataclass

from coturn.key import ALWAYS, NOT
from coturn.keys import GONE, KEYS
from coturn.syntax import Line, Refused, span

DETECT = "detect-external-ip"  # a program of coturn's container
# As shells, container files and templates write them.
VARIABLE = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|\{\{.*?\}\}|^\$[A-Za-z_]\w*$|^%[A-Za-z_]+%$")


@dataclass(frozen=True)
class Told:
    """A line for people. lost: it asks for something that the result has not got."""

    line: Line
    text: str
    lost: bool

    def shown(self, path):
        return f"{path}:{self.line.number}: {printable(self.line.name)}: {printable(self.text)}"


def printable(text):
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


class Settings:
    """found: {name: [(line, value)]} of all lines that coturn takes, in their order."""

    def __init__(self, lines):
        self.found, self.told = {}, []
        self.detects = None  # the line that has coturn's container ask for its public address
        for line in lines:
            self.take(line)
        for name, pairs in self.found.items():
            if not KEYS[name].many:
                for line, _ in pairs[:-1]:
                    self.tell(line, f"line {pairs[-1][0].number} says it again, and that one counts",
                        lost=False)  # fmt: skip
                del pairs[:-1]
        for name, pairs in self.found.items():
            for line, value in pairs:
                self.judge(KEYS[name], line, value)

    def tell(self, line, text, lost=True):
        self.told.append(Told(line, text.replace("`", ""), lost))

    def take(self, line):
        """Sorts one line in, or says why not."""
        if line.cut:
            self.tell(line, "coturn reads at most 1023 bytes of a line, and the rest as another")
        if line.name == DETECT or (line.name == "external-ip" and DETECT in line.value):
            self.detects = line
            return
        if line.name not in KEYS:
            self.tell(line, unknown(line.name), lost=line.name not in GONE)
            return
        if VARIABLE.search(line.value):
            self.tell(line, "it is a variable of whatever starts coturn, not a value: write what it stands"
                " for")  # fmt: skip
            return
        try:
            if not line.value.isascii():
                line.value.encode()
            if KEYS[line.name].kind is span and "/" in line.value:
                self.tell(line, "coturn ends at a prefix: what is meant is taken", lost=False)
            self.found.setdefault(line.name, []).append((line, KEYS[line.name].read(line.value)))
        except UnicodeEncodeError:
            self.tell(line, "it is not UTF-8, which the file of slipring has to be")
        except Refused as why:
            self.tell(line, str(why) + comment_behind(line.value))
        if line.value.endswith(";"):
            self.tell(line, "the semicolon at the end is a part of the value", lost=False)

    def judge(self, key, line, value):
        """Tells of what is always so, and of what is not here."""
        asks = key.asks(value)
        if asks == ALWAYS:
            self.tell(line, f"always so: {key.text}", lost=False)
        elif asks == NOT:
            self.tell(line, f"not here: {key.off or key.text}")

    def all(self, name):
        """[(line, value)] of a key, none of whose values are true: 0 and "" count too."""
        return self.found.get(name, [])

    def line(self, name):
        """The line that counts, or None."""
        return self.found[name][-1][0] if self.found.get(name) else None

    def get(self, name, default=None):
        """The value that counts."""
        return self.found[name][-1][1] if self.found.get(name) else default

    def where(self, *names):
        """For comments: the lines of those keys that are there."""
        return ", ".join(f"{name} in line {self.line(name).number}" for name in names if self.line(name))


def comment_behind(value):
    """coturn has no comments behind values; many a file on the web has."""
    return "; a comment stands in a line of its own" if "#" in value else ""


def unknown(name):
    """What is told of a name that coturn 4.17 warns of as "Bad configuration format"."""
    if name in GONE:
        return f"coturn 4.17 has no such key. Always so here: {GONE[name]}"
    if name.lstrip("-") in KEYS and name.startswith("-"):
        return f"coturn ignores this line: in a file the key is '{name.lstrip('-')}', without dashes"
    close = difflib.get_close_matches(name, KEYS, 1)
    ask = f"; '{close[0]}' is one" if close else ""
    return f"coturn ignores this line: it knows no such key{ask}"
