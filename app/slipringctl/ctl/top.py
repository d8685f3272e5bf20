# SPDX-License-Identifier: BSD-3-Clause
"""slipringctl top: a live display on a terminal, otherwise frames of plain lines or JSON."""

import argparse
import json
import sys
import threading
import time

from ctl.feed import LISTS, SORTS, Feed
from ctl.frame import BLOCKS, DEFAULT_ROWS, HELP, LETTERS, VIEWS, Look, frame
from ctl.tables import Style, width
from ctl.terminal import Terminal, usable
from ctl.wire import Server

INTERVALS = (1, 2, 5, 10, 30, 60)
MOST_S = 3600
EARLY_S = 0.3  # new facts are drawn at once if the next frame is due within this time
OK, NO_SERVER = 0, 3


def interval(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 1 <= value <= MOST_S:
        raise argparse.ArgumentTypeError(f"must be from 1 to {MOST_S} seconds")
    return value


def whole(low, high):
    def number(text):
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"must be a number from {low} to {high}")
        return int(text)

    return number


def add_to(command):
    """Adds the options of top."""
    parser = command(
        "top",
        "Live: workers, rates, drops, and the busiest users and allocations. Frames of plain lines"
        " without a terminal.",
    )
    parser.add_argument("-i", "--interval", type=interval, default=1.0, metavar="SECONDS",
        help="between frames, 1 to 3600; default 1")
    parser.add_argument("-n", "--count", type=whole(1, 10**9), metavar="COUNT",
        help="end after COUNT frames")
    parser.add_argument("--once", action="store_const", const=1, dest="count",
        help="one frame of plain lines; like -n 1")
    parser.add_argument("--sort", choices=SORTS, default="rate",
        help="order of talkers: datagrams or bits a second, or totals; default rate")
    parser.add_argument("--rows", type=whole(0, 512), metavar="N",
        help="talkers of each list without a terminal, 0 to 512; default 10. 0: none are"
        " queried")  # fmt: skip


def blocks():
    return BLOCKS if (sys.stdout.encoding or "").lower().startswith("utf") else LETTERS


# --- without a terminal ------------------------------------------------------


def as_json(known):
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if known.error:
        return json.dumps({"time": stamp, "error": known.error})
    frame_of = {"time": stamp, "status": known.status, "workers": known.workers, "drops": known.drops}
    for name in LISTS:
        got = known.talkers.get(name)
        if got:
            ago = round(known.now - got.came, 3)
            frame_of[name] = {"sort": got.sort, "ago": ago, "took": round(got.took, 3), "rows": got.rows}
    return json.dumps(frame_of)


def await_all(feed, news):
    """Waits until there is data for the first frame, or the server is lost."""
    while not feed.complete() and not feed.snapshot().error:
        news.wait(0.5)
        news.clear()
        if feed.failed:
            raise feed.failed


def plain_frames(args, feed, news):
    style = Style(args.color)
    await_all(feed, news)
    due, left = time.monotonic(), args.count
    while True:
        known = feed.snapshot()
        if args.json:
            print(as_json(known), flush=True)
        else:
            look = Look(width(), None, "all", feed.sort, args.rows, args.interval, blocks=blocks())
            lines = [style(name, text) if name else text for name, text in frame(known, look)]
            print("\n".join(lines), flush=True)
        left = left and left - 1
        if left == 0:
            return NO_SERVER if known.error else OK
        if not args.json:
            print()
        due += args.interval
        while (now := time.monotonic()) < due:
            time.sleep(due - now)
            if feed.failed:
                raise feed.failed


# --- on a terminal -----------------------------------------------------------


class Live:
    """The settings made by keys, and the time of the next frame."""

    def __init__(self, args, feed, terminal):
        self.feed, self.terminal, self.style = feed, terminal, Style(args.color)
        self.look = Look(sort=feed.sort, interval=args.interval, rows=args.rows, blocks=blocks(), keys=True)
        self.left = args.count
        self.known = feed.snapshot()  # the data on the screen
        self.due = time.monotonic()
        self.help = self.ended = False

    def key(self, key):
        look = self.look
        if self.help:
            self.help = False
        elif key in ("q", "Q"):
            self.ended = True
        elif key in ("h", "H", "?"):
            self.help = True
        elif key in ("p", " "):
            look.paused = not look.paused
        elif key in ("s", "S"):
            index = SORTS.index(look.sort) + (1 if key == "s" else -1)
            look.sort = SORTS[index % len(SORTS)]
            self.feed.sort_by(look.sort)
        elif key == "v":
            look.view = VIEWS[(VIEWS.index(look.view) + 1) % len(VIEWS)]
        elif key == "+":
            look.interval = min((s for s in INTERVALS if s > look.interval), default=look.interval)
        elif key == "-":
            look.interval = max((s for s in INTERVALS if s < look.interval), default=look.interval)
        self.feed.paused = look.paused or look.view in ("workers", "drops")
        if key in ("+", "-"):
            self.due = min(self.due, time.monotonic() + look.interval)

    def draw(self):
        look = self.look
        look.columns, look.lines = self.terminal.size()
        if not look.paused:
            self.known = self.feed.snapshot()
        lines = frame(self.known, look)
        if self.help:
            lines = [(None, text[: look.columns]) for text in HELP.splitlines()]
        self.terminal.draw([self.style(name, text) if name else text for name, text in lines])

    def step(self):
        """Waits for a key, news or the time of the next frame, and draws if needed."""
        keys = self.terminal.wait(self.due - time.monotonic())
        if keys is None:
            self.ended = True
            return
        for key in keys:
            self.key(key)
        if self.feed.failed:
            raise self.feed.failed
        now = time.monotonic()
        frame_due = now >= self.due - EARLY_S
        changed = (self.feed.known.error, bool(self.feed.known.status))
        shown = (self.known.error, bool(self.known.status))
        if frame_due:
            self.due = now + self.look.interval
            if self.left is not None:
                self.left -= 1
        if keys or frame_due or changed != shown or self.terminal.size() != self.terminal.area:
            self.draw()
        self.ended = self.ended or self.left == 0


def live(args, feed, terminal):
    with terminal:
        one = Live(args, feed, terminal)
        one.draw()
        while not one.ended:
            one.step()
    return OK


# --- both --------------------------------------------------------------------


def run(args):
    with Server(args.socket) as server:  # a lack of permission fails at once, as with any command
        server.ask("status")
    drawn = usable() and not args.json and args.count != 1
    terminal, news = Terminal() if drawn else None, threading.Event()
    rows = args.rows
    if rows is None:
        rows = max(DEFAULT_ROWS, terminal.size()[1]) if drawn else DEFAULT_ROWS
    feed = Feed(args.socket, rows, args.sort, terminal.wake if drawn else news.set)
    feed.start()
    try:
        return live(args, feed, terminal) if drawn else plain_frames(args, feed, news)
    finally:
        feed.stop()
