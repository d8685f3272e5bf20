#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two tenants with their own realms, pools and networks, in which peers have the same addresses.
Data of a tenant's client reaches only the tenant's network. Data from the other network reaches no
client of the tenant at any address of the server. Clients of both tenants on the server may still
be peers of each other."""

import lab as labs
from lab import MAC, SERVER4, until
from realms import client_of
from turnlib import SUCCESS

PEER = "10.50.0.9"  # one in each network
ONLY_B = "10.50.7.7"  # only in the other tenant's subnet, which has a longer prefix
OWN = {"a": "10.50.0.1", "b": "10.50.0.2"}
LEN = {"a": 24, "b": 16}
ROUNDS = 5


def network(lab, name, number):
    """A host behind its own port. The server is its router to all destinations of the test."""
    ns = lab.namespace(lab.cleanup, name)
    port, host = f"t{name}", f"h{name}"
    ns.ip("link", "add", host, "type", "veth", "peer", "name", port, "address", MAC.format(number),
        "netns", lab.dut.name)  # fmt: skip
    for where, interface in ((lab.dut, port), (ns, host)):
        lab.quiet(where, interface)
    lab.dut.ip("link", "set", port, "arp", "off", "up")
    for address in (PEER, ONLY_B) if name == "b" else (PEER,):
        ns.ip("addr", "add", f"{address}/{LEN[name]}", "dev", host)
    ns.ip("link", "set", host, "up")
    lab.wire_checksums(ns, host)
    lab.wire_checksums(lab.dut, port)
    for address in (*OWN.values(), SERVER4):
        if address != OWN[name]:
            ns.ip("route", "replace", address + "/32", "dev", host)
            ns.ip("neigh", "replace", address, "lladdr", MAC.format(number), "dev", host)
    return ns


def config():
    import server as servers  # it imports lab

    def port(name, device):
        return {"name": name, "device": f"{device},iface=t{name},qpairs=1", "mtu": 1500,
                "addresses": [f"{OWN[name]}/{LEN[name]}"]}  # fmt: skip

    def realm(name):
        return {"name": f"{name}.test", "users": [{"name": "ivan", "password": f"of-{name}"}],
                "relay-pools": [name], "peers": {"allow": ["10.50.0.0/16"]}}  # fmt: skip

    pool = lambda name: {"name": name, "addresses": [OWN[name]], "for": ["10.50.0.0/16"]}
    return {
        "ports": [servers.CONFIG["ports"][0], port("a", "net_af_packet1"), port("b", "net_af_packet2")],
        "listeners": [{"transport": "udp", "address": SERVER4, "port": 3478}],
        "relay": {"addresses": [SERVER4], "pools": [pool("a"), pool("b")]},
        "auth": {"relay-pools": []},
        "realms": [realm("a"), realm("b")],
    }


def relay_own(client, echo, others, name):
    """By indications and by a channel: the tenant's own peer receives everything, the other's
    nothing."""
    before = [len(neighbour.seen) for neighbour in others]
    echo.seen.clear()
    assert client.permit(echo.address).cls == SUCCESS
    for i in range(ROUNDS):
        client.send(echo.address, b"indication %d" % i)
        assert client.wait("data") == ("data", echo.address, b"indication %d" % i)
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    for i in range(ROUNDS):
        client.send_channel(0x4000, b"%d" % i)
        assert client.wait("channel") == ("channel", 0x4000, b"%d" % i)
    assert {source for source, _ in echo.seen} == {(OWN[name], client.relayed[1])}, echo.seen[:2]
    assert [len(neighbour.seen) for neighbour in others] == before


def refused(server, client, sock, dst, reason):
    """A datagram from a socket to an address of the server is dropped, and the client receives
    nothing."""
    before = server.drops().get(reason, 0)
    for _ in range(ROUNDS):
        sock.sendto(b"from elsewhere", dst)
    dropped = lambda: server.drops().get(reason, 0) - before
    until(lambda: dropped() >= ROUNDS, 5, f"{sock.getsockname()} to {dst} is {reason}")
    assert not client.fence(), "it was relayed"


def walls(lab, server, nets, clients, echoes):
    """Hosts of the other tenant's network, and of the public one, use the permitted peer's address."""
    for name, tenant in (("a", "b"), ("b", "a")):
        client = clients[name]
        port = client.relayed[1]
        sock = echoes[tenant].sock
        refused(server, client, sock, (OWN[name], port), "not-for-us")
        refused(server, client, sock, (SERVER4, port), "not-for-us")
        # to the own tenant's address, with the relay port of the other tenant's client
        if port != clients[tenant].relayed[1]:
            refused(server, client, sock, (OWN[tenant], port), "peer-other-pool")
    lab.cli.ip("addr", "add", PEER + "/32", "dev", "lo")
    with lab.cli.udp(PEER, echoes["a"].address[1]) as public:
        for client in clients.values():
            refused(server, client, public, (SERVER4, client.relayed[1]), "peer-other-pool")


def inside(a, b):
    for client, peer in ((a, b), (b, a)):
        assert client.permit(peer.relayed).cls == SUCCESS
    for i in range(ROUNDS):
        for client, peer in ((a, b), (b, a)):
            client.send(peer.relayed, b"inside %d" % i)
            assert peer.wait("data") == ("data", client.relayed, b"inside %d" % i)


def main(lab):
    labs.need_own_server()
    nets = {name: network(lab, name, 0x20 + i) for i, name in enumerate("ab")}
    server = lab.server(config(), allow={"peer-other-pool", "not-for-us"})
    echoes = {name: lab.echo(PEER, 7000, ns=ns) for name, ns in nets.items()}
    only_b = lab.echo(ONLY_B, 7000, ns=nets["b"])
    clients = {name: client_of(lab, f"{name}.test", f"of-{name}") for name in "ab"}
    for client in clients.values():
        assert client.allocate().cls == SUCCESS
    relay_own(clients["a"], echoes["a"], (echoes["b"], only_b), "a")
    relay_own(clients["b"], echoes["b"], (echoes["a"], only_b), "b")
    assert clients["a"].permit((ONLY_B, 7000)).code == 403, "there is no such host in a's network"
    clients["b"].permit((ONLY_B, 7000))
    clients["b"].send((ONLY_B, 7000), b"alone")
    assert clients["b"].wait("data") == ("data", (ONLY_B, 7000), b"alone")
    with client_of(lab, "turn.test", "pw") as first:  # not in a pool
        assert first.allocate().cls == SUCCESS
        assert first.permit((PEER, 7000)).code == 403
    walls(lab, server, nets, clients, echoes)
    inside(clients["a"], clients["b"])


if __name__ == "__main__":
    labs.run(main)
