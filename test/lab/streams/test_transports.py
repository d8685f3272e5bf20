#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every transport of a client, with exclusive and with shared relay ports, over IPv4 and IPv6, like
in the example files of conf/: TCP and TLS use the port's own addresses.
"""

import os

import dtls
import lab as labs
import shipped
import streams
import uclient
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6, until
from turnlib import (
    EVEN_PORT, MESSAGE_INTEGRITY, REQUESTED_ADDRESS_FAMILY, SUCCESS, XOR_MAPPED_ADDRESS,
)  # fmt: skip

# Listener, port, TLS or not, options of turnutils_uclient.
TRANSPORTS = (
    ("udp", 3478, False, ()),
    ("tcp", 3478, False, ("-t",)),
    ("tls", 5349, True, ("-t", "-S")),
    ("dtls", 5349, True, ("-S",)),
    ("auto", 443, False, ("-t",)),
    ("auto", 443, True, ("-t", "-S")),
)
FAMILIES = ((CLIENT4, SERVER4, PEER4, ()), (CLIENT6, SERVER6, PEER6, ("-x",)))
UCLIENT = ("-u", "lab", "-W", shipped.SECRET)
CLIENTS, MESSAGES = 2, 50
# Drops of unsolicited traffic of the kernel behind the exception port, and of its answers to
# clients that have closed.
OWN = ("exception-foreign", "dtls-ended")


def rows():
    for listener, port, tls, options in TRANSPORTS:
        for family in FAMILIES:
            version = 6 if ":" in family[1] else 4
            label = f"{listener}{' with TLS' if tls else ''} over IPv{version}"
            yield label, listener, port, tls, options, family


def own_ports(lab, server):
    """turnutils_uclient, with pairs of ports (EVEN-PORT)."""
    uclient.start_peer(lab)
    runs = []
    for label, _, port, _, options, (_, address, peer, more) in rows():
        args = (*options, *more, "-p", str(port))
        runs.append(uclient.start(lab, label, address, peer, *args, clients=CLIENTS,
            messages=MESSAGES, user=UCLIENT))  # fmt: skip
    bad = uclient.finish(runs)
    assert not bad, bad


def client_of(lab, listener, port, tls, family):
    """The lab's own client on any transport."""
    ip, address, _, _ = family
    if listener == "udp":
        return lab.client(shipped.credentials(), ip=ip)
    if listener == "dtls":
        return dtls.Client(dtls.session(lab, ip, port).shake(), shipped.credentials())
    sock = streams.connect(lab, listener, ip, server=address)
    assert sock.getpeername()[1] == port
    return streams.Client(streams.over_tls(sock) if tls else sock, shipped.credentials())


def shared_ports(lab, server):
    """All transports on eight ports shared by all, where pairs are refused (EVEN-PORT gets 508)."""
    for label, listener, port, tls, _, family in rows():
        echo = lab.echo(family[2])
        client = client_of(lab, listener, port, tls, family)
        where = client.binding()
        assert where.cls == SUCCESS and not where.has(MESSAGE_INTEGRITY), (label, where)
        wanted = (REQUESTED_ADDRESS_FAMILY, bytes([2 if ":" in family[2] else 1, 0, 0, 0]))
        assert client.allocate([wanted, (EVEN_PORT, b"\x00")]).code == 508, label
        assert client.allocate([wanted]).cls == SUCCESS, label
        assert client.relayed[1] in range(3480, 3488), client.relayed
        assert where.address(XOR_MAPPED_ADDRESS) == client.mapped, (label, where)
        assert client.mapped[0] == family[0], (label, client.mapped)
        assert client.bind(0x4000, echo.address).cls == SUCCESS, label
        payloads = [b"%d " % i + os.urandom(i) for i in range(MESSAGES)]
        client.send_channel(0x4000, b"the way is known")
        assert client.wait("channel")[2] == b"the way is known"
        for payload in payloads:
            client.send_channel(0x4000, payload)
        assert [client.wait("channel")[2] for _ in payloads] == payloads, label
        client.refresh(0)
        client.close()
        echo.close()
        print(f"shared: {label}: {MESSAGES} sent, {MESSAGES} received", flush=True)
    until(lambda: server.stats()["allocations"] == 0, 5, "all are gone")


def main(lab):
    labs.need_own_server()
    for name, test in (("transports.yaml", own_ports), ("shared.yaml", shared_ports)):
        server = lab.server(text=shipped.text(lab, name), allow=OWN)
        test(lab, server)
        seen = streams.counters(server)
        # turnutils_uclient tries versions of TLS in random order, and leaves before the last answer
        lost = ("queue_full", "oversize", "garbage", "slow", "idle")
        assert not any(seen[reason] for reason in lost), seen
        server.finish()


if __name__ == "__main__":
    labs.run(main)
