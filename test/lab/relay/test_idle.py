#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it measures CPU time
"""CPU usage of a worker at low rates: adaptive workers sleep between datagrams without losing any,
busy ones never sleep."""

import os
import time

import lab as labs
import loadgen

TRAFFIC = "--clients 20 --pps 5k --direction up --duration 2 --size 120".split()


def scheduled(pid):
    """(seconds on a CPU, seconds waiting for one, sleeps) of the only worker of a process."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        path = f"/proc/{pid}/task/{thread}/"
        with open(path + "comm") as comm, open(path + "schedstat") as stat:
            name, (ran, waited, _) = comm.read(), stat.read().split()
        if "worker" not in name:
            continue
        with open(path + "status") as status:
            found = next(line for line in status if line.startswith("voluntary_ctxt_switches"))
        return int(ran) / 1e9, int(waited) / 1e9, int(found.split()[1])
    raise AssertionError("no worker")


def measured(pid, seconds):
    """(share of the available CPU time, sleeps a second)."""
    begin, before = time.monotonic(), scheduled(pid)
    time.sleep(seconds)
    took, after = time.monotonic() - begin, scheduled(pid)
    ran, waited, sleeps = (b - a for a, b in zip(before, after))
    return ran / (took - waited), sleeps / took


def main(lab):
    labs.need_own_server()
    gen = loadgen.Generator(lab)
    server = lab.server({"workers": {"count": 1, "idle": "adaptive", "idle-sleep": 50}})
    run = gen.start(*loadgen.media(*loadgen.IVAN, *TRAFFIC))
    labs.until(lambda: server.stats()["rx"] > 1000, 10, "traffic")
    share, sleeps = measured(server.process.pid, 1)
    result = run.result()
    loadgen.check_clean(result, "up")
    print(f"ok     adaptive: {share:.0%} of a CPU at 5,000 datagrams a second, {sleeps:.0f} sleeps")
    assert sleeps > 100, sleeps  # a packet wakes it, and several may have arrived by then
    assert share < 0.7 or labs.SANITIZED, share
    server.check()
    server.stop()
    busy = lab.server({"workers": {"count": 1, "idle": "busy"}})
    _, sleeps = measured(busy.process.pid, 0.5)
    assert sleeps < 10, sleeps


if __name__ == "__main__":
    labs.run(main)
