#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The sample configuration of the documentation, unchanged, queried with DPDK's own tool."""

import json
import os

import lab as labs
from lab import CLIENT4, CLIENT6, PEER4, PEER6
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

SAMPLE = os.path.join(labs.TOP, "test/unit/conf/data/issue.yaml")
COUNTERS = {
    "rx", "tx", "drops", "made", "consumed", "held", "rx_bytes", "tx_bytes", "allocations",
    "allocations_total", "permissions", "channels", "endpoints", "auth_failures",
}  # fmt: skip
WORKER = COUNTERS | {
    "lcore", "busy_cycles", "total_cycles", "sleep_cost_ns", "handed_in", "handed_out", "rx_bursts",
    "rx_empty", "rx_hist", "tx_hist",
}  # fmt: skip


def dpdk_telemetry(question):
    """One query with dpdk-telemetry.py -f slipring."""
    out = labs.command("dpdk-telemetry.py", "-f", "slipring", input=question + "\n")
    answers = [json.loads(line) for line in out.splitlines() if line.startswith('{"/')]
    assert answers, out
    return answers[-1][question]


def telemetry(server, client):
    """The commands of design section 10 and their fields."""
    info = dpdk_telemetry("/slipring/info")
    assert {"name", "version", "pid", "uptime", "workers", "ready"} <= set(info), info
    assert info["pid"] == server.process.pid and info["workers"] == 2, info
    assert COUNTERS <= set(server.stats()), server.stats()
    workers = server.telemetry.ask("/slipring/workers")
    assert len(workers) == 2, workers
    for worker in workers:
        answer = server.telemetry.ask(f"/slipring/worker,{worker}")
        assert WORKER <= set(answer), WORKER - set(answer)
    assert 0 in server.telemetry.ask("/slipring/drops").values(), "reasons without a count are listed, too"
    rows = server.allocations()
    assert len(rows) == 2, rows
    keys = {"id", "client", "relay", "user", "expires", "rx", "tx", "peers"}
    assert all(keys <= set(row) and row["user"] == "ivan" for row in rows), rows
    mine = [row for row in rows if str(client.relayed[1]) in row["relay"]]
    assert len(mine) == 1 and 0 < mine[0]["expires"] <= 600, rows
    for name in ("refusals", "ports", "steering", "config"):
        assert server.telemetry.ask("/slipring/" + name), name
    for unknown in ("/slipring/worker,99", "/slipring/worker,x", "/slipring/allocations,99,0"):
        server.telemetry.ask(unknown)  # no such thing, no harm
    assert server.ready()


def main(lab):
    labs.need_own_server()
    if os.cpu_count() < 2:
        raise labs.Skip("the sample names two CPUs")
    if os.path.exists("/var/run/dpdk/slipring/dpdk_telemetry.v2"):
        pids = labs.command("pgrep", "-f", "file-prefix.slipring", check=False)
        assert not pids, f"another instance of that name is running: {pids}"
    with open(SAMPLE) as file:
        server = lab.server(text=file.read())
    clients = []
    for client_ip, peer_ip in ((CLIENT4, PEER4), (CLIENT6, PEER6)):
        echo = lab.echo(peer_ip)
        client = lab.client(ip=client_ip)
        family = bytes([2 if ":" in peer_ip else 1, 0, 0, 0])
        assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
        assert client.bind(0x4000, echo.address).cls == SUCCESS
        for i in range(100):
            client.send_channel(0x4000, b"%d" % i)
            assert client.wait("channel") == ("channel", 0x4000, b"%d" % i)
        clients.append(client)
    telemetry(server, clients[0])


if __name__ == "__main__":
    labs.run(main, port="af_packet")  # unchanged
