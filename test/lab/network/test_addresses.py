#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Addresses that the network assigns: a DHCP server and router advertisements (dnsmasq) on the
segment, a DHCP client (udhcpc) on the kernel's interface of the port, and clients that get
allocations on the assigned addresses.

        per: dnsmasq ── bridge ── vtap d0 ── slipring ── vtap sr0 :exc udhcpc, the kernel's SLAAC
"""

import contextlib
import os
import shutil
import signal
import struct
import threading

import frames
import lab as labs
import server as servers
from lab import CLIENT4, CLIENT6, DUT_MAC, FAR4, GATEWAY4, MAC, PEER4, PEER6, SERVER4, SLOW, until
from trunk import Trunk
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS, Client

SLAAC6 = "fd99::99:ff:fe00:1"  # fd99::/64 and the MAC of the port
HOST6 = "fe80::99:ff:fe00:3"  # of dnsmasq's host, the router that it advertises
OTHER4 = "10.99.0.77"
CROWD = ["10.99.0.128-10.99.0.191/24", "fd98::1-fd98::14/64"]  # 64 IPv4 addresses, 20 IPv6 addresses
OWN100, OWN100_6 = "10.100.0.1", "fd64::99:ff:fe00:1"  # on VLAN 100, assigned in the same way
HOST100, HOST100_6, PEER100 = "10.100.0.2", "fd64::2", "10.100.0.3"  # all on one host
# Drops of traffic that the kernel sends by itself, and of its addresses that the data path does not
# know.
KERNEL = {"exception-foreign"}
# A slow client: the default router comes some time after the address, and the server must wait for
# it.
UDHCPC = """#!/bin/sh
case $1 in
deconfig) ip -4 addr flush dev $interface; ip link set $interface up;;
bound) ip addr add $ip/$mask dev $interface; sleep 2; ip route add default via $router dev $interface;;
esac
"""


class Network:
    """dnsmasq on a host, a DHCP client as long as the interface exists, and their logs."""

    def __init__(self, lab, host, lease, router, exc, interface):
        self.lab, self.exc, self.interface = lab, exc, interface
        self.log_path = os.path.join(lab.dir, f"dnsmasq-{interface}.log")
        self.script = os.path.join(lab.dir, f"udhcpc-{interface}.sh")
        with open(os.open(self.script, os.O_WRONLY | os.O_CREAT, 0o700), "w") as file:
            file.write(UDHCPC)
        self.client = None
        ns, name = host
        # A router sets the router flag in its neighbour advertisements, too. Without the flag, the
        # kernel removes its default route (RFC 4861, 7.2.5): after the data path resolved the
        # address, or after the kernel did, 5 s after it announced its own address to this host.
        ns.run("sysctl", "-qw", f"net.ipv6.conf.{name}.forwarding=1")
        files = os.path.join(lab.dir, interface)
        with open(self.log_path, "ab") as out:
            self.server = lab.popen(
                ns, "dnsmasq", "-k", "-C/dev/null", "-p0", "-8-", f"-i{name}", "-z", "--no-ping",
                "--user=root", f"-l{files}.leases", f"-x{files}.pid",
                f"-F{lease},static,120", f"-G{DUT_MAC},{lease},120", f"-O3,{router}",
                "--enable-ra", f"--dhcp-range=::,constructor:{name},ra-only,64,600",
                stdout=out, stderr=out,
            )  # fmt: skip

    def said(self, word):
        with open(self.log_path) as file:
            return file.read().count(word)

    @contextlib.contextmanager
    def silent(self):
        """The router sends no advertisements meanwhile, so that it does not contradict another one."""
        self.server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.server.send_signal(signal.SIGCONT)

    def show(self, made):
        """The logs of both ends and the server, for a lease that does not come."""
        with open(self.log_path) as file:
            print(file.read())
        print(self.exc.ip("addr"), made.telemetry.ask("/slipring/exception"), made.drops())

    def run_client(self):
        """Waits for the interface that the server creates, and requests an address on it."""
        there = lambda: self.interface in self.exc.ip("-br", "link")
        until(there, 20, f"{self.interface} is there")
        argv = ["udhcpc", "-f", "-i", self.interface, "-s", self.script, "-t", "100", "-T", "1"]
        with open(self.log_path, "ab") as out:
            self.client = self.lab.popen(self.exc, *argv, stdout=out, stderr=out)


def config(lab, addresses, **more):
    port = {**servers.CONFIG["ports"][0], "addresses": addresses, **more}
    del port["gateway"]
    port["exception"] = {"name": "sr0", "netns": lab.exc.name, "allow": ["icmp"]}
    return {
        "ports": [port],
        "listeners": [{"address": "all"}],
        "relay": {"addresses": "all"},
        "peers": {"allow": ["10.99.0.0/24", "10.98.0.0/24", "fd99::/64"]},
    }


def client(lab, ip, server):
    made = Client(lab.cli.udp(ip), (server, 3478), labs.ivan())
    lab.cleanup.callback(made.close)
    return made


def addresses(made):
    return {row["address"]: row for row in made.telemetry.ask("/slipring/addresses")}


def echoed(turn, payload):
    turn.send_channel(0x4000, payload)
    assert turn.wait("channel") == ("channel", 0x4000, payload)


def relays(lab, ip, server, peer):
    """An allocation on the assigned address, and data through it to a peer and back."""
    turn = client(lab, ip, server)
    family = b"\2\0\0\0" if ":" in server else b"\1\0\0\0"
    answer = turn.allocate([(REQUESTED_ADDRESS_FAMILY, family)])
    assert answer.cls == SUCCESS, answer
    assert turn.bind(0x4000, peer.address).cls == SUCCESS
    echoed(turn, b"there and back")
    assert peer.seen[-1][0][0] == server, peer.seen[-1]
    return turn


def learned(lab, made):
    """Both families, with the default routers that were announced."""
    rows = addresses(made)
    assert set(rows) == {SERVER4, SLAAC6}, rows
    assert rows[SERVER4]["gateway"] == GATEWAY4 and rows[SLAAC6]["gateway"] == HOST6, rows
    assert not any(row["lost"] for row in rows.values()), rows
    relays(lab, CLIENT4, SERVER4, lab.echo(PEER4))
    relays(lab, CLIENT6, SLAAC6, lab.echo(PEER6))
    relays(lab, CLIENT4, SERVER4, lab.echo(FAR4, ns=lab.far))  # behind the router
    lab.cli.run("ping", "-c", "2", "-i", "0.1", SERVER4)


def renewed(made, net, port, address):
    """Leases and advertisements continue, although the configuration allows no such traffic."""
    before = net.said("DHCPACK")
    net.client.send_signal(signal.SIGUSR1)
    until(lambda: net.said("DHCPACK") > before, 10, "the lease is renewed")
    net.client.send_signal(signal.SIGUSR2)  # released
    until(lambda: addresses(made)[address]["lost"], 5, "the address is gone")
    net.client.send_signal(signal.SIGUSR1)  # and requested again, by broadcast
    try:
        until(lambda: not addresses(made)[address]["lost"], 20, "the address is there again")
    except AssertionError:
        net.show(made)
        raise
    (row,) = [row for row in made.telemetry.ask("/slipring/exception") if row["port"] == port]
    assert row["to_kernel_udp"] >= 2 and row["from_kernel_udp"] >= 2, row
    rows = [row for row in addresses(made).values() if ":" in row["address"]]
    assert rows and all(row["router"] == row["gateway"] for row in rows), rows


def lost(lab, made):
    """No new allocations on an address that the interface has lost. Existing allocations continue."""
    peer = lab.echo(PEER4)
    old = relays(lab, CLIENT4, SERVER4, peer)
    refused = made.stats()["relay_lost"]
    lab.exc.ip("addr", "del", SERVER4 + "/24", "dev", "sr0")
    until(lambda: addresses(made)[SERVER4]["lost"], 5, "the loss is seen")
    new = client(lab, CLIENT4, SERVER4)
    assert new.allocate().code == 508
    assert made.stats()["relay_lost"] == refused + 1
    echoed(old, b"as before")
    assert old.refresh(600).cls == SUCCESS
    relays(lab, CLIENT6, SLAAC6, lab.echo(PEER6))
    lab.exc.ip("addr", "add", OTHER4 + "/24", "dev", "sr0")
    until(lambda: addresses(made)[SERVER4]["instead"] == OTHER4, 5, "another address is seen")
    until(lambda: f"has {OTHER4} now, no longer {SERVER4}" in made.log(), 5, "and told")
    assert "a restart adopts the new one" in made.log()
    assert client(lab, CLIENT4, SERVER4).allocate().code == 508
    lab.exc.ip("addr", "del", OTHER4 + "/24", "dev", "sr0")
    lab.exc.ip("addr", "add", SERVER4 + "/24", "dev", "sr0")
    until(lambda: not addresses(made)[SERVER4]["lost"], 5, "it is back")
    assert new.allocate().cls == SUCCESS
    until(lambda: f"interface sr0 has {SERVER4} again" in made.log(), 5, "and told")
    log = made.log()
    assert log.count(f"has lost {SERVER4}") <= 3, log  # once for each time


def advertise(lab, made, *prefixes):
    """A router advertisement from any host: prefixes, and seconds that their addresses are valid."""
    attacker = "fe80::99:ff:fe00:2"
    message = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0x08, 1800, 0, 0)  # preference: high
    message += struct.pack("!BB", 1, 1) + frames.mac(MAC.format(2))
    for prefix, seconds in prefixes:
        message += struct.pack("!BBBBIII", 3, 4, 64, 0xC0, seconds, seconds, 0)
        message += frames.packed(prefix)
    frame = frames.eth(frames.icmp6(message, attacker, "ff02::1"), 0x86DD, "33:33:00:00:00:01")
    before = made.telemetry.ask("/slipring/exception")[0]["to_kernel_nd"]
    with contextlib.closing(lab.cli.raw("c0")) as raw:
        raw.send(frame)
    seen = lambda: made.telemetry.ask("/slipring/exception")[0]["to_kernel_nd"] > before
    until(seen, 5, "the kernel receives it")


def forged(lab, made, net):
    """The kernel may accept an advertisement of any host: the data path does not follow it."""
    with net.silent():
        advertise(lab, made, ("fd99::", 0))  # ends the prefix
        until(lambda: "deprecated" in lab.exc.ip("addr", "show", "sr0"), 5, "and believes it")
    row = addresses(made)[SLAAC6]
    assert row["gateway"] == HOST6 and not row["lost"], row
    relays(lab, CLIENT6, SLAAC6, lab.echo(PEER6))


def removed(lab, made, net):
    """The kernel's interface is created again, and gets both addresses in the same way as before."""
    peer = lab.echo(PEER4)
    old = relays(lab, CLIENT4, SERVER4, peer)
    lab.exc.ip("link", "del", "sr0")
    until(lambda: addresses(made)[SERVER4]["lost"], 5, "the loss is seen")
    until(lambda: not addresses(made)[SLAAC6]["lost"], 10, "the kernel has made it again")
    assert addresses(made)[SERVER4]["lost"], "only the DHCP client restores it"
    net.run_client()
    until(lambda: not addresses(made)[SERVER4]["lost"], 20, "the client has it again")
    echoed(old, b"as before")
    relays(lab, CLIENT4, SERVER4, peer)


