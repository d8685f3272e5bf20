# SPDX-License-Identifier: BSD-3-Clause
"""The table of all keys in doc/coturn.md, made from keys.py."""

from coturn.key import HERE
from coturn.keys import GONE, GROUPS

BEGIN = "<!-- All keys: made from app/setup/coturn/keys.py by scripts/manual; do not edit. -->"
END = "<!-- All keys: the end. -->"


def answer(key):
    """The cells of a key behind its name."""
    here = ", ".join(f"`{path}`" for path in key.paths)
    cell = here if key.verdict == HERE else key.verdict
    off = f"; not here: `{key.name}=no`" if key.off else ""
    return f"{cell} | {key.text}{off}"


def rows(answers):
    """A row for each answer, with all its names; answers: (name, cells behind it)."""
    names = {}
    for name, cells in answers:
        names.setdefault(cells, []).append(f"`{name}`")
    return [f"| {', '.join(same)} | {cells} |" for cells, same in names.items()]


def lines():
    """The part of the document between its two marks, these included."""
    out = [BEGIN]
    for name, keys in GROUPS:
        out += ["", f"### {name}", "", "| turnserver.conf | slipring.yaml | |", "|---|---|---|"]
        out += rows((key.name, answer(key)) for key in keys)
    out += ["", "### Keys of earlier releases", "",
        "coturn 4.17 ignores them with a warning.", "",
        "| turnserver.conf | until | here |", "|---|---|---|"]  # fmt: skip
    out += rows((name, f"{last} | {text}") for name, (last, _, text) in GONE.items())
    return [*out, "", END]


def replaced(document):
    """The document with an up-to-date table; raises ValueError if it has no marks."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the document has no marks of the table")
    return before + "\n".join(lines()) + after
