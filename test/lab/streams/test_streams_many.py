#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: ten times as many
# full: streams does this with few clients
"""Many TLS clients at once: the memory of an idle one, and service for all others meanwhile.

LAB_CLIENTS=5000 sets their number (default 1000, 10000 when LAB_LONG is set).
"""

import os
import re
import resource
import socket
import ssl
import time

import lab as labs
import streams
from lab import PEER4, until
from turnlib import SUCCESS

CLIENTS = int(os.environ.get("LAB_CLIENTS", "10000" if labs.LONG else "1000"))
EACH_KB = 20 if ssl.OPENSSL_VERSION_INFO < (3, 5) else 36  # measured: 14 with 3.0, 28 with 3.5


def memory(server):
    with open(f"/proc/{server.process.pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1])


def idle_client(lab, tls):
    """A client that has finished its handshake and sent a request. Only its socket is kept:
    libssl's state of the client would be larger than the server's.
    """
    sock = streams.over_tls(streams.connect(lab, "tls"), tls)
    assert streams.Client(sock).binding().cls == SUCCESS
    return socket.socket(fileno=sock.detach())


def main(lab):
    labs.need_own_server()
    resource.setrlimit(resource.RLIMIT_NOFILE, (CLIENTS + 1000, CLIENTS + 1000))
    streams.join(lab)
    limits = {"connections": CLIENTS + 10, "per-source": 0, "idle": 3600}
    config = streams.config(lab, ("tls",), **limits)
    config["limits"] = {"binding": {"rate": 0}, "per-user": 0}
    server = lab.server(config)
    echo = lab.echo(PEER4)
    active = streams.client(lab, "tls")
    assert active.allocate().cls == SUCCESS
    assert active.bind(0x4000, echo.address).cls == SUCCESS
    tls = streams.context()
    before, begin = memory(server), time.monotonic()
    idle = []
    for i in range(CLIENTS):
        idle.append(idle_client(lab, tls))
        if i % 100 == 0:  # other clients do not wait
            active.send_channel(0x4000, b"%d" % i)
            assert active.wait("channel")[2] == b"%d" % i
    took = time.monotonic() - begin
    each = (memory(server) - before) / CLIENTS
    assert streams.counters(server)["tls"] == CLIENTS + 1
    print(f"{CLIENTS} idle TLS clients: {each:.1f} KB each, made in {took:.1f} s")
    assert each <= EACH_KB or labs.SANITIZED, f"{each:.1f} KB"
    for sock in idle:
        sock.close()
    until(lambda: streams.counters(server)["tls"] == 1, 10, "all are gone")


if __name__ == "__main__":
    labs.run(main)