def crowd(lab, net):
    """Addresses next to many configured ones, and many further ones of the kernel."""
    crowded = config(lab, [*CROWD, "dhcp", "slaac"])
    crowded["relay"]["ports"] = "49152-49407"
    made = start(lab, crowded, net)
    assert len(lab.exc.ip("-6", "-o", "addr", "show", "sr0").splitlines()) >= 20 + 2
    rows = addresses(made)
    assert set(rows) == {SERVER4, SLAAC6} and not any(row["lost"] for row in rows.values()), rows
    advertise(lab, made, *((f"fdaa:{i}::", 3600) for i in range(20)))
    others = lambda: lab.exc.ip("-6", "-o", "addr", "show", "sr0", "-tentative").count("fdaa:")
    until(lambda: others() >= 14, 10, "the kernel has 14 more")
    lab.exc.ip("addr", "del", SERVER4 + "/24", "dev", "sr0")
    until(lambda: addresses(made)[SERVER4]["lost"], 5, "the loss is noticed")
    assert not addresses(made)[SLAAC6]["lost"], addresses(made)
    lab.exc.ip("addr", "del", SLAAC6 + "/64", "dev", "sr0")
    until(lambda: addresses(made)[SLAAC6]["lost"], 5, "the loss is noticed among them")
    made.finish()


