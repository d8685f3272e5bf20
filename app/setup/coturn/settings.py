# SPDX-License-Identifier: BSD-3-Clause
"""The contents of a file: its settings by key, and the messages about them."""

import difflib
import re
from dataclasses import dataclass

from coturn.key import ALWAYS, DECIDE, DO, NOT, NOTE, SAME
from coturn.keys import GONE, KEYS
from coturn.syntax import Line, Refused, span

# A program in coturn's container, and the variables that run it.
DETECT = "detect-external-ip"
DETECTS = {DETECT, "DETECT_EXTERNAL_IP", "DETECT_EXTERNAL_IPV6"}
# Headings of messages, in the order of the output.
HEADINGS = {
    DECIDE: "To decide, as the result does not do what the file asks for:",
    DO: "To do in addition:",
    NOTE: "Good to know:",
    SAME: "Unchanged:",
}
# As shells, container files and templates write them.
VARIABLE = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|\{\{.*?\}\}|^\$[A-Za-z_]\w*$|^%[A-Za-z_]+%$")


@dataclass(frozen=True)
class Told:
    """A text for people about a line, or with None about the whole file."""

    line: Line | None
    text: str
    kind: str  # of HEADINGS

    def shown(self, path):
        """The message as printed. Text between backquotes can be copied."""
        place = f"{path}:{self.line.number}: {printable(self.line.name)}" if self.line else path
        return f"{place}: {printable(self.text)}"


def printable(text):
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


class Settings:
    """found: {name: [(line, value)]} of all lines that coturn accepts, in their order."""

    def __init__(self, lines):
        self.found, self.told = {}, []
        self.variables = set()  # keys with a value that must be filled in
        self.detects = None  # the line that makes coturn's container ask for its public address
        for line in lines:
            self.take(line)
        for name, pairs in self.found.items():
            if not KEYS[name].many:
                for line, _ in pairs[:-1]:
                    self.tell(line, f"line {pairs[-1][0].number} repeats the key, and that line counts",
                        NOTE)  # fmt: skip
                del pairs[:-1]
        for name, pairs in self.found.items():
            for line, value in pairs:
                self.judge(KEYS[name], line, value)

    def tell(self, line, text, kind=DECIDE):
        self.told.append(Told(line, text.replace("`", "") if line else text, kind))

    def by_kind(self):
        """[(heading, its messages in the order of the lines)] without empty ones."""
        group = lambda kind: [told for told in self.told if told.kind == kind]
        number = lambda told: told.line.number if told.line else 0
        return [(HEADINGS[kind], sorted(group(kind), key=number)) for kind in HEADINGS if group(kind)]

    def take(self, line):
        """Adds one line to the settings, or says why not."""
        if line.cut:
            self.tell(line, "coturn reads at most 1023 bytes of a line, and the rest as another line")
        if line.name in DETECTS or (line.name == "external-ip" and DETECT in line.value):
            self.detects = line
            return
        if line.name not in KEYS:
            self.tell(line, *unknown(line.name))
            return
        if VARIABLE.search(line.value):
            self.variables.add(line.name)
            self.tell(line, "it is a variable of a script or container, not a value: write"
                " its value")  # fmt: skip
            return
        try:
            if not line.value.isascii():
                line.value.encode()
            if KEYS[line.name].kind is span and "/" in line.value:
                self.tell(line, "coturn accepts no prefix: the prefix is taken as meant", NOTE)
            self.found.setdefault(line.name, []).append((line, KEYS[line.name].read(line.value)))
        except UnicodeEncodeError:
            self.tell(line, "it is not UTF-8, which the file of slipring must be")
        except Refused as error:
            self.tell(line, str(error) + comment_behind(line.value))
        if line.value.endswith(";"):
            self.tell(line, "the semicolon at the end is a part of the value", NOTE)

    def judge(self, key, line, value):
        """Adds messages for settings that slipring always or never has."""
        asks = key.asks(value)
        if asks == ALWAYS:
            self.tell(line, f"always so: {key.text}", SAME)
        elif asks == NOT:
            self.tell(line, f"not here: {key.off or key.text}", key.told)

    def all(self, name):
        """[(line, value)] of a key, including false values such as 0 and ""."""
        return self.found.get(name, [])

    def line(self, name):
        """The line that counts, or None."""
        return self.found[name][-1][0] if self.found.get(name) else None

    def get(self, name, default=None):
        """The value that counts."""
        return self.found[name][-1][1] if self.found.get(name) else default

    def where(self, *names):
        """For comments: the lines of those keys that the file has."""
        return ", ".join(f"{name} in line {self.line(name).number}" for name in names if self.line(name))


def comment_behind(value):
    """coturn allows no comments after values; many files on the web have them."""
    return "; a comment needs a line of its own" if "#" in value else ""


def unknown(name):
    """(text, kind) of the message about a name that coturn 4.17 calls "Bad configuration format"."""
    if name in GONE:
        last, kind, text = GONE[name]
        return f"a key up to coturn {last}; here {'always so: ' if kind == SAME else ''}{text}", kind
    if name.lstrip("-") in KEYS and name.startswith("-"):
        return f"coturn ignores this line: in a file the key is '{name.lstrip('-')}', without dashes", DECIDE
    close = difflib.get_close_matches(name, KEYS, 1)
    ask = f"; did you mean '{close[0]}'?" if close else ""
    return f"coturn ignores this line: it knows no such key{ask}", DECIDE
