#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The life of an interface that server and kernel share, while media flow: another MAC, another
MTU, down and up, away to another namespace and back, removed and created again, with one queue and
with two. The server follows each change within a second and logs it, and allocations stay.
"""

import os

import lab as labs
import tcx
from capture import Capture
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6, until
from media import Media, family, warnings
from turnlib import SUCCESS

OURS = "slipring_packet"
OTHER_MAC = labs.MAC.format(0x77)


def port(server):
    return server.telemetry.ask("/slipring/ports")[0]


def forget(lab):
    """Client and peer learn the server's new MAC, as from an announcement."""
    for ns, interface in ((lab.cli, "c0"), (lab.peer, "p0")):
        for family in ("-4", "-6"):
            ns.ip(family, "neigh", "flush", "dev", interface)


def mac(lab, server, media):
    told = server.log().count("has a new MAC")
    for address in (OTHER_MAC, labs.DUT_MAC):
        lab.dut.ip("link", "set", "d0", "address", address)
        until(lambda a=address: port(server)["mac"] == a, 1, "the port has the MAC")
        forget(lab)
        for each in media:
            each.flows("with another MAC")
        with Capture(lab, lab.dut, "d0") as capture:
            media[0].flows("with another MAC")
        port_mac = bytes.fromhex(address.replace(":", ""))
        relayed = [f for f in capture.frames if f.data[12:14] == b"\x08\x00" and f.data[23] == 17]
        assert {port_mac in (f.data[:6], f.data[6:12]) for f in relayed} == {True}
    assert server.log().count("has a new MAC") == told + 2, server.log()


def arrives(lab, client_ip, peer_ip, size):
    """True if a datagram of a peer reaches a new client on a channel, whose header makes it longer."""
    client, peer = lab.client(ip=client_ip), lab.peer.udp(peer_ip)
    with client, peer:
        assert client.allocate([family(peer_ip)]).cls == SUCCESS
        assert client.bind(0x4001, peer.getsockname()[:2]).cls == SUCCESS
        payload = os.urandom(size)
        peer.sendto(payload, client.relayed)
        item = client.wait("channel", 1)
        assert client.refresh(0).cls == SUCCESS
    return item == ("channel", 0x4001, payload)


def mtu(lab, server, media):
    """A lower MTU applies: longer packets are fragmented or are a named drop, and no other datagram
    is lost."""
    errors = port(server)["tx_errors"]
    lab.dut.ip("link", "set", "d0", "mtu", "1400")
    until(lambda: port(server)["mtu"] == 1400, 1, "the port has the MTU")
    assert any("MTU of interface d0" in w for w in warnings(server))
    assert port(server)["trouble"] == 1
    for ips, headers in (((CLIENT4, PEER4), 28), ((CLIENT6, PEER6), 48)):
        assert arrives(lab, *ips, 1400 - headers - 4)  # whole
        assert arrives(lab, *ips, 1400 - headers) or server.drops().get("mtu-exceeded"), ips
    assert port(server)["tx_errors"] == errors
    lab.dut.ip("link", "set", "d0", "mtu", "1500")
    until(lambda: port(server)["mtu"] == 1500 and not port(server)["trouble"], 1, "1500 again")
    assert arrives(lab, CLIENT4, PEER4, 1400)
    for each in media:
        each.flows("at both")


def down(lab, server, media):
    lab.dut.ip("link", "set", "d0", "down")
    until(lambda: not port(server)["link"], 1, "the link is down")
    lab.dut.ip("link", "set", "d0", "up")
    lab.dut.ip("-6", "addr", "replace", SERVER6 + "/64", "dev", "d0", "nodad")
    for each in media:
        each.flows("after the link was down")


def removed(lab, server, media, number):
    """Removed and created again, several times."""
    for _ in range(number):
        lab.dut.ip("link", "del", "d0")
        until(lambda: port(server)["trouble"] and not port(server)["link"], 1, "it is missed")
        assert any("d0 was removed" in w for w in warnings(server))
        lab.share(lab.dut, "d0")
        until(lambda: tcx.programs(lab.dut, "d0") == [OURS], 2, "the program is at its ingress")
        for each in media:
            each.flows("through the new interface")
        assert port(server)["link"] == 1 and port(server)["trouble"] == 0


def moved(lab, server, media):
    """Moved to another namespace and back; the index may be the same."""
    lab.dut.ip("link", "set", "d0", "netns", lab.peer.name)
    lab.peer.ip("link", "set", "d0", "netns", lab.dut.name)
    for address in (SERVER4, SERVER6):
        lab.add_address(lab.dut, "d0", address)
    lab.dut.ip("link", "set", "d0", "up")
    for each in media:
        each.flows("after it was away")


def life(lab, queues):
    path = os.path.join(lab.dir, f"control{queues}.sock")
    server = lab.server({"control": {"socket": path}}, queues=queues, allow=["tx-full"])
    before = []
    with Media(lab) as first, Media(lab, CLIENT6, PEER6) as second:
        media = (first, second)
        before = sorted(a["relay"] for a in server.allocations())
        mac(lab, server, media)
        mtu(lab, server, media)
        down(lab, server, media)
        removed(lab, server, media, 2)
        moved(lab, server, media)
        removed(lab, server, media, 2)
        mac(lab, server, media)
        assert sorted(a["relay"] for a in server.allocations()) == before
    for each in media:
        assert each.client.refresh(0).cls == SUCCESS
        each.client.close()
    log = server.log()
    assert ("with one queue" in log) == (queues > 1), "with the last spare sockets there is no group"
    server.check(allow=["peer-no-allocation", "mtu-exceeded", "neighbour-unreachable"])
    server.stop()


def main(lab):
    labs.need_own_server()
    try:
        assert tcx.programs(lab.dut, "d0") == []
    except OSError:
        raise labs.Skip("this kernel has no TCX") from None
    for queues in (1, 2):
        life(lab, queues)


if __name__ == "__main__":
    labs.run(main, port="packet")
