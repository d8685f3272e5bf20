# SPDX-License-Identifier: BSD-3-Clause
"""Builds a frame of top from the known data: lines of (style, text) that fit the columns."""

import dataclasses
import math
import textwrap
import time

from ctl.feed import KEPT, LISTS
from ctl.tables import count, cut, seconds, table
from ctl.views import places

BLOCKS, LETTERS = "▁▂▃▄▅▆▇█", "_.:-=+*#"
BAR = 10  # columns of a load bar
BUSY, FULL = 80, 95  # percent of load shown in yellow, red
DEFAULT_ROWS = 10  # of a section, without a terminal
NEWS_S = 60  # how long a restart of the server is shown
VIEWS = ("all", "workers", "drops", "users", "allocations")
WORDS = {"rate": "/S", "bitrate": "BIT/S", "datagrams": "DATAGRAMS", "bytes": "BYTES"}
HELP = """\
Keys
  q           quits; so does Ctrl-C
  p, space    pauses: the frame does not change, and no talkers are queried
  s, S        sorts talkers by the next or previous of rate (datagrams a second),
              bitrate, datagrams, bytes
  v           shows all, or only workers, drops, users or allocations
  +, -        sets a longer or shorter interval
  h, ?        this page; any key leaves it

Display
  in, out     datagrams and bits a second, with the last minute; drop: those
              dropped. The height of a bar is relative to the highest one.
  talkers     need a count of all allocations, which costs the server time: one
              list at a time, and the more allocations, the less often. The
              line says how old they are.
  load        of the last second or two; 100% is a worker without idle time.
"""


@dataclasses.dataclass
class Look:
    """The display settings of a frame."""

    columns: int = 80
    lines: int = None  # no limit if None
    view: str = "all"
    sort: str = "rate"
    rows: int = None  # of a section, if lines is None; 0: no talkers
    interval: float = 1
    paused: bool = False
    blocks: str = LETTERS
    keys: bool = False  # with the line of keys at the bottom


def spark(values, columns, blocks):
    """The last minute in `columns` columns, the newest at the right; None is a gap."""
    each = math.ceil(KEPT / max(1, columns))
    values = [None] * (KEPT - len(values)) + list(values)
    groups = [values[max(0, end - each) : end] for end in range(len(values), 0, -each)]
    heights = [max((v for v in group if v is not None), default=None) for group in groups[::-1]]
    top = max((h for h in heights if h is not None), default=0) or 1
    last = len(blocks) - 1
    return "".join(" " if h is None else blocks[math.ceil(h / top * last)] for h in heights)


def bar(percent, blocks):
    full = min(BAR, round(percent / 100 * BAR))
    return blocks[-1] * full + ("." if blocks == LETTERS else "·") * (BAR - full)


def ends(left, right, columns):
    """A line with one text at either end, or as much of the left one as fits."""
    room = columns - len(right) - 1
    if room < len(left) // 2:
        return left.ljust(columns)[:columns]
    return f"{cut(left, room):{room}} {right}"


# --- the upper lines ---------------------------------------------------------


def heading(known, look):
    s = known.status
    if s is None:
        return ("reverse", ends("slipringctl top", "waiting for the server", look.columns))
    state = "paused" if look.paused else f"every {look.interval:g}s"
    clock = time.strftime("%H:%M:%S", time.localtime(known.clock))
    text = f"slipring {s['version']}  {s['realm']}  up {seconds(s['uptime'])}"
    return ("reverse", ends(text, f"{state}  {clock}", look.columns))


def notices(known, look):
    """The most urgent warning, if there is one."""
    if known.error:
        text = f"! no server for {seconds(int(known.lost_s))}: {known.error}"
        return [("red", line) for line in textwrap.wrap(text, max(20, look.columns))[:3]]
    if known.anew is not None and known.clock - known.anew < NEWS_S:
        clock = time.strftime("%H:%M:%S", time.localtime(known.anew))
        return [("yellow", f"! slipring was restarted (seen {clock}, pid {known.status['pid']})")]
    warnings = known.status["warnings"] if known.status else []
    if not warnings:
        return []
    more = f" (and {len(warnings) - 1} more: slipringctl status)" if len(warnings) > 1 else ""
    room = look.columns - 2 - len(more)
    text = cut(warnings[0], room) if room > 20 else warnings[0]
    return [("yellow", f"! {text}{more}")]


def totals(known, look):
    s, rates = known.status, known.status["rates"]
    lines = [
        (None, f"{places(s)} allocations, "
               f"{rates['allocations']} new/s; {count(s['permissions'])} permissions, "
               f"{count(s['channels'])} channels"),
    ]  # fmt: skip
    rows = (
        ("in", f"{count(rates['rx'])}/s", f"{count(8 * rates['rx_bytes'])}bit/s", 0),
        ("out", f"{count(rates['tx'])}/s", f"{count(8 * rates['tx_bytes'])}bit/s", 1),
        ("drop", f"{count(rates['drops'])}/s", f"{count(s['drops'])} in all", 2),
    )
    for name, rate, more, index in rows:
        text = f"{name:<4} {rate:>7} {more:<12} "
        values = [sample and sample[index] for sample in known.history]
        line = text + spark(values, look.columns - len(text), look.blocks)
        lines.append(("red" if name == "drop" and rates["drops"] else None, line))
    return lines


# --- sections: a line of titles, and rows, the most important first ----------


def plain(style, text):
    return text


def part(name, shown, total):
    """The title of the first column: says if rows are missing."""
    return f"{name} ({shown} of {total})" if shown < total else name


