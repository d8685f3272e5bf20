# SPDX-License-Identifier: BSD-3-Clause
"""A slipring.yaml in the making: keys in their order, each with its value and the source of the value."""

import json
import re
from dataclasses import dataclass

WIDTH = 100
PLAIN = re.compile(r"(?:packet:)?[A-Za-z_/][\w./@%+-]*|\d+(?:\.\d+){3}(?:/\d+)?")
WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
ORDER = ("workers", "ports", "listeners", "tls", "relay", "auth", "limits", "peers", "log",
         "alternate", "drain", "process")  # fmt: skip


class Word(str):
    """A text that never needs quotes: a range, a version."""


@dataclass
class Item:
    """A value: a scalar, a mapping {key: value} on one line, or a list of items."""

    value: object
    comment: str = ""


def scalar(value):
    """The text of a single value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Word)):
        return str(value)
    text = str(value)
    if PLAIN.fullmatch(text) and text.lower() not in WORDS:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    escaped = lambda c: f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"
    return "".join(c if c.isprintable() else escaped(c) for c in quoted)


def flow(value):
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def wrapped(text):
    """Comment lines of a text. Does not break text between backquotes."""
    lines, line = [], "#"
    for word in re.findall(r"`[^`]*`\S*|\S+", text):
        if len(line) + 1 + len(word) > WIDTH and line != "#":
            lines.append(line)
            line = "#"
        line += " " + word
    return [*lines, line]


def with_comment(line, comment):
    return f"{line} # {comment}" if comment else line


class Document:
    """sections: nested dicts, whose leaves are items."""

    def __init__(self):
        self.sections = {}

    def put(self, path, value, comment=""):
        """Sets a key such as "auth.nonce.secret"."""
        *above, last = path.split(".")
        node = self.sections
        for name in above:
            node = node.setdefault(name, {})
        node[last] = Item(value, comment)

    def add(self, path, value, comment=""):
        """Appends to a list."""
        *above, last = path.split(".")
        node = self.sections
        for name in above:
            node = node.setdefault(name, {})
        node.setdefault(last, Item([])).value.append(Item(value, comment))

    def has(self, path):
        node = self.sections
        for name in path.split("."):
            if not isinstance(node, dict) or name not in node:
                return False
            node = node[name]
        return True

    def lines(self):
        """The text, line by line."""
        rank = {name: place for place, name in enumerate(ORDER)}
        out = []
        for name in sorted(self.sections, key=lambda name: rank.get(name, len(ORDER))):
            out += block(name, self.sections[name], "")
        return out


def block(name, value, indent):
    """The lines of one key."""
    if isinstance(value, dict):
        inner = [line for key, item in value.items() for line in block(key, item, indent + "  ")]
        return [f"{indent}{name}:", *inner]
    if isinstance(value.value, list) and any(isinstance(v, Item) for v in value.value):
        return [with_comment(f"{indent}{name}:", value.comment), *listed(value.value, indent + "  ")]
    return [with_comment(f"{indent}{name}: {flow(value.value)}", value.comment)]


def listed(items, indent):
    """The lines of a list. Nested values have their own blocks."""
    out = []
    for item in items:
        if isinstance(item.value, dict) and any(isinstance(v, Item) for v in item.value.values()):
            inner = [line for key, v in item.value.items() for line in block(key, v, indent + "  ")]
            out += [f"{indent}- {inner[0].lstrip()}", *inner[1:]]
        else:
            out.append(with_comment(f"{indent}- {flow(item.value)}", item.comment))
    return out