def on_vlan(lab, exc, port):
    """A file with a VLAN 100 that adopts addresses, in addition to those of the port itself."""
    made = config(lab, ["dhcp", "slaac"])
    made["ports"][0].update(port)
    entry = {"id": 100, "addresses": ["dhcp", "slaac"]}
    made["ports"][0]["vlans"] = [{**entry, "exception": {"name": "sr100", "netns": exc.name}}]
    made["peers"]["allow"] += ["10.100.0.0/24", "fd64::/64"]
    return made


def waiting(seconds):
    """Seconds that the start waits for addresses; 0: without limit."""
    return {"test-constants": {"ports.addresses-wait": seconds}}


def vlan_in_vain(lab, exc):
    """No answer on a VLAN: the time limit applies there, too."""
    made = servers.make(lab, on_vlan(lab, exc, {"addresses": [SERVER4 + "/24"]}) | waiting(3))
    lab.cleanup.callback(made.kill)
    with_port(made, lab)
    assert made.process.wait(60 * SLOW) == 1
    assert "port wan.100: waiting for an IPv4 and an IPv6 address on sr100" in made.log(), made.log()
    assert "given up after 3 s" in made.log(), made.log()


def vlans(lab, net):
    """A VLAN adopts addresses next to the untagged network, each from its own hosts, and alone."""
    exc = lab.namespace(lab.cleanup, "exc100")
    vlan_in_vain(lab, exc)
    host = Trunk(lab).host(100, 0x64, (HOST100, HOST100_6, PEER100))
    tagged = Network(lab, (host, "h0"), OWN100, HOST100, exc, "sr100")
    host.ip("route", "add", "10.99.0.0/24", "via", OWN100)
    made = start(lab, on_vlan(lab, exc, {}), net, tagged)
    rows = addresses(made)
    want = {SERVER4: GATEWAY4, SLAAC6: HOST6, OWN100: HOST100, OWN100_6: "fe80::99:ff:fe00:64"}
    assert {ip: row["gateway"] for ip, row in rows.items()} == want, rows
    assert not any(row["lost"] for row in rows.values()), rows
    renewed(made, tagged, "wan.100", OWN100)
    assert client(lab, CLIENT4, SERVER4).binding().cls == SUCCESS
    made.finish()
    # without an untagged network
    only = on_vlan(lab, exc, {})
    for key in ("addresses", "exception"):
        del only["ports"][0][key]
    made = start(lab, only, tagged, allow={"vlan"})
    assert set(addresses(made)) == {OWN100, OWN100_6}, addresses(made)
    turn = Client(host.udp(HOST100), (OWN100, 3478), labs.ivan())
    lab.cleanup.callback(turn.close)
    assert turn.allocate().cls == SUCCESS and turn.relayed[0] == OWN100
    assert turn.bind(0x4000, lab.echo(PEER100, ns=host).address).cls == SUCCESS
    echoed(turn, b"by the tag")
    made.finish()


