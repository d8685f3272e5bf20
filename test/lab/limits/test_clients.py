#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients whose address the configuration denies: no answer over any transport, counted by name. A
reload that denies an address ends its allocations, connections and sessions, and others live on."""

import os
import time

import dtls
import lab as labs
import proxy
import streams
from lab import CLIENT4, CLIENT6, PEER4, SERVER4, until
from media import relays, with_media
from rereads import reload
from turnlib import BINDING, REQUEST, SUCCESS, Silence, build

DENIED, OTHER = "10.99.0.77", "10.99.0.78"  # of the client host, as is CLIENT4
QUICK = (0.3, 0.3)  # seconds between transmissions to a server that does not answer
PROXY_PORT = 3479


def is_silent(client):
    try:
        client.binding(waits=QUICK)
    except Silence:
        return True
    return False


def denied(server):
    return server.drops().get("client-denied", 0), streams.counters(server)["refused_denied"]


def shut_out(lab, server, ip):
    """Nothing from this address is answered, and each attempt is counted."""
    udp, tcp = denied(server)
    with lab.client(ip=ip) as client:
        assert is_silent(client)
        client.send_channel(0x4000, b"media")
        client.send_raw(b"garbage")
    assert denied(server)[0] == udp + 4, (udp, server.drops())
    before = dtls.counters(server)
    sock = lab.cli.udp(ip)
    for port in (3478, dtls.PORT):
        sock.sendto(dtls.hello(), (SERVER4, port))
    until(lambda: denied(server)[0] == udp + 6, 3, "ClientHellos are counted")
    sock.settimeout(0.3)
    try:
        raise AssertionError(sock.recv(2000).hex())
    except TimeoutError:
        pass
    assert dtls.counters(server) == before, "no handshake has begun"
    for transport in ("tcp", "tls"):
        try:
            assert streams.is_closed(streams.connect(lab, transport, ip=ip))
        except ConnectionError:
            pass
    until(lambda: denied(server)[1] == tcp + 2, 3, "connections are counted")


def behind_a_balancer(lab, server):
    """The address in the PROXY header counts, not the balancer's."""
    _, before = denied(server)
    for ip, served in ((DENIED, False), (OTHER, True)):
        with lab.cli.enter():
            sock = labs.socket.create_connection((streams.V4, PROXY_PORT), 5 * labs.SLOW, (CLIENT4, 0))
        sock.sendall(proxy.header((ip, 5000), (streams.V4, PROXY_PORT)) + build(REQUEST, BINDING))
        if served:
            assert streams.Client(sock).receive(5)[1].cls == SUCCESS
        else:
            assert streams.is_closed(sock)
        sock.close()
    assert denied(server)[1] == before + 1


def clients_of(lab, ip, echo):
    """One client of each transport, with an allocation."""
    made = [
        lab.client(ip=ip),
        streams.client(lab, "tcp", ip=ip),
        streams.client(lab, "tls", ip=ip),
        dtls.client(lab, ip=ip),
    ]
    return [with_media(client, echo) for client in made]


def reloaded(lab, server, echo, path):
    """The address of four live allocations is denied; those of another address stay."""
    mine, others = clients_of(lab, CLIENT4, echo), clients_of(lab, OTHER, echo)
    idle = streams.connect(lab, ip=CLIENT4)
    with open(path, "a") as file:
        file.write(f"{CLIENT4} # by a program\n")
    line = reload(server)
    assert "1 change is in use; 4 allocations ended" in line, line
    assert all(relays(client) for client in others)
    assert streams.is_closed(idle), "without an allocation, too"
    for client in mine[1:3]:
        assert streams.is_closed(client.sock)
    assert not relays(mine[0]) and not relays(mine[3])
    shut_out(lab, server, CLIENT4)
    with lab.client(ip=CLIENT6) as client:
        assert client.binding().cls == SUCCESS
    with open(path, "w") as file:
        file.write(f"{DENIED}/32\n")
    assert "1 change is in use; 0 allocations ended" in reload(server)
    with_media(lab.client(), echo)
    only = {"clients": {"allow": [OTHER, "fd99::/64"], "deny-files": [path]}}
    assert "1 allocation ended" in reload(server, only)
    assert all(relays(client) for client in others)
    shut_out(lab, server, CLIENT4)
    for client in others:
        client.close()


def many(lab, server, path):
    """A list of a million prefixes."""
    with open(path, "w") as file:
        for number in range(1_000_000):
            file.write(f"{20 + number // 65536}.{number // 256 % 256}.{number % 256}.0/25\n")
        file.write(DENIED + "\n")
    begin = time.monotonic()
    assert "allocations ended" in reload(server, {"clients": {"deny-files": [path]}})
    print(f"a reload of a million prefixes took {time.monotonic() - begin:.1f} s")
    with lab.client() as client:
        assert client.binding().cls == SUCCESS
    shut_out(lab, server, DENIED)


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    for ip in (DENIED, OTHER):
        lab.add_address(lab.cli, "c0", ip)
    path = os.path.join(lab.dir, "denied.txt")
    with open(path, "w") as file:
        file.write(f"# a list\n{DENIED}/32\n")
    config = streams.config(lab, ("tcp", "tls"))
    balanced = {"transport": "tcp", "address": streams.V4, "port": PROXY_PORT, "proxy": [CLIENT4]}
    config["listeners"] += [balanced]
    config["listeners"] += [
        {"transport": "dtls", "address": SERVER4, "port": port} for port in (3478, dtls.PORT)
    ]
    server = lab.server({**config, "clients": {"deny-files": [path]}}, allow={"client-denied"})
    echo = lab.echo(PEER4)
    shut_out(lab, server, DENIED)
    behind_a_balancer(lab, server)
    reloaded(lab, server, echo, path)
    if labs.SLOW == 1:
        many(lab, server, path)


if __name__ == "__main__":
    labs.run(main)
