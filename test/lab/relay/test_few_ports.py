#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: fails if an answer takes a quarter of a second
"""Few relay ports and several workers, as in containers and behind routers: every port serves a
client on any worker, over UDP, TCP, TLS and DTLS; then the answer is 508.
"""

import dtls
import lab as labs
import streams
from lab import CLIENT4, PEER4
from turnlib import SUCCESS

FIRST = 50000
CASES = ((2, 41), (4, 16))  # workers, ports
MESSAGES = 5


def config(lab, workers, ports):
    both = streams.config(lab, ("tcp", "tls"))
    over = dtls.config(lab)["listeners"]
    both["listeners"] += [one for one in over if one["transport"] == "dtls"]
    return both | {
        "workers": {"count": workers},
        "relay": {"ports": f"{FIRST}-{FIRST + ports - 1}", "quarantine": 0},
        "limits": {"per-user": 0},
    }


def client(lab, i):
    kind = ("udp", "udp", "tcp", "tls", "dtls")[i % 5]
    if kind == "udp":
        return lab.client(ip=CLIENT4)
    return dtls.client(lab, CLIENT4) if kind == "dtls" else streams.client(lab, kind, CLIENT4)


def relays(one, echo):
    assert one.bind(0x4000, echo.address).cls == SUCCESS
    for number in range(MESSAGES):
        one.send_channel(0x4000, b"%d" % number)
        assert one.wait("channel") == ("channel", 0x4000, b"%d" % number)


def few(lab, workers, ports):
    server = lab.server(config(lab, workers, ports))
    echo = lab.echo(PEER4)
    clients = []
    for i in range(ports):
        one = client(lab, i)
        answer = one.allocate()
        assert answer.cls == SUCCESS, (i, answer.code)
        clients.append(one)
    assert sorted(one.relayed[1] for one in clients) == list(range(FIRST, FIRST + ports))
    for i in range(5):  # every transport gets the error
        more = client(lab, i)
        assert more.allocate().code == 508
        more.close()
    for one in clients:
        relays(one, echo)
    led = server.stats()["redirects"]
    shares = [row["allocations"] for row in server.workers()]
    assert sum(shares) == ports and max(shares) - min(shares) <= 2, shares
    for one in clients:
        assert one.refresh(0).cls == SUCCESS or one.retransmissions
        one.close()
    gone = lambda: [server.stats()[name] for name in ("allocations", "redirects")]
    labs.until(lambda: gone() == [0, 0], 3, "nothing is left")
    print(f"{workers} workers, {ports} ports: {ports} clients served, {led} of them by another worker "
        f"than their own; allocations {shares}", flush=True)  # fmt: skip
    server.finish()


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    for workers, ports in CASES:
        few(lab, workers, ports)


if __name__ == "__main__":
    labs.run(main)
