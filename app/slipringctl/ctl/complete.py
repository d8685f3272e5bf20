# SPDX-License-Identifier: BSD-3-Clause
"""Completion for bash: subcommands, options and values from argparse, and names from a running
slipring if it answers at once. bash calls slipringctl --complete LINE BREAKS: the line up to the
cursor, and the characters at which readline begins a new word."""

import argparse
import os
import re
import signal
import sys

from ctl.wire import NoServer, Refused, Server, printable

OPTION = "--complete"
WAIT_S = 0.5  # for each answer of the server
END_S = 2  # for all
FILES = 10  # exit code: bash should offer files
ROWS = 512  # limit of the ids, users or addresses that are offered
FEW = 50000  # up to this number of allocations, all users are listed
AREAS = ("start config ports addresses streams auth sessions workers dpdk control").split()
LEVELS = ["error", "warning", "notice", "info", "debug"]
SAFE = re.compile(r"[^\w@%+=:,./-]", re.ASCII)  # other characters are quoted


def words_of(line, breaks):
    """(words before the cursor, the word at the cursor, how much of that readline keeps), or None after
    a quote, which is not supported."""
    words, word, kept, begun = [], "", 0, False
    chars = iter(line)
    for char in chars:
        if char in "'\"`$":
            return None
        if char in " \t":
            if begun:
                words.append(word)
            word, kept, begun = "", 0, False
            continue
        begun = True
        escaped = char == "\\"
        word += next(chars, "") if escaped else char
        if not escaped and char in breaks:
            kept = len(word)
    return words, word, kept


def quoted(text):
    """Quotes a text for the shell."""
    return SAFE.sub(lambda found: "\\" + found[0], text)


# --- values from the server --------------------------------------------------


def asked(path, command, **fields):
    with Server(path, WAIT_S) as server:
        return server.ask(command, **fields)


def ids(path):
    return [row["id"] for row in asked(path, "allocations", rows=ROWS)["rows"]]


def users(path):
    """All users, or those of the first page if listing all would cost the server much time."""
    few = asked(path, "status")["allocations"] <= FEW
    rows = asked(path, "users" if few else "allocations", rows=ROWS)["rows"]
    return [row["user"] for row in rows]


def realms(path):
    return [row["realm"] for row in asked(path, "status")["realms"]]


def clients(path):
    rows = asked(path, "allocations", rows=ROWS)["rows"]
    return [row["client"].rpartition(":")[0].strip("[]") for row in rows]


def workers(path):
    return [str(i) for i in range(len(asked(path, "status")["load"]))]


def reasons(path):
    return [row["drop"] for row in asked(path, "drops", all=True)["rows"]]


BY_METAVAR = {
    "ID": ids,
    "NAME": users,
    "REALM": realms,
    "USER": users,
    "USER|ADDRESS": lambda path: users(path) + clients(path),
    "ADDRESS": clients,
    "ADDRESS[/LEN]": clients,
    "REASON": reasons,
}


def live(source, path):
    try:
        return sorted({printable(text) for text in source(path)})
    except (NoServer, Refused, KeyError, TypeError):
        return []


# --- values from argparse ----------------------------------------------------


def options_of(parser):
    """{name: action} of all options."""
    return {
        name: action
        for action in parser._actions
        for name in action.option_strings
        if action.help != argparse.SUPPRESS
    }


def commands_of(parser):
    """{name: parser} of its subcommands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def takes_value(action):
    return action is not None and action.nargs != 0


class Line:
    """The parsed command line before the word at the cursor."""

    def __init__(self, parser, words):
        self.parser, self.socket = parser, None
        self.wants = None  # the option whose value comes next
        self.place = 0  # which positional argument comes next
        self.given = set()
        self.only_arguments = False
        for word in words:
            self.read(word)

    def read(self, word):
        if self.wants is not None:
            self.value(self.wants, word)
            self.wants = None
        elif word == "--":
            self.only_arguments = True
        elif word.startswith("-") and not self.only_arguments:
            name, _, value = word.partition("=")
            action = options_of(self.parser).get(name)
            self.given.add(name)
            if takes_value(action) and not value:
                self.wants = action
            elif action is not None:
                self.value(action, value)
        elif word in commands_of(self.parser):
            self.parser = commands_of(self.parser)[word]
        else:
            self.place += 1

    def value(self, action, value):
        if action.dest == "socket":
            self.socket = value


def argument_at(line):
    """The action of the positional argument that comes next, or None."""
    actions = [a for a in line.parser._actions if not a.option_strings and a.nargs != argparse.PARSER]
    if line.place < len(actions):
        return actions[line.place]
    return actions[-1] if actions and actions[-1].nargs in ("*", "+") else None


def values(action, line, default):
    """The possible values of an argument; None: files."""
    path = line.socket or os.environ.get("SLIPRING_SOCKET", default)
    if action.choices:
        return list(action.choices)
    if action.metavar in ("PATH", "FILE"):
        return None
    if action.dest == "words":
        return [[*AREAS, "reopen"], LEVELS][line.place] if line.place < 2 else []
    if action.dest == "worker":
        return live(workers, path)
    return live(BY_METAVAR[action.metavar], path) if action.metavar in BY_METAVAR else []


def candidates(line, word, default):
    """All possible words at the cursor, regardless of its typed beginning; None: files."""
    if line.wants is not None:
        return values(line.wants, line, default)
    options = options_of(line.parser)
    if not line.only_arguments and word.startswith("-"):
        name, equals, _ = word.partition("=")
        if not equals:
            return sorted(o for o in options if o not in line.given)
        action = options.get(name)
        found = values(action, line, default) if takes_value(action) else []
        return None if found is None else [f"{name}={value}" for value in found]
    if commands_of(line.parser):
        return list(commands_of(line.parser))
    action = argument_at(line)
    found = values(action, line, default) if action else []
    if not found and not word and found is not None and action is None:
        return sorted(o for o in options if o.startswith("--") and o not in line.given)
    return found


def run(parser, arguments, default):
    """Prints the words, one per line, without the part that readline keeps."""
    signal.setitimer(signal.ITIMER_REAL, END_S)  # ends the process, almost silently
    text, breaks = (arguments + ["", ""])[:2]
    split = words_of(text, set(breaks) - set(" \t\n\"'\\"))
    if split is None:
        return 0
    words, word, kept = split
    found = candidates(Line(parser, words[1:]), word, default)
    if found is None:
        return FILES
    sys.stdout.reconfigure(errors="replace")
    for one in found:
        if one.startswith(word):
            print(quoted(one[kept:]))
    return 0