def workers(known, look, most):
    rows = list(known.workers)
    first = "WORKER" if len(rows) <= most else f"{most} OF {len(rows)}"
    head = [first, "LOAD", "", "ALLOCATIONS", "RX/S", "BIT/S", "TX/S", "BIT/S", "DROPS/S"]
    if len(rows) > most:
        rows = sorted(rows, key=lambda r: -r["load"])[:most]
    cells = [
        [r["worker"], f"{r['load']:.0f}%", bar(r["load"], look.blocks), r["allocations"],
         count(r["rates"]["rx"]), count(8 * r["rates"]["rx_bytes"]), count(r["rates"]["tx"]),
         count(8 * r["rates"]["tx_bytes"]), count(r["rates"]["drops"])]
        for r in rows
    ]  # fmt: skip
    lines = table(head, cells, plain, (), (0, 1, 3, 4, 5, 6, 7, 8), look.columns)
    load = lambda r: "red" if r["load"] >= FULL else "yellow" if r["load"] >= BUSY else None
    return lines[0], [(load(r), line) for r, line in zip(rows, lines[1:])]


def drops(known, look, most):
    rows = sorted(known.drops, key=lambda r: (-r["rate"], -r["count"]))
    shown = rows[:most]
    cells = [[r["drop"], count(r["rate"]), count(r["count"]), r["meaning"]] for r in shown]
    head = [part("DROP", len(shown), len(rows)), "/S", "IN ALL", "MEANING"]
    lines = table(head, cells, plain, (3, 0), (1, 2), look.columns)
    return lines[0], [("red" if r["rate"] else None, t) for r, t in zip(shown, lines[1:])]


def ages(known, look, names):
    """A line that says how old the lists of talkers are."""
    parts = []
    for name in names:
        got = known.talkers.get(name)
        age = f"{seconds(int(known.now - got.came))} old" if got else "being counted"
        parts.append(f"{name} {age}" + (f", by {got.sort}" if got and got.sort != look.sort else ""))
    return ("dim", f"talkers by {look.sort}: {'; '.join(parts)}")


def talkers_of(known, name):
    got = known.talkers.get(name)
    return (got.rows, got.sort) if got else ([], "rate")


def users(known, look, most):
    rows, sort = talkers_of(known, "users")
    cells = [[r["user"], r["allocations"], count(r[sort])] for r in rows[:most]]
    lines = table(["USER", "ALLOCATIONS", WORDS[sort]], cells, plain, (0,), (1, 2), look.columns)
    return lines[0], [(None, line) for line in lines[1:]]


def allocations(known, look, most):
    rows, sort = talkers_of(known, "allocations")
    both = lambda r: r["rx_bytes"] + r["tx_bytes"]
    value = {"datagrams": lambda r: r["rx"] + r["tx"], "bytes": both}.get(sort, lambda r: r[sort])
    head = ["ID", "USER", "CLIENT", "OVER", "AGE", "BYTES", WORDS[sort]]
    cells = [
        [r["id"], r["user"], r["client"], r["transport"], seconds(r["age"]),
         count(both(r)), count(value(r))]
        for r in rows[:most]
    ]  # fmt: skip
    lines = table(head, cells, plain, (1, 2), (4, 5, 6), look.columns)
    return lines[0], [(None, line) for line in lines[1:]]


SECTIONS = {"workers": workers, "drops": drops, "users": users, "allocations": allocations}


def wanted(known, name):
    """Number of rows that a section could show."""
    if name in ("workers", "drops"):
        return len(getattr(known, name))
    got = known.talkers.get(name)
    return len(got.rows) if got else 0


def share(room, rows):
    """Distributes room (lines): the number of rows of each section; None: not even its line of titles."""
    got = [None] * len(rows)
    for i in range(len(rows)):
        if room >= 2 or (room == 1 and rows[i] == 0):
            got[i] = min(1, rows[i])
            room -= 1 + got[i]
    while room > 0 and any(g is not None and g < r for g, r in zip(got, rows)):
        for i, r in enumerate(rows):
            if room > 0 and got[i] is not None and got[i] < r:
                got[i] += 1
                room -= 1
    return got


def sections(known, look, room):
    names = list(SECTIONS) if look.view == "all" else [look.view]
    if look.rows == 0:
        names = [name for name in names if name not in LISTS]
    talkers = [name for name in names if name in LISTS]
    rows = [wanted(known, name) for name in names]
    if room is None:
        got = [r if name == "workers" else min(r, look.rows or DEFAULT_ROWS) for name, r in zip(names, rows)]
    else:
        got = share(room - bool(talkers), rows)
    lines = []
    for name, most in zip(names, got):
        if talkers and name == talkers[0]:
            lines.append(ages(known, look, talkers))
        if most is not None:
            head, body = SECTIONS[name](known, look, most)
            lines += [("bold", head), *body[:most]]
    return lines


def frame(known, look):
    """All lines of a frame: at most look.lines, of at most look.columns."""
    top = [heading(known, look), *notices(known, look)]
    if known.status is not None:
        top += totals(known, look)
    foot = []
    if look.keys:
        text = f"q quit  p pause  s sort: {look.sort}  v view: {look.view}  +- interval  h help"
        foot = [("dim", text)]
    if known.status is not None:
        room = look.lines and max(0, look.lines - len(top) - len(foot))
        top += sections(known, look, room)
    if look.lines:
        top = top[: max(0, look.lines - len(foot))]
        top += [(None, "")] * (look.lines - len(foot) - len(top))
    return [(style, text[: look.columns].rstrip()) for style, text in top + foot]
