# SPDX-License-Identifier: BSD-3-Clause
"""Tables, numbers and times for people; colours only on a terminal."""

import os
import shutil
import sys
import textwrap

NARROW = 6  # least columns of a text that is cut


def width():
    """Columns of the terminal, or 80 without one."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80


class Style:
    """Adds colours to text, or nothing."""

    CODES = {"bold": "1", "dim": "2", "reverse": "7", "red": "31", "green": "32", "yellow": "33"}

    def __init__(self, when="auto"):
        terminal = sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
        wanted = terminal and not os.environ.get("NO_COLOR")
        self.on = when == "always" or (when == "auto" and wanted)

    def __call__(self, name, text):
        return f"\033[{self.CODES[name]}m{text}\033[0m" if self.on else text


def count(number):
    """A number in at most 5 columns: 950, 1.2k, 35M."""
    for unit in ("", "k", "M", "G", "T"):
        if number < 1000 or unit == "T":
            break
        number /= 1000
    if unit == "" or number >= 100:
        return f"{number:.0f}{unit}"
    return f"{number:.1f}{unit}"


def seconds(number):
    """A time in about 4 columns: 45s, 12m, 3h, 8d."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if number >= 2 * size:
            return f"{number // size}{unit}"
    return f"{number}s"


def cut(text, size):
    """A text of at most size columns; the middle of a longer one is left out."""
    if len(text) <= size:
        return text
    front = (size - 1) // 2
    return text[:front] + "…" + text[len(text) - (size - 1 - front) :]


def fit(widths, soft, most):
    """Narrows the widest column that may be cut, until all columns fit."""
    widths = list(widths)
    while sum(widths) + 2 * (len(widths) - 1) > most:
        wide = max(soft, key=lambda i: widths[i], default=None)
        if wide is None or widths[wide] <= NARROW:
            break
        widths[wide] -= 1
    return widths


def table(head, rows, style, soft=(), right=(), most=None):
    """Lines of a table. soft: columns that may be cut; right: right-aligned columns; most: columns of the
    terminal."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [head, *cells]) for i in range(len(head))]
    widths = fit(widths, soft, most or width())

    def line(row):
        parts = []
        for i, text in enumerate(row):
            text = cut(text, widths[i])
            parts.append(text.rjust(widths[i]) if i in right else text.ljust(widths[i]))
        return "  ".join(parts).rstrip()

    return [style("bold", line(head)), *(line(row) for row in cells)]


def pairs(rows):
    """Lines of names and values."""
    size = max(len(name) for name, _ in rows)
    return [f"{name.ljust(size)}  {value}" for name, value in rows]


def wrapped(text, indent):
    """A text in indented lines that fit."""
    space = " " * indent
    return textwrap.wrap(text, max(width() - 1, 40), initial_indent=space, subsequent_indent=space)
