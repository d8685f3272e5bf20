#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it measures times
# long: a million allocations
# full: control has this with few allocations
"""Listings of many allocations while they relay: complete, in time, without lost datagrams. Then
one order ends all of them, and each has its record.
"""

import os
import time

import lab as labs
import loadgen
from control import Control
from lab import SERVER6
from loadgen import IVAN, PEERS4, probes

COUNT = 1_000_000 if labs.LONG else 5_000
RELAYS = [f"10.99.0.{i}" for i in range(200, 216)]  # 64,511 ports each
UNSORTED, SORTED = 0.2, 5.0  # most seconds for a page


def timed(label, most, ask):
    """The answer and its duration. It repeats the request if that took too long, as on a busy
    machine."""
    best = None
    for _ in range(5):
        begin = time.monotonic()
        answer = ask()
        best = min(best or 1e9, time.monotonic() - begin)
        if best < most * labs.SLOW:
            break
    assert best < most * labs.SLOW, f"{label}: {best:.2f} s"
    print(f"{label}: {best * 1000:.0f} ms")
    return answer


def pages(ask):
    first = timed("first page", UNSORTED, lambda: ask.ask("allocations", rows=50))
    assert len(first["rows"]) == 50 and first["next"] == 1
    last = COUNT // 50 - 1
    rows = timed("last page", UNSORTED, lambda: ask.ask("allocations", rows=50, page=last))
    assert len(rows["rows"]) == 50 and "next" not in rows
    assert not ask.ask("allocations", rows=50, page=last + 1)["rows"]
    row = timed("by client", SORTED,
        lambda: ask.ask("allocations", client=rows["rows"][7]["client"].split(":")[0], rows=1))  # fmt: skip
    assert row["rows"]
    for sort in ("datagrams", "age", "rate"):
        most = SORTED + (1 if sort == "rate" else 0)
        rows = timed(sort, most, lambda s=sort: ask.ask("allocations", sort=s, rows=50))["rows"]
        assert len(rows) == 50 and len({row["id"] for row in rows}) == 50
    value = [row["rate"] for row in rows]
    assert value == sorted(value, reverse=True) and value[0] > 0, value
    (ivan,) = timed("users", SORTED, lambda: ask.ask("users"))["rows"]
    assert (ivan["user"], ivan["allocations"]) == ("ivan", COUNT), ivan


def clients(gen, seconds):
    """COUNT allocations, which relay."""
    return gen.start(
        *probes(*IVAN, clients="10.99.0.20-10.99.0.39/24"),
        *("--peer-port", "net_af_packet1,iface=l1", "--peer-addr", PEERS4),
        *("--clients", str(COUNT), "--setup-rate", "20k", "--direction", "both"),
        *("--duration", str(seconds), *"--pps 5k --stats-period 0".split()),
    )


def live_all(ask):
    """Waits until all clients have an allocation."""
    there = lambda: ask.ask("status")["allocations"] == COUNT
    labs.until(there, 30 + COUNT / 4000, f"{COUNT} allocations", pause=0.5)


def killed(server, ask, path):
    """An order to end all is faster than the rings of events are emptied, and loses no event."""
    lost = server.stats()["session_events_lost"]
    begin = time.monotonic()
    answer = ask.ask("kill", user="ivan")
    print(f"kill: {(time.monotonic() - begin) * 1000:.0f} ms")
    assert answer["killed"] == COUNT, answer

    def records():
        with open(path) as file:
            return sum('"event":"ended"' in line and '"why":"killed"' in line for line in file)

    labs.until(lambda: records() >= COUNT, 10 + COUNT / 20000, "the records are written", pause=0.1)
    assert records() == COUNT and server.stats()["session_events_lost"] == lost
    assert ask.ask("records")["lost"] == 0


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    records = os.path.join(lab.dir, "records.json")
    config = {
        "relay": {"addresses": [*RELAYS, SERVER6], "ports": "1025-65535", "quarantine": 1},
        "limits": {"allocations": COUNT, "per-user": 0},
        "control": {"socket": path},
        "records": {"file": records, "rotate": 0},
    }
    server = lab.server(config, more=[f"{address}/24" for address in RELAYS])
    gen = loadgen.Generator(lab)
    run = clients(gen, 40 if labs.LONG else 6)
    with Control(path, timeout=60) as ask:
        live_all(ask)
        labs.until(lambda: ask.ask("status")["rates"]["rx"] > 2000, 60, "they relay", pause=0.5)
        pages(ask)
        assert run.process.poll() is None, "they still relay"
        begin = time.monotonic()
        result = run.result(120 + COUNT / 1000)
        print(f"relayed on for {time.monotonic() - begin:.0f} s")
        for name, flow in result["ways"].items():
            assert flow["delivered"] == flow["sent"] > 4000 and flow["corrupted"] == 0, (name, flow)
        labs.until(lambda: ask.ask("status")["allocations"] == 0, 60, "all are released")
        server.check()
        server.allow |= {"no-allocation", "peer-no-allocation"}  # from clients whose allocations were ended
        again = clients(gen, 600)
        live_all(ask)
        killed(server, ask, records)
        again.process.kill()


if __name__ == "__main__":
    labs.run(main)
