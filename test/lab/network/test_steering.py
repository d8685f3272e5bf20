#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The steering ladder with the kernel as NIC: net_tap claims flow rules, which the kernel then
refuses, and af_packet knows no rules. Both fall back to software hand-over, report the reason, and relay.
"""

import os

import lab as labs
from lab import CLIENT4, CLIENT6, PEER4, PEER6
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

CLIENTS, DATAGRAMS = 8, 20
RELAYS = ["10.99.0.5", "10.99.0.6", "fd99::5", "fd99::6"]


def bridge(lab):
    """The kernel end of the TAP becomes a cable to the segment. A bridge would keep frames for the
    port's MAC, so the kernel end gets another MAC."""
    dut = lab.dut
    dut.ip("link", "set", "t0", "address", labs.MAC.format(0x77))
    dut.ip("link", "add", "b0", "type", "bridge", "mcast_snooping", "0", "stp_state", "0")
    for name in ("t0", "d0"):
        dut.ip("link", "set", name, "master", "b0")
    dut.ip("link", "set", "b0", "up")


def relay(lab, server, echoes):
    """Clients of both families to peers of both. Datagrams from peers are counted by family."""
    clients = []
    for i in range(CLIENTS):
        peer = echoes[i // 2 % 2].address
        client = lab.client(ip=(CLIENT4, CLIENT6)[i % 2])
        family = bytes([2 if ":" in peer[0] else 1, 0, 0, 0])
        assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
        assert client.bind(0x4000, peer).cls == SUCCESS
        for number in range(DATAGRAMS):
            client.send_channel(0x4000, b"%d" % number)
            assert client.wait("channel") == ("channel", 0x4000, b"%d" % number)
        clients.append(client)
    for row in server.counters("/slipring/steering"):
        assert row["hits"] + row["handed_over"] == CLIENTS // 2 * DATAGRAMS, row
    for client in clients:
        client.close()


def started(lab, changes, count=2):
    """A server, and the rows of its only port: IPv4 first."""
    server = lab.server({"workers": {"count": count}, **changes}, allow=("martian-source",))
    rows = server.telemetry.ask("/slipring/steering")
    assert [(r["port"], r["family"]) for r in rows] == [("wan", "ipv4"), ("wan", "ipv6")], rows
    assert all(r["degraded"] == 0 for r in rows), rows
    # telemetry answers slightly before the log line is written
    lines = lambda: [line for line in server.log().splitlines() if " steering " in line]
    return server, rows, labs.until(lines, 3, "the port's line is in the log")[0]


def port(**changes):
    import server as servers

    return {"ports": [{**servers.CONFIG["ports"][0], **changes}]}


def net_tap(lab, echoes):
    """Rules on addresses: the driver accepts them, the kernel refuses them."""
    lab.dut.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
    addresses = [labs.SERVER4 + "/24", labs.SERVER6 + "/64"]
    addresses += [a + ("/64" if ":" in a else "/24") for a in RELAYS]
    changes = port(device="net_tap0,iface=t0", addresses=addresses)
    server, rows, line = started(lab, {**changes, "relay": {"addresses": RELAYS}})
    bridge(lab)
    for row in rows:
        assert row["step"] == "off" and row["rules"] == 0, row
        assert row["why"].startswith("rule 1 of 2: net_tap says "), row
    assert "off (address: rule 1 of 2: net_tap says " in line and "; port-bits: rule 1 of 2: " in line, line
    # the refusal came from the kernel, after the driver accepted the rule
    assert "Kernel refused TC filter rule creation" in server.log()
    relay(lab, server, echoes)
    server.finish()
    lab.dut.ip("link", "del", "b0")
    for ns, name in ((lab.cli, "c0"), (lab.peer, "p0")):
        ns.ip("neigh", "flush", "dev", name)  # the next server has another MAC
    print(f"net_tap: {rows[0]['why']}")


def af_packet(lab, echoes):
    server, rows, line = started(lab, {"drivers": ""})
    assert all(r["step"] == "off" and "net_af_packet does not support flow rules" in r["why"] for r in rows), rows
    assert "steering off (address: fewer relay addresses than workers (2); port-bits: rule 1 of 2: " in line
    relay(lab, server, echoes)
    server.finish()
    profile = ("auto", "by the profile of its driver")
    for steering, reason in (profile, ("off", "as configured"), ("address", "fewer relay addresses")):
        server, rows, line = started(lab, port(steering=steering))
        assert all(r["step"] == "off" and reason in r["why"] for r in rows), rows
        assert f"steering off ({reason}" in line, line
        server.finish()


def one_worker(lab):
    server, rows, line = started(lab, {}, count=1)
    assert all(r["step"] == "none" and r["why"] == "one worker" for r in rows), rows
    assert "steering none (one worker)" in line, line
    server.finish()


def main(lab):
    labs.need_own_server()
    if not os.path.exists("/dev/net/tun"):
        raise labs.Skip("no /dev/net/tun")
    echoes = lab.echo(PEER4), lab.echo(PEER6)
    net_tap(lab, echoes)
    af_packet(lab, echoes)
    one_worker(lab)


if __name__ == "__main__":
    labs.run(main, port="af_packet")  # net_tap is bridged to its interface
