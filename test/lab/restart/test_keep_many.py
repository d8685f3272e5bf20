#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: 100,000 allocations
# full: keep does this with few allocations
"""Many allocations over a stop and over SIGKILL: all are restored with the same relayed addresses,
and relay again within the documented time."""

import signal
import time

import keep
import lab as labs
import loadgen
import turnlib
from control import Control
from lab import SERVER6
from loadgen import IVAN, PEERS4, probes

COUNT = 100_000 if labs.LONG else 2_000
RELAYS = [f"10.99.0.{i}" for i in range(200, 204)]  # 64,511 ports each
ENOUGH = 0.999
SECONDS = 600  # of media, at most


def listed(server, *keys):
    """These fields of all allocations, by client."""
    with Control(server.control, timeout=60) as ask:
        rows = ask.all("allocations", rows=512)
    return {row["client"]: [row[key] for key in keys] for row in rows}


def relays(server):
    """The relayed transport addresses of all allocations."""
    return {client: relay for client, (relay,) in listed(server, "relay").items()}


def all_relay(server, clients):
    """Waits until ENOUGH clients have relayed more, in each direction."""
    first = listed(server, "rx", "tx")

    def more():
        now = listed(server, "rx", "tx")
        pairs = [(now.get(client, (0, 0)), first.get(client, (0, 0))) for client in clients]
        return sum(a[0] > b[0] and a[1] > b[1] for a, b in pairs) >= ENOUGH * len(clients)

    labs.until(more, 60, "all relay again", pause=0.5)


def clients(gen):
    """COUNT allocations, which relay and exist until the clients release them."""
    return gen.start(
        *probes(*IVAN, clients="10.99.0.20-10.99.0.39/24"),
        *("--peer-port", "net_af_packet1,iface=l1", "--peer-addr", PEERS4),
        *("--clients", str(COUNT), "--setup-rate", "20k", "--direction", "both"),
        *("--duration", str(SECONDS), *"--pps 5k --stats-period 0".split()),
    )


def over(server, calls, end, before):
    media = keep.Media(calls)
    took = media.again(server, keep.restart(server, end))
    media.close()
    told = keep.told(server)
    print(f"{end.__name__}: media after {took:.2f} s; {told['allocations']} allocations in "
          f"{told['took_ms']} ms, {told['bytes'] >> 20} MB, {told['bytes_each']} each", flush=True)
    lost = {name: n for name, n in told.items() if name.startswith("lost_") and n}
    assert told["allocations"] >= ENOUGH * len(before), (told["allocations"], lost)
    after = relays(server)
    same = sum(after.get(client) == relay for client, relay in before.items())
    assert same >= ENOUGH * len(before), (same, lost)
    assert media.client.refresh(0).cls == turnlib.SUCCESS
    keep.in_time(server, calls, took, end)


def campaign(lab):
    config = {
        "relay": {"addresses": [*RELAYS, SERVER6], "ports": "1025-65535", "quarantine": 1},
        "limits": {"allocations": 4 * COUNT, "per-user": 0},
    }
    server = keep.start(lab, config, more=[f"{address}/24" for address in RELAYS])
    calls = keep.Calls(lab, 0)
    run = clients(loadgen.Generator(lab))
    with Control(server.control, timeout=60) as ask:
        there = lambda: ask.ask("status")["allocations"] == COUNT
        labs.until(there, 60 + COUNT / 1000, f"{COUNT} allocations", pause=0.2)
    before = relays(server)
    assert len(before) == COUNT, len(before)
    over(server, calls, keep.stop, before)
    over(server, calls, keep.kill, before)
    begin = time.monotonic()
    all_relay(server, before)
    print(f"all have relayed again after {time.monotonic() - begin:.1f} s")
    run.process.send_signal(signal.SIGINT)  # the clients release their allocations
    result = run.result(120 + COUNT / 1000)
    for name, flow in result["ways"].items():
        assert flow["corrupted"] == 0 and flow["delivered"] > 0, (name, flow)
    with Control(server.control, timeout=60) as ask:
        labs.until(lambda: ask.ask("status")["allocations"] == 0, 60, "all others are released")
    server.stop()


def main(lab):
    labs.need_own_server()
    keep.need_memory()
    campaign(lab)


if __name__ == "__main__":
    labs.run(main)
