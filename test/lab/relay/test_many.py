#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: fails if an answer takes a quarter of a second
# long: four times as many
"""Thousands of allocations at once: all unique, listed, relaying, and released at the end."""

import random
import resource

import lab as labs
from lab import CLIENT4, CLIENT6
from turnlib import SUCCESS

COUNT = 12_000 if labs.LONG else 3000


def main(lab):
    labs.need_own_server()
    resource.setrlimit(resource.RLIMIT_NOFILE, (COUNT + 1000,) * 2)
    server = lab.server({"limits": {"per-user": 0}})
    echo = lab.echo()
    clients = []
    for i in range(COUNT):
        client = lab.client(ip=CLIENT6 if i % 4 == 0 else CLIENT4)
        assert client.allocate().cls == SUCCESS, i
        clients.append(client)
    assert len({c.relayed for c in clients}) == COUNT, "relayed addresses are unique"
    labs.until(lambda: server.stats()["allocations"] == COUNT, 2, f"{COUNT} are counted")
    rows = server.allocations()
    assert len(rows) == COUNT and len({row["id"] for row in rows}) == COUNT, len(rows)
    ports = {int(row["relay"].rsplit(":", 1)[1]) for row in rows}
    assert ports == {c.relayed[1] for c in clients}
    for client in random.sample(clients, 500):
        assert client.bind(0x4000, echo.address).cls == SUCCESS
        client.send_channel(0x4000, b"%d" % client.relayed[1])
        assert client.wait("channel") == ("channel", 0x4000, b"%d" % client.relayed[1])
    assert len(echo.seen) == 500
    labs.until(lambda: server.stats()["channels"] == 500, 2, "500 channels are counted")
    for client in clients:
        assert client.refresh(0).cls == SUCCESS
    live = lambda: [server.stats()[key] for key in ("allocations", "permissions", "channels")]
    labs.until(lambda: live() == [0, 0, 0], 2, "nothing is left")
    assert server.stats()["allocations_total"] == COUNT
    retried = sum(c.retransmissions for c in clients)
    lost = sum(c.unanswered() for c in clients)
    print(f"{COUNT} allocations, all listed and gone; {retried} retransmissions")
    assert lost == 0


if __name__ == "__main__":
    labs.run(main)
