#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: a thousand reloads
"""Many reloads during media, every other one with a refused file: nothing is lost, and no more
datagrams are slow than in the periods without reloads.

LAB_PPS=20k selects another rate.
"""

import os
import signal
import time

import control
import lab as labs
import loadgen
from lab import until
from links import join
from loadgen import IVAN, media
from test_reload import write

SPANS, RELOADS = (10, 100) if labs.LONG else (1, 30)
LONG_NS = 1_048_576  # the bucket of times from about a millisecond on


def times(server):
    """The number of datagrams timed since the start, and the number that took over a millisecond."""
    timed = slow = 0
    for worker in server.telemetry.ask("/slipring/workers"):
        h = server.telemetry.ask(f"/slipring/histograms,{worker}")
        bounds = [*h["time_bounds_ns"], float("inf")]
        timed += sum(h["time_hist"])
        slow += sum(n for bound, n in zip(bounds, h["time_hist"]) if bound > LONG_NS)
    return timed, slow


def change(n):
    """Changes that reach the workers, and changes for management."""
    return {
        "limits": {"per-user": 100 + n, "requests": 1 + n % 32},
        "peers": {"deny": [f"192.0.2.{n % 200}/32"]},
        "icmp": {"rate": n},
        "log": {"areas": {"sessions": ("debug", "info")[n % 2]}},
        "workers": {"idle-sleep": 50 + n % 100},
    }


def reload(server, ask, n):
    write(server, change(n) if n % 2 else "limits: {per-user: one}")
    asked = ask.ask("config", do="reload")["asked"]
    state = lambda: ask.ask("config")
    ended = until(lambda: state()["ended"] >= asked and state(), 10, "it ends")
    assert ended["how"] == ("done" if n % 2 else "refused"), ended


def span(server, work):
    """The seconds that work takes, and the increase of times() meanwhile."""
    start, before = time.monotonic(), times(server)
    work()
    return time.monotonic() - start, [b - a for a, b in zip(before, times(server))]


def main(lab):
    labs.need_own_server()
    gen = loadgen.Generator(lab)
    join(lab, gen)
    path = os.path.join(lab.dir, "control.sock")
    server = lab.server({"control": {"socket": path}})
    pps = os.environ.get("LAB_PPS", "4k")
    run = gen.start(*media(*IVAN, *f"--clients 20 --pps {pps} --duration 1200 --direction both --size 160 "
        "--drain 2".split()))  # fmt: skip
    until(lambda: server.stats()["allocations"] == 20, 10, "the clients are there")
    counted = {"with": [0, 0], "without": [0, 0]}
    with control.Control(path) as ask:
        for k in range(SPANS):
            reloads = lambda k=k: [reload(server, ask, k * RELOADS + n) for n in range(RELOADS)]
            seconds, used = span(server, reloads)
            counted["with"] = [a + b for a, b in zip(counted["with"], used)]
            if labs.LONG:
                _, used = span(server, lambda s=seconds: time.sleep(s))
                counted["without"] = [a + b for a, b in zip(counted["without"], used)]
    run.process.send_signal(signal.SIGINT)
    result = run.result()
    print(f"{SPANS * RELOADS} reloads beside {result['total_sent']} datagrams; drops {server.drops()}")
    for name, (timed, slow) in counted.items():
        print(f"{name} reloads {slow} of {timed} datagrams that were timed took over a millisecond")
    loadgen.check_clean(result, "up", "down")
    server.check()


if __name__ == "__main__":
    labs.run(main)
