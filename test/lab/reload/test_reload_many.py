#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it measures a time
# long: 100,000 allocations
# full: reload does this with few allocations
"""A reload removes a user with very many allocations: all of them end within a second of the order,
each with that reason in its record, and other users' calls continue."""

import os
import signal
import time

import keep
import lab as labs
import loadgen
from control import Control
from lab import SERVER6, until
from loadgen import IVAN, PEERS4, probes
from test_reload import client_of, relays, write

COUNT = 100_000 if labs.LONG else 2_000
RELAYS = [f"10.99.0.{i}" for i in range(200, 204)]  # 64,511 ports each
OLGA = {"name": "olga", "password": "of-olga"}


def clients(gen):
    """COUNT allocations, which relay until the clients are told that they have no allocation."""
    return gen.start(
        *probes(*IVAN, clients="10.99.0.20-10.99.0.39/24"),
        *("--peer-port", "net_af_packet1,iface=l1", "--peer-addr", PEERS4),
        *("--clients", str(COUNT), "--setup-rate", "20k", "--direction", "both"),
        *"--duration 600 --pps 5k --stats-period 0".split(),
    )


def gone(server):
    """Seconds from the order until the last one has ended, without the time that others had the
    CPU."""
    told = lambda: [line for line in server.log().splitlines() if "reload by SIGHUP: " in line]
    write(server, {"auth": {"users": [OLGA]}})
    begin, waited = time.monotonic(), keep.waited(server)
    server.process.send_signal(signal.SIGHUP)
    (line,) = until(told, 60, "the reload ends")
    took = time.monotonic() - begin - (keep.waited(server) - waited)
    assert f"1 change is in use; {COUNT} allocations ended" in line, line
    return took


def reasons(path):
    return [row["why"] for row in labs.records(path) if row["event"] == "ended"]


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    records = os.path.join(lab.dir, "records.json")
    config = {
        "control": {"socket": path},
        "records": {"file": records},
        "workers": {"count": 1},
        "auth": {"users": [{"name": "ivan", "password": "pw"}, OLGA]},
        "relay": {"addresses": [*RELAYS, SERVER6], "ports": "1025-65535"},
        "limits": {"allocations": 2 * COUNT, "per-user": 0},
    }
    server = lab.server(config, queues=1, more=[f"{address}/24" for address in RELAYS])
    olga = client_of(lab, "olga", OLGA["password"], lab.echo())
    run = clients(loadgen.Generator(lab))
    with Control(path, timeout=60) as ask:
        there = lambda: ask.ask("status")["allocations"] == COUNT + 1
        until(there, 60 + COUNT / 1000, f"{COUNT} allocations", pause=0.2)
        server.check()
        # further data and requests of a removed user count as a stranger's
        server.allow |= {"peer-no-allocation", "no-allocation", "guess-rate", "unauthenticated-rate"}
        took = gone(server)
        assert ask.ask("status")["allocations"] == 1
    print(f"{COUNT} allocations of one worker were ended {took:.2f} s after the order")
    assert not labs.LONG or took < 1.0 * labs.SLOW, took
    assert relays(olga)
    until(lambda: reasons(records).count("user-gone") == COUNT, 60, "each has its record")
    run.process.kill()  # its clients would retransmit for a long time
    server.finish()


if __name__ == "__main__":
    labs.run(main)
