#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two ports: clients on one, peers on the other; then one port with a VLAN id."""

import lab as labs
import server as servers
from capture import Capture, from_server, read_pcap
from frames import advertisement, arp, solicitation, udp4, udp6
from lab import CLIENT4, CLIENT6, DUT_MAC, PEER4, SERVER4, SERVER6
from turnlib import BINDING, REQUEST, REQUESTED_ADDRESS_FAMILY, SUCCESS, Message, build

RELAY4, RELAY6 = "10.97.0.1", "fd97::1"
BEHIND4, BEHIND6 = "10.97.0.3", "fd97::3"
VLAN = 7


def second_segment(lab):
    """A veth directly from the dut to the peer namespace: d1 -- p1."""
    lab.peer.ip("link", "add", "p1", "type", "veth", "peer", "name", "d1", "address",
        labs.MAC.format(0x11), "netns", lab.dut.name)  # fmt: skip
    lab.quiet(lab.dut, "d1")
    lab.dut.ip("link", "set", "d1", "arp", "off", "up")
    lab.peer.run("sysctl", "-qw", "net.ipv6.conf.p1.accept_dad=0")
    for address in (BEHIND4, BEHIND6):
        lab.add_address(lab.peer, "p1", address)
    lab.peer.ip("link", "set", "p1", "up")
    lab.wire_checksums(lab.peer, "p1")
    lab.wire_checksums(lab.dut, "d1")


def relay(lab, client_ip, peer_ip, source):
    """Relays in both directions and checks the port of the relayed address."""
    echo = lab.echo(peer_ip)
    client = lab.client(ip=client_ip)
    family = bytes([2 if ":" in peer_ip else 1, 0, 0, 0])
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    assert client.relayed[0] == source, client.relayed
    client.relay(echo)
    assert client.refresh(0).cls == SUCCESS
    echo.close()


def two_ports(lab):
    """The source address of a packet decides its port."""
    second_segment(lab)
    wan = servers.CONFIG["ports"][0]
    lan = {"name": "lan", "device": "net_af_packet1,iface=d1,qpairs=2",
           "addresses": [RELAY4 + "/24", RELAY6 + "/64"]}  # fmt: skip
    server = lab.server({
        "ports": [wan, lan],
        "relay": {"addresses": [RELAY4, RELAY6]},
        "peers": {"allow": ["10.96.0.0/15", "fd97::/64", "10.99.0.0/24"]},
    }, allow=("no-route", "not-for-us"))  # fmt: skip
    for client_ip in (CLIENT4, CLIENT6):
        relay(lab, client_ip, BEHIND4, RELAY4)
        relay(lab, client_ip, BEHIND6, RELAY6)
    # A peer on the other port's subnet is reached through that port. It has no route back.
    lab.peer.ip("route", "add", "10.97.0.0/24", "via", SERVER4, "dev", "p0", "metric", "1")
    echo = lab.echo(PEER4)
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.permit(echo.address).cls == SUCCESS
    client.send(echo.address, b"across")
    labs.until(lambda: echo.seen, 2, "the peer has it")
    assert echo.seen[0] == (client.relayed, b"across"), echo.seen
    # A peer without a subnet or gateway is refused at once.
    answer = client.permit(("10.96.0.9", 9))
    assert answer.code == 403 and answer.reason == "No Route To Peer", answer
    ports = server.telemetry.ask("/slipring/ports")
    assert "lan" in str(ports) and "wan" in str(ports), ports
    server.finish()
    lab.dut.ip("link", "del", "d1")


def one_vlan(lab):
    """A port with a VLAN id receives and sends only that VLAN. This test plays the host with raw
    frames."""
    port = {**servers.CONFIG["ports"][0], "vlan": VLAN}
    server = lab.server({"ports": [port]}, allow=("vlan",))
    wire = lab.cli.raw("c0")
    mine, ask = labs.MAC.format(2), build(REQUEST, BINDING)
    tag = {"vlan": VLAN}
    with Capture(lab, lab.sw, "d0") as capture:
        sent = lambda: from_server(read_pcap(capture.path))
        seen = lambda wanted: labs.until(lambda: any(wanted(f) for f in sent()), 3, "an answer")
        wire.send(arp(1, mine, CLIENT4, SERVER4, vlan=VLAN))
        seen(lambda f: f.ethertype == 0x0806 and f.data[20:22] == b"\0\2")
        wire.send(solicitation(SERVER6, vlan=VLAN))
        seen(lambda f: f.proto == 58 and f.l4[0] == 136 and f.dst == CLIENT6)
        answered = lambda ip: lambda f: f.dst == ip and f.sport == 3478
        for ip, frame, reply in (
            (
                CLIENT4,
                udp4(ask, frame=tag),
                arp(2, mine, CLIENT4, SERVER4, DUT_MAC, DUT_MAC, vlan=VLAN),
            ),
            (CLIENT6, udp6(ask, frame=tag), advertisement(CLIENT6, SERVER6, vlan=VLAN)),
        ):
            wire.send(frame)
            seen(lambda f, ip=ip: f.asks_for() == ip)
            wire.send(reply)
            seen(answered(ip))
        # A request without a tag or with another tag stays unanswered.
        for vlan in (None, VLAN + 1):
            before = server.drops().get("vlan", 0)
            wire.send(arp(1, mine, CLIENT4, SERVER4, vlan=vlan))
            labs.until(lambda: server.drops().get("vlan", 0) > before, 2, f"VLAN {vlan} is counted")
    wrong = [f for f in from_server(capture.frames) if f.vlan != VLAN]
    assert not wrong, wrong
    for ip in (CLIENT4, CLIENT6):
        (answer,) = [f for f in capture.frames if answered(ip)(f)]
        assert Message(answer.payload).cls == SUCCESS, answer
    replies = [f for f in from_server(capture.frames) if f.ethertype == 0x0806 and f.data[21] == 2
               and not f.announces()]  # fmt: skip
    assert len(replies) == 1, replies
    wire.close()


def main(lab):
    labs.need_own_server()
    two_ports(lab)
    one_vlan(lab)


if __name__ == "__main__":
    labs.run(main)
