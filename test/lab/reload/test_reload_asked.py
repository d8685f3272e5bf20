#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Orders during telemetry queries: as many connections as telemetry accepts query lists without a
pause, and no reload, drain or end of an allocation waits for a gap."""

import contextlib
import json
import os
import threading
import time

import control
import lab as labs
from server import Telemetry
from test_reload import reload
from turnlib import SUCCESS

READERS, RELOADS = 9, 20  # telemetry takes ten connections, one of which is the lab's


class Reader:
    """Queries a list, and again as soon as it has the answer."""

    def __init__(self, server, stop):
        self.telemetry, self.stop, self.answers = Telemetry(server.prefix), stop, 0
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while not self.stop.is_set():
            with contextlib.suppress(OSError, ValueError):  # a closed one may still count
                while not self.stop.is_set():
                    self.answers += bool(self.telemetry.ask("/slipring/allocations,0,0"))
            self.telemetry.close()


def reloads(server, first, n):
    """The durations of n reloads, each with a change."""
    took = []
    for i in range(first, first + n):
        begin = time.monotonic()
        line = reload(server, {"limits": {"per-user": i}})
        took.append(time.monotonic() - begin)
        assert "1 change is in use" in line, line
    return took


def orders(lab, path, client):
    """A drain, its end, and the end of an allocation."""
    begin = time.monotonic()
    control.ctl(path, "drain", "--deadline", "10m")
    labs.until(lambda: lab.client().allocate().code == 508, 5, "workers refuse")
    control.ctl(path, "undrain")
    labs.until(lambda: lab.client().allocate().cls == SUCCESS, 5, "workers no longer refuse")
    (row,) = [r for r in rows(path) if int(r["client"].split(":")[1]) == client.sock.getsockname()[1]]
    control.ctl(path, "kill", str(row["id"]))
    assert client.refresh().code == 437
    return time.monotonic() - begin


def rows(path):
    return json.loads(control.ctl(path, "allocations", "--json"))["rows"]


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    server = lab.server({"control": {"socket": path}, "workers": {"count": 1}, "limits": {"per-user": 9}})
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    alone = max(reloads(server, 10, 3))
    stop = threading.Event()
    readers = [Reader(server, stop) for _ in range(READERS)]
    labs.until(lambda: all(r.answers for r in readers), 20, "all read")
    before = [r.answers for r in readers]
    beside = reloads(server, 20, RELOADS)
    took = orders(lab, path, client)
    answers = [r.answers - b for r, b in zip(readers, before)]
    stop.set()
    for reader in readers:
        reader.thread.join()
    print(f"a reload alone took {alone:.3f} s at most, beside {READERS} readers {max(beside):.3f} s; "
          f"other orders {took:.3f} s; answers to readers: {answers}")  # fmt: skip
    # ten polls of the log; in the readers' queue a single order took 9.8 s
    assert max(beside) < (1 + 2 * alone) * labs.SLOW, beside
    assert min(answers) > 0, answers


if __name__ == "__main__":
    labs.run(main)
