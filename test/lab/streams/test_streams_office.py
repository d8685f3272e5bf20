#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An office: many clients over TCP with one address. All clients with an allocation relay, whatever
the limit of connections per address. status and explain report refused ones. A trusted address is
not counted. If the office's line fails, its places are free again within 30 seconds.
"""

import os
import time

import control
import lab as labs
import streams
from lab import CLIENT4, until
from rereads import write
from server import merge
from turnlib import SUCCESS

CLIENTS = 150
PER_SOURCE = 20  # a fraction of the clients
GONE_S = 30


def relays(lab, echo):
    """A client that has an allocation and relays."""
    client = streams.client(lab)
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    client.send_channel(0x4000, b"here")
    assert client.wait("channel", 5 * labs.SLOW)[2] == b"here"
    return client


def told(path):
    """The reports of status and explain about the address."""
    line = f"! connections are refused (connections-source), most recently from {CLIENT4}"
    status = lambda: " ".join(control.ctl(path, "status").split())
    until(lambda: line in status(), 5, "management has the refusals")
    answer = control.Control(path).ask("explain", source=CLIENT4)
    assert "without an allocation" in answer["cause"] and "streams.trusted" in answer["advice"], answer


def trusted(lab, server, path):
    write(server, {"streams": {"trusted": [CLIENT4 + "/32"]}})
    assert "in use" in control.ctl(path, "config", "reload")
    before = streams.counters(server)["refused_source"]
    more = [streams.client(lab) for _ in range(2 * PER_SOURCE)]
    assert [c.binding().cls for c in more] == [SUCCESS] * len(more)
    assert streams.counters(server)["refused_source"] == before


def cut(lab, server):
    """The line fails without notice."""
    assert streams.counters(server)["connections"] >= CLIENTS
    lab.cli.ip("link", "set", "c0", "down")
    begin = time.monotonic()
    until(lambda: streams.counters(server)["connections"] == 0, 2 * GONE_S, "all connections are found dead")
    took = time.monotonic() - begin
    assert took <= GONE_S * labs.SLOW, took
    lab.cli.ip("link", "set", "c0", "up")
    return took


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    streams.join(lab)
    config = streams.config(lab, **{"per-source": PER_SOURCE})
    config = merge(config, {"control": {"socket": path}, "limits": {"per-user": 2 * CLIENTS}})
    server = lab.server(config)
    echo = lab.echo()
    clients = [relays(lab, echo) for _ in range(CLIENTS)]
    assert streams.counters(server)["refused_source"] == 0
    waiting = [streams.client(lab) for _ in range(PER_SOURCE)]
    assert [c.binding().cls for c in waiting] == [SUCCESS] * PER_SOURCE
    assert streams.refused(lab)
    streams.counted(server, "refused_source")
    assert waiting[0].allocate().cls == SUCCESS, "which makes a place"
    assert streams.client(lab).binding().cls == SUCCESS
    told(path)
    trusted(lab, server, path)
    for client in clients:
        client.send_channel(0x4000, b"still")
        assert client.wait("channel", 5 * labs.SLOW)[2] == b"still"
    print(f"{CLIENTS} clients of an address that may have {PER_SOURCE} without an allocation relay; "
          f"cut off, they were found dead after {cut(lab, server):.0f} s")  # fmt: skip


if __name__ == "__main__":
    labs.run(main)
