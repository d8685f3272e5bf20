# SPDX-License-Identifier: BSD-3-Clause
"""The data about a server that top shows. Facts cost the server nothing and come every second. Talkers make
it read every allocation: they come one list at a time, and less often the longer a list takes."""

import collections
import dataclasses
import threading
import time

from ctl.wire import NoServer, Refused, Server, cleaned

LOOK_S = 1.0  # interval of the facts
KEPT = 60  # samples of a sparkline
REST_S = 1.0  # least pause between two lists of talkers
SHARE = 10  # pause as a multiple of the server's time for a list
FACTS_S, TALKERS_S = 5, 120  # limits for an answer
LISTS = ("allocations", "users")
SORTS = ("rate", "bitrate", "datagrams", "bytes")
RATE_S = 1  # the server waits this long between the two samples of a rate


@dataclasses.dataclass
class Talkers:
    rows: list
    sort: str
    came: float  # when they came, by time.monotonic
    took: float


@dataclasses.dataclass
class Known:
    """All data at one time."""

    now: float
    clock: float = 0  # when the facts came, by time.time
    status: dict = None
    workers: list = ()
    drops: list = ()
    history: list = ()  # (received bits, sent bits, drops) per second, or None, the newest last
    talkers: dict = dataclasses.field(default_factory=dict)  # by list
    error: str = None  # reason that the server is unreachable
    lost_s: float = 0  # for how long it has been
    anew: float = None  # when a restart was noticed, by time.time


def pause_after(took, sort):
    """The pause after a list, in seconds."""
    worked = took - (RATE_S if sort in ("rate", "bitrate") else 0)
    return max(REST_S, SHARE * worked)


class Feed:
    """Threads that query the server; they call wake when there is news."""

    def __init__(self, path, rows, sort, wake):
        self.path, self.rows, self.wake = path, rows, wake
        self.sort, self.paused = sort, False
        self.failed = None  # a bug in a thread of the feed
        self.lock = threading.Lock()
        self.known = Known(now=0)
        self.history = collections.deque(maxlen=KEPT)
        self.lost_at = None
        self.hurry, self.ended = threading.Event(), threading.Event()

    def start(self):
        for work in (self.ask_facts, self.ask_talkers):
            threading.Thread(target=self.guarded, args=(work,), daemon=True).start()

    def stop(self):
        self.ended.set()
        self.hurry.set()

    def guarded(self, work):
        try:
            work()
        except Exception as error:  # a bug must not go unnoticed
            self.failed = error
            self.wake()

    def snapshot(self):
        now = time.monotonic()
        with self.lock:
            lost = now - self.lost_at if self.lost_at is not None else 0
            return dataclasses.replace(
                self.known, now=now, history=list(self.history), lost_s=lost,
                talkers=dict(self.known.talkers))  # fmt: skip

    def complete(self):
        """True if there is data for a whole frame."""
        known = self.known
        return known.status is not None and (not self.rows or len(known.talkers) == len(LISTS))

    # --- facts ---------------------------------------------------------------

    def take(self, status, workers, drops):
        rates = status["rates"]
        with self.lock:
            before = self.known.status
            talkers, anew = self.known.talkers, self.known.anew
            if before is not None and before["pid"] != status["pid"]:
                talkers, anew = {}, time.time()
            self.history.append((8 * rates["rx_bytes"], 8 * rates["tx_bytes"], rates["drops"]))
            self.known = Known(0, time.time(), status, workers, drops, talkers=talkers, anew=anew)
            self.lost_at = None

    def miss(self, reason):
        with self.lock:
            self.history.append(None)
            self.known = dataclasses.replace(self.known, error=reason)
            self.lost_at = self.lost_at or time.monotonic()

    def look(self, server):
        """Queries the facts over server, or a new connection. Returns the connection, or None if it is lost."""
        try:
            server = server or Server(self.path, FACTS_S)
            answers = [cleaned(server.ask(command)) for command in ("status", "workers", "drops")]
            self.take(answers[0], answers[1]["rows"], answers[2]["rows"])
            return server
        except (NoServer, Refused) as error:
            if server:
                server.close()
            self.miss(str(error))
            return None

    def ask_facts(self):
        server = None
        while not self.ended.is_set():
            begin = time.monotonic()
            server = self.look(server)
            self.wake()
            self.ended.wait(max(0, begin + LOOK_S - time.monotonic()))
        if server:
            server.close()

    # --- talkers -------------------------------------------------------------

    def sort_by(self, sort):
        """Sets another order: the next list comes at once."""
        self.sort = sort
        self.hurry.set()

    def talk(self, name):
        """Queries one list. Returns the pause after it, or None if it did not come."""
        sort, begin = self.sort, time.monotonic()
        pid = self.known.status["pid"]
        try:
            with Server(self.path, TALKERS_S) as server:
                rows = cleaned(server.ask(name, sort=sort, rows=self.rows)["rows"])
        except (NoServer, Refused):
            return None  # the facts report the error
        took = time.monotonic() - begin
        with self.lock:
            if self.known.status["pid"] == pid:
                self.known.talkers[name] = Talkers(rows, sort, time.monotonic(), took)
        self.wake()
        return pause_after(took, sort)

    def ask_talkers(self):
        lists = list(LISTS)
        while not self.ended.is_set():
            rest = LOOK_S / 10
            if self.rows and not self.paused and self.known.status and not self.known.error:
                rest = self.talk(lists[0])
                lists.reverse()
                if rest is None:
                    rest = REST_S
                elif len(self.known.talkers) < len(LISTS):
                    rest = 0  # the first of each comes at once
            self.hurry.wait(rest)
            self.hurry.clear()
