#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A server behind 1:1 address translation, as in a cloud: clients and peers on both sides of it.

The gateway of the lab translates: outside, 10.99.0.1 is 203.0.113.1, and fd99::1 is 2001:db8:5::1.
"""

import json

import browser
import lab as labs
import server as servers
import turnlib
import uclient
from capture import Capture, from_server
from lab import CLIENT4, CLIENT6, FAR4, FAR6, PEER4, PEER6, SERVER4, SERVER6
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

PUBLIC4, PUBLIC6 = "203.0.113.1", "2001:db8:5::1"
RULES = f"""
table ip nat {{
	chain in {{ type nat hook prerouting priority dstnat; iifname f0 ip daddr {PUBLIC4} dnat to {SERVER4}; }}
	chain out {{ type nat hook postrouting priority srcnat; oifname f0 ip saddr {SERVER4} snat to {PUBLIC4}; }}
}}
table ip6 nat {{
	chain in {{ type nat hook prerouting priority dstnat; iifname f0 ip6 daddr {PUBLIC6} dnat to {SERVER6}; }}
	chain out {{ type nat hook postrouting priority srcnat; oifname f0 ip6 saddr {SERVER6} snat to {PUBLIC6}; }}
}}
"""
PORT = {
    **servers.CONFIG["ports"][0],
    "addresses": [
        {"address": SERVER4 + "/24", "external": PUBLIC4},
        {"address": SERVER6 + "/64", "external": PUBLIC6},
    ],
    "gateway": ["10.99.0.254", "fd99::fe"],
}
ALLOW = ["10.99.0.0/24", "10.98.0.0/24", "fd99::/64", "fd98::/64"]
# Drops of ends that leave while the other still sends. Data for relay ports without allocation has
# its own drop.
EXPECTED = {"peer-no-permission", "no-permission", "keepalive", "no-allocation",
            "peer-no-allocation", "hairpin-no-allocation", "peer-own"}  # fmt: skip


def client(lab, ip, relay6=False):
    """A client on either side of the translation, with an allocation."""
    outside = ip in (FAR4, FAR6)
    v6 = ":" in ip
    server = (PUBLIC6 if v6 else PUBLIC4) if outside else (SERVER6 if v6 else SERVER4)
    made = turnlib.Client(
        (lab.far if outside else lab.cli).udp(ip), (server, 3478), labs.ivan()
    )
    lab.cleanup.callback(made.close)
    family = bytes([2 if relay6 else 1, 0, 0, 0])
    assert made.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    assert made.relayed[0] == (PUBLIC6 if relay6 else PUBLIC4), made.relayed
    return made


def peers(lab):
    """Clients and peers on both sides: relayed data comes back from the right source."""
    for ip, peer, ns in (
        (FAR4, FAR4, lab.far), (FAR4, PEER4, lab.peer), (CLIENT4, FAR4, lab.far),
        (FAR6, FAR6, lab.far), (FAR6, PEER6, lab.peer), (CLIENT6, FAR6, lab.far),
    ):  # fmt: skip
        echo = lab.echo(peer, ns=ns)
        one = client(lab, ip, ":" in peer)
        assert one.permit(echo.address).cls == SUCCESS
        one.send(echo.address, b"indication")
        assert one.wait("data") == ("data", echo.address, b"indication")
        assert one.bind(0x4000, echo.address).cls == SUCCESS
        for i in range(20):
            one.send_channel(0x4000, b"%d" % i)
            assert one.wait("channel") == ("channel", 0x4000, b"%d" % i)
        # outside the gateway only the public address is visible
        inside = SERVER6 if ":" in peer else SERVER4
        source = one.relayed if ns is lab.far else (inside, one.relayed[1])
        assert {s for s, _ in echo.seen} == {source}, echo.seen[:3]
        echo.close()
        print(f"ok     client {ip}, peer {peer}")


def pairs(lab):
    """Two clients of the server reach each other by the public and the private relayed address, in
    process."""
    for one_ip, other_ip, v6 in (
        (FAR4, FAR4, False), (FAR4, CLIENT4, False), (CLIENT4, CLIENT6, False),
        (FAR6, CLIENT6, True), (FAR4, FAR6, True),
    ):  # fmt: skip
        one, second = client(lab, one_ip, v6), client(lab, other_ip, v6)
        private = (SERVER6 if v6 else SERVER4, one.relayed[1])
        with Capture(lab, lab.sw, "d0") as capture:
            assert one.bind(0x4000, second.relayed).cls == SUCCESS
            assert second.permit(private).cls == SUCCESS
            for i in range(20):
                one.send_channel(0x4000, b"there %d" % i)
                assert second.wait("data") == ("data", one.relayed, b"there %d" % i)
                second.send(private, b"back %d" % i)
                assert one.wait("channel") == ("channel", 0x4000, b"back %d" % i)
            # A second channel for this peer is refused, but indications arrive.
            answer = one.bind(0x4001, (private[0], second.relayed[1]))
            assert answer.code == 508 and "Another" in answer.reason, answer
            one.send((private[0], second.relayed[1]), b"by the other form")
            assert second.wait("data") == ("data", one.relayed, b"by the other form")
        stray = [f for f in from_server(capture.frames) if f.sport and f.sport != 3478]
        assert not stray, f"between two clients of the box, on the wire: {stray[:3]}"
        print(f"ok     clients {one_ip} and {other_ip}")


def refused(lab, server):
    """Data for the server's own sockets is a named drop, and never returns through the public
    address."""
    one = client(lab, FAR4)
    before = server.drops()
    with Capture(lab, lab.sw, "d0") as capture:
        assert one.permit((PUBLIC4, 22)).cls == SUCCESS  # relays use this address, too
        one.send((PUBLIC4, 22), b"ssh")
        one.send((PUBLIC4, 3478), b"a listener")
        assert one.bind(0x4000, (PUBLIC4, 50)).code == 403, "no relay port"
        dropped = lambda: server.drops().get("peer-own", 0)
        lost = before.get("peer-own", 0)
        labs.until(lambda: dropped() == lost + 2, 3, f"two drops: {server.drops()}")
    out = [f for f in capture.frames if f.dst == PUBLIC4]
    assert not out, f"to the public address, on the wire: {out[:3]}"


def foreign_clients(lab):
    """turnutils_uclient and Chromium do not know about the translation."""
    uclient.start_peer(lab)
    runs = [
        uclient.start(lab, "uclient before the gateway", PUBLIC4, PEER4, "-c", ns=lab.far),
        uclient.start(lab, "uclient, two clients", PUBLIC4, PEER4, "-c", "-y", clients=4,
            ns=lab.far),
        uclient.start(lab, "uclient, IPv6", PUBLIC6, PEER6, "-c", "-x", ns=lab.far),
        uclient.start(lab, "uclient beside the box", SERVER4, PEER4, "-c", "-y", clients=4),
    ]  # fmt: skip
    bad = uclient.finish(runs)
    assert not bad, bad
    page = browser.Browser(lab, lab.far)
    page.open("file://" + browser.CALLS)
    patience = 20 * labs.SLOW
    auth = labs.ivan()
    args = (f"turn:{PUBLIC4}:3478?transport=udp", auth.user, auth.password, patience * 1000)
    answer = page.run(f"call({', '.join(map(json.dumps, args))})", timeout=2 * patience)
    assert answer["ok"] and answer["inOrder"], answer
    for side in (answer["near"], answer["seen"]):
        assert side["type"] == side["remote"] == "relay", side
        assert side["address"].startswith(PUBLIC4 + ":"), side
    print(f"ok     Chromium: {answer['seen']}")
    page.close()


# The conference server of the site, on PEER4: the gateway forwards a port of the public address to
# it, for outside clients and, with a public source, for inside clients.
SFU = 10000
FORWARDS = f"""
table ip forwards {{
	chain in {{ type nat hook prerouting priority dstnat - 1; ip daddr {PUBLIC4} udp dport {SFU} dnat to {PEER4}; }}
	chain out {{ type nat hook postrouting priority srcnat - 1;
		iifname g0 oifname g0 ip saddr {{ {SERVER4}, {PEER4} }} snat to {PUBLIC4}; }}
}}
"""


def forwarded(lab, sfu):
    """A port of the public address that the server does not use: data passes the gateway in both
    directions. The relayed address there still belongs to the server."""
    one, second = client(lab, FAR4), client(lab, CLIENT4)
    sfu_addr = (PUBLIC4, SFU)
    with Capture(lab, lab.sw, "d0") as capture:
        assert one.permit(sfu_addr).cls == SUCCESS
        one.send(sfu_addr, b"indication")
        assert one.wait("data") == ("data", sfu_addr, b"indication")
        assert one.bind(0x4000, sfu_addr).cls == SUCCESS
        for i in range(20):
            one.send_channel(0x4000, b"%d" % i)
            assert one.wait("channel") == ("channel", 0x4000, b"%d" % i)
        assert sfu.seen[-1][0] == (PUBLIC4, one.relayed[1]), sfu.seen[-1]
        # another client has the same address, so one permission covers both
        assert second.permit(one.relayed).cls == SUCCESS
        one.send(second.relayed, b"across")
        assert second.wait("data") == ("data", one.relayed, b"across")
        assert one.bind(0x4001, (PUBLIC4, 3478)).code == 403, "a listener"
        assert one.bind(0x4001, (SERVER4, SFU)).code == 403, "a private address is the server's alone"
    out = {f.dport for f in from_server(capture.frames) if f.dst == PUBLIC4 and f.dport}
    assert out == {SFU}, out
    print("ok     a conference server behind the same public address")


def beside(lab):
    """Without such an entry the public address belongs to the server alone."""
    lab.gw.run("nft", "-f", "-", input=FORWARDS)
    lab.peer.ip("route", "add", PUBLIC4, "via", labs.GATEWAY4)
    sfu = lab.echo(PEER4, SFU)
    server = lab.server({"ports": [PORT], "peers": {"allow": ALLOW}}, allow=EXPECTED)
    assert client(lab, FAR4).bind(0x4000, (PUBLIC4, SFU)).code == 403
    server.finish()
    assert not sfu.seen, sfu.seen
    allow = [*ALLOW, PUBLIC4]
    server = lab.server({"ports": [PORT], "peers": {"allow": allow}}, allow=EXPECTED)
    forwarded(lab, sfu)
    server.finish()


def main(lab):
    labs.need_own_server()
    lab.gw.run("nft", "-f", "-", input=RULES)
    beside(lab)
    server = lab.server({"ports": [PORT], "peers": {"allow": ALLOW}}, allow=EXPECTED)
    peers(lab)
    pairs(lab)
    refused(lab, server)
    foreign_clients(lab)
    server.finish()
    server = lab.server({"ports": [PORT], "peers": {"hairpin": False}})
    one = client(lab, CLIENT4)
    for ip in (PUBLIC4, SERVER4):
        assert one.permit((ip, 50000)).code == 403 and one.bind(0x4000, (ip, 50000)).code == 403


if __name__ == "__main__":
    labs.run(main, gateway=True)
