#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""conf/conference.yaml: public peers behind one port, conference servers on a private network
behind another, and one allocation for both.

Behind port lan are the router 10.1.0.1 and, behind that, a conference server 10.2.0.9. It has no
route to the public network.
"""

import os

import lab as labs
import shipped
import turnlib
from lab import CLIENT4, FAR4, SERVER4
from turnlib import SUCCESS

LAN, ROUTER, CONFERENCE = "10.1.0.2", "10.1.0.1", "10.2.0.9"
MESSAGES = 50


def private_net(lab):
    """d1 -- r1 (router) c1 -- s1 (conference server)."""
    router = lab.namespace(lab.cleanup, "router")
    inside = lab.namespace(lab.cleanup, "inside")
    router.ip("link", "add", "r1", "type", "veth", "peer", "name", "d1", "address",
        labs.MAC.format(0x11), "netns", lab.dut.name)  # fmt: skip
    router.ip("link", "add", "c1", "type", "veth", "peer", "name", "s1", "netns", inside.name)
    lab.quiet(lab.dut, "d1")
    lab.dut.ip("link", "set", "d1", "arp", "off", "up")
    for ns, interface, address in (
        (router, "r1", ROUTER), (router, "c1", "10.2.0.254"), (inside, "s1", CONFERENCE),
    ):  # fmt: skip
        lab.quiet(ns, interface)
        lab.add_address(ns, interface, address)
        ns.ip("link", "set", interface, "up")
        lab.wire_checksums(ns, interface)
    lab.wire_checksums(lab.dut, "d1")
    router.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    inside.ip("route", "add", "default", "via", "10.2.0.254")
    return inside


def configuration(lab):
    """The file as shipped, with the lab's addresses and devices."""
    with open(os.path.join(labs.TOP, "conf/conference.yaml")) as file:
        text = file.read()
    for old, new in (
        ("0000:3b:00.0", "vtap:d0,queues=2"), ("0000:3b:00.1", "net_af_packet1,iface=d1,qpairs=2"),
        ("192.0.2.254", labs.GATEWAY4), ("192.0.2.1", SERVER4),
        ("allow: [10.2.0.0/16]", "allow: [10.2.0.0/16, 10.98.0.0/24]"),
        ("via: 10.1.0.1}]", "via: 10.1.0.1}]\n    mtu: 1500"),
        # The lab's own networks are in 10/8, too.
        ("for: [10.0.0.0/8]", "for: [10.2.0.0/16]"), ("to: 10.0.0.0/8", "to: 10.2.0.0/16"),
    ):  # fmt: skip
        assert old in text, old
        text = text.replace(old, new)
    return text + f"""eal: {{file-prefix: {lab.prefix}n{len(lab.servers)}}}
drivers: {labs.TOP}/drivers-config
workers: {{count: 2}}
log: {{to: stderr, level: info}}
"""


def talk(client, echo, channel, source):
    """By indication and by channel; the peer sees the relayed address."""
    assert client.permit(echo.address).cls == SUCCESS
    client.send(echo.address, b"indication")
    assert client.wait("data") == ("data", echo.address, b"indication")
    assert client.bind(channel, echo.address).cls == SUCCESS
    for i in range(MESSAGES):
        client.send_channel(channel, b"%d" % i)
        assert client.wait("channel") == ("channel", channel, b"%d" % i)
    assert {s for s, _ in echo.seen} == {(source, client.relayed[1])}, echo.seen[:3]


def main(lab):
    labs.need_own_server()
    inside = private_net(lab)
    server = lab.server(text=configuration(lab))
    for ip, ns in ((CLIENT4, lab.cli), (FAR4, lab.far)):
        public, private = lab.echo(FAR4, ns=lab.far), lab.echo(CONFERENCE, ns=inside)
        client = turnlib.Client(ns.udp(ip), (SERVER4, 3478), shipped.credentials())
        assert client.allocate().cls == SUCCESS
        assert client.relayed[0] == SERVER4, client.relayed
        talk(client, public, 0x4000, SERVER4)
        talk(client, private, 0x4001, LAN)
        # Both at once: the destination port changes with every datagram.
        for i in range(MESSAGES):
            for channel in (0x4000, 0x4001):
                client.send_channel(channel, b"both %d" % i)
                assert client.wait("channel") == ("channel", channel, b"both %d" % i)
        assert client.refresh(0).cls == SUCCESS
        client.close()
        public.close()
        private.close()
        print(f"ok     client {ip}: public peer and conference server by one allocation")
    server.finish()


if __name__ == "__main__":
    labs.run(main, gateway=True)