def in_vain(lab):
    """No answer: the log says which address the start waits for, and it fails after the time limit."""
    made = servers.make(lab, config(lab, ["dhcp"]) | waiting(3))
    lab.cleanup.callback(made.kill)
    with_port(made, lab)
    assert made.process.wait(60 * SLOW) == 1
    assert "waiting for an IPv4 address on sr0" in made.log(), made.log()
    assert "(is a DHCP client running on it?)" in made.log(), made.log()
    assert "given up after 3 s" in made.log(), made.log()
    assert "sr0" not in lab.exc.ip("-br", "link")


def stopped(lab):
    """A stop ends the wait cleanly."""
    made = servers.make(lab, config(lab, ["dhcp"]) | waiting(0))
    lab.cleanup.callback(made.kill)
    with_port(made, lab)
    until(lambda: "waiting for an IPv4 address" in made.log(), 20, "it waits")
    made.process.send_signal(signal.SIGTERM)
    assert made.process.wait(20 * SLOW) == 0
    assert "stopped while waiting" in made.log(), made.log()


def start(lab, text, *nets, allow=frozenset()):
    """A server that gets its addresses while clients send requests."""
    asking = [threading.Thread(target=net.run_client, daemon=True) for net in nets]
    for thread in asking:
        thread.start()
    made = lab.server(text, allow=KERNEL | allow)
    for thread in asking:
        thread.join()
    return made


def with_port(made, lab):
    """Starts a server that will not become ready."""
    made.ready = made.running
    made.start()


def main(lab):
    labs.need_own_server()
    if not shutil.which("dnsmasq") or not shutil.which("udhcpc"):
        raise labs.Skip("needs dnsmasq and udhcpc (dnsmasq-base, udhcpc)")
    lab.exc = lab.namespace(lab.cleanup, "exc")
    in_vain(lab)
    stopped(lab)
    net = Network(lab, (lab.peer, "p0"), SERVER4, GATEWAY4, lab.exc, "sr0")
    made = start(lab, config(lab, ["dhcp", "slaac"]), net)
    learned(lab, made)
    renewed(made, net, "wan", SERVER4)
    net.client.send_signal(signal.SIGKILL)  # so that the address is not restored
    lost(lab, made)
    forged(lab, made, net)
    removed(lab, made, net)
    made.finish()
    crowd(lab, net)
    vlans(lab, net)


if __name__ == "__main__":
    labs.run(main, gateway=True, port="vtap")
