# SPDX-License-Identifier: BSD-3-Clause
"""Options of turnserver's command line instead of a file: copied from a unit, a container or a
script.
"""

import re
import shlex

LETTERS = {
    "d": "listening-device", "p": "listening-port", "L": "listening-ip", "i": "relay-device",
    "E": "relay-ip", "X": "external-ip", "m": "relay-threads", "u": "user", "r": "realm",
    "q": "user-quota", "Q": "total-quota", "s": "max-bps", "B": "bps-capacity", "b": "userdb",
    "e": "psql-userdb", "M": "mysql-userdb", "N": "redis-userdb", "O": "redis-statsdb", "l": "log-file",
    "C": "rest-api-separator", "A": "allocation-default-address-family", "c": "c",
}  # fmt: skip
FLAGS = {
    "v": "verbose", "V": "Verbose", "o": "daemon", "f": "fingerprint", "a": "lt-cred-mech",
    "z": "no-auth", "S": "stun-only", "K": "keep-address-family", "n": "n",
}  # fmt: skip
ALONE = {"n", "c", "daemon"}  # which file is read, and how: nothing to import
BEGIN = re.compile(r"\s*(?:command:|exec)?\s*(?:\S*turnserver\s+)?(?=--?[A-Za-z])")
# A compose file has a list of options, and variables that the image knows.
COMPOSE = re.compile(rb"^services:\s*$", re.M)
ITEM = re.compile(r"""\s*-\s+(["']?)(--?[A-Za-z].*)\1\s*""")
VARIABLE = re.compile(r"""\s*(?:-\s+)?["']?(DETECT_EXTERNAL_IP(?:V6)?)\s*[=:].*""")


def is_compose(raw):
    """True if the bytes are a compose file."""
    return COMPOSE.search(raw) is not None


def composed(text):
    """[(name, value)] of a line of a compose file. Lines without options are ignored."""
    variable, item = VARIABLE.fullmatch(text), ITEM.fullmatch(text)
    if variable:
        return [(variable[1], "")]
    if item:
        return split(shlex.quote(item[2]))
    return split(text) if is_one(text) else []


def is_one(text):
    """True if a line of a file has several options, or the program's name before an option."""
    begin = BEGIN.match(text)
    return bool(begin) and ("turnserver" in begin[0] or len(re.findall(r"(?:^|\s)--?[A-Za-z]", text)) > 1)


def letters(word, following):
    """(name, value, whether the next word was taken) of "-av", "-L1.2.3.4" and "-L", in turn."""
    for index, letter in enumerate(word[1:], 2):
        if letter in FLAGS:
            yield FLAGS[letter], "", False
        elif letter in LETTERS:
            value, rest = word[index:].removeprefix("="), bool(word[index:])
            yield LETTERS[letter], value if rest else following or "", not rest and following is not None
            return
        else:
            yield "-" + letter, "", False


def split(text):
    """[(name, value)] of all options."""
    begin = BEGIN.match(text)
    try:
        words = shlex.split(text[begin.end() if begin else 0 :])
    except ValueError:
        return [("bad quotes", "")]
    found, index = [], 0
    while index < len(words):
        word, following = words[index], words[index + 1] if index + 1 < len(words) else None
        index += 1
        if following is not None and re.match(r"--?[A-Za-z]", following):
            following = None
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and following is not None:
                value, index = following, index + 1
            found.append((name, value))
        elif word.startswith("-") and len(word) > 1:
            for name, value, taken in letters(word, following):
                index += taken
                found.append((name, value))
        else:
            found.append((word, ""))
    return [(name, value) for name, value in found if name not in ALONE]
