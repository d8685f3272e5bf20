#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The addresses of an interface that server and kernel share. The server waits for the configured
addresses, and uses them and the gateway of the kernel. An address that it loses gets no new
allocations and is reported until it is back. A duplicate address counts as lost. (renumbered tests
addresses that replace a configured one.)
"""

import contextlib
import os

import lab as labs
from control import Control
from lab import CLIENT4, CLIENT6, GATEWAY4, PEER4, PEER6, SERVER4, SERVER6, until
from turnlib import IPV4, IPV6, REQUESTED_ADDRESS_FAMILY, SUCCESS

OTHER4 = "10.99.0.99"
ASKS = {
    "ports": [{"name": "wan", "device": "vtap:d0,queues=2", "addresses": ["dhcp", "slaac"]}],
    "listeners": [{"transport": "udp", "address": "all"}],
    "relay": {"addresses": "all"},
}


def rows(server):
    return {r["address"]: r for r in server.telemetry.ask("/slipring/addresses")}


def warnings(server):
    control = Control(server.config["control"]["socket"])
    with contextlib.closing(control.sock):
        return control.ask("status")["warnings"]


def allocated(lab, client_ip, peer_ip):
    """The answer to a new client's Allocate, for a peer family."""
    family = bytes([IPV6 if ":" in peer_ip else IPV4, 0, 0, 0])
    with lab.client(ip=client_ip) as client:
        return client.allocate([(REQUESTED_ADDRESS_FAMILY, family)])


def relays(lab, client_ip, peer_ip):
    with lab.client(ip=client_ip) as client:
        family = bytes([IPV6 if ":" in peer_ip else IPV4, 0, 0, 0])
        assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
        client.relay(lab.echo(peer_ip))
        assert client.refresh(0).cls == SUCCESS


def lost(lab, server, instead):
    """IPv4 is removed, sometimes replaced, and comes back. Clients use the IPv6 address."""
    assert allocated(lab, CLIENT6, PEER4).cls == SUCCESS
    refused = server.stats()["relay_lost"]
    if instead:
        lab.dut.ip("addr", "add", OTHER4 + "/24", "dev", "d0")
    lab.dut.ip("addr", "del", SERVER4 + "/24", "dev", "d0")
    until(lambda: rows(server)[SERVER4]["lost"], 1, "it is lost")
    assert not rows(server)[SERVER6]["lost"]
    if instead:
        until(lambda: rows(server)[SERVER4]["instead"] == OTHER4, 1, "and the address that replaces it")
    answer = allocated(lab, CLIENT6, PEER4)
    assert answer.code == 508, answer
    assert server.stats()["relay_lost"] > refused
    assert allocated(lab, CLIENT6, PEER6).cls == SUCCESS
    says = f"interface d0 has lost {SERVER4}: there are no new allocations on it"
    if instead:
        says = f"interface d0 has {OTHER4} now, no longer {SERVER4}: there are no new allocations on "
        says += "the old one, change the file and restart to use the new one"
    until(lambda: says in server.log(), 5, "the log tells")
    assert any(f"d0 has lost the address {SERVER4}" in w for w in warnings(server))
    lab.dut.ip("addr", "add", SERVER4 + "/24", "dev", "d0")
    until(lambda: not rows(server)[SERVER4]["lost"], 1, "it is back")
    until(lambda: f"interface d0 has {SERVER4} again" in server.log(), 5, "the log says so")
    assert allocated(lab, CLIENT6, PEER4).cls == SUCCESS
    assert not any("has lost" in w for w in warnings(server))
    if instead:
        lab.dut.ip("addr", "del", OTHER4 + "/24", "dev", "d0")


def duplicate(lab, server):
    """The kernel finds out that another host on the link has an IPv6 address."""
    lab.dut.run("sysctl", "-qw", "net.ipv6.conf.d0.accept_dad=1", "net.ipv6.conf.d0.dad_transmits=1")
    lab.dut.ip("-6", "addr", "del", SERVER6 + "/64", "dev", "d0")
    lab.add_address(lab.peer, "p0", SERVER6)
    lab.dut.ip("-6", "addr", "add", SERVER6 + "/64", "dev", "d0")
    until(lambda: "dadfailed" in lab.dut.ip("-6", "addr", "show", "dev", "d0"), 10, "DAD fails")
    until(lambda: rows(server)[SERVER6]["lost"], 1, "the server knows")
    assert allocated(lab, CLIENT4, PEER6).code == 508
    lab.peer.ip("-6", "addr", "del", SERVER6 + "/64", "dev", "p0")
    lab.dut.ip("-6", "addr", "del", SERVER6 + "/64", "dev", "d0")
    lab.add_address(lab.dut, "d0", SERVER6)
    until(lambda: not rows(server)[SERVER6]["lost"], 1, "it is back")
    lab.cli.ip("-6", "neigh", "flush", "dev", "c0")  # the peer announced all of them as its own


def asked(lab):
    """The interface gets the configured addresses after the start."""
    path = os.path.join(lab.dir, "asked.sock")
    for ip, length in ((SERVER4, "/24"), (SERVER6, "/64")):
        lab.dut.ip("addr", "del", ip + length, "dev", "d0")
    with labs.meanwhile(lambda: comes(lab), 0.5):
        server = lab.server({**ASKS, "control": {"socket": path}})
    log = server.log()
    assert f"address {SERVER4} of interface d0, gateway from there: {GATEWAY4}" in log, log
    assert set(rows(server)) == {SERVER4, SERVER6}
    for client_ip in (CLIENT4, CLIENT6):
        for peer_ip in (PEER4, PEER6):
            relays(lab, client_ip, peer_ip)
    lost(lab, server, False)
    server.stop()


def comes(lab):
    """The steps of a DHCP client and of router advertisements, in their order."""
    if "10.99.0.1/" not in lab.dut.ip("addr", "show", "dev", "d0"):
        lab.add_address(lab.dut, "d0", SERVER4)
        lab.dut.ip("route", "add", "default", "via", GATEWAY4, "dev", "d0")
    elif "fd99::1/" not in lab.dut.ip("addr", "show", "dev", "d0"):
        lab.add_address(lab.dut, "d0", SERVER6)


def main(lab):
    labs.need_own_server()
    lab.dut.run("sysctl", "-qw", "net.ipv4.conf.d0.promote_secondaries=1")  # else all are removed at once
    path = os.path.join(lab.dir, "named.sock")
    server = lab.server({"control": {"socket": path}})
    lost(lab, server, True)
    duplicate(lab, server)
    server.stop()
    asked(lab)


if __name__ == "__main__":
    labs.run(main, port="packet")
