#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: waits for LACP, with DPDK's partner, too
# full: unit tests bond and bond_dp have its rules
"""A bond of two links under load: one fails and recovers, then the other one fails.

        slipring ── m0 ═ w0 ── s0: brA ──┐
                                         ├── br0 of the lab: clients, peers
                 ── m1 ═ w1 ── s1: brB ──┘

For active-backup the links go to two switches, and br0 is a third one, which sees no link fail: it
finds the server again only after an announcement. For LACP both links go to br0, and a partner
written from IEEE 802.1AX speaks for it. Then the partner is dpdk-testpmd. Its bond is the driver
that the server uses, too, and it passes frames only on links that LACP has activated:

        slipring ── m0 ═ w0 ── bond of
                 ── m1 ═ w1 ── testpmd ── t2: br0

m0 and m1 (and w0 and w1 of testpmd) are TAPs of net_tap, which reports the link state. A bridge
would keep frames for the MAC of its TAP, so tc redirects between them.
"""

import contextlib
import os
import shutil
import socket
import struct
import subprocess
import threading
import time

import lab as labs
import server as servers
import turnlib
from lab import SERVER4, SERVER6
from trunk import Trunk
from turnlib import SUCCESS

OWN100, HOST100, PEER100 = "10.100.0.1", "10.100.0.2", "10.100.0.3"
PAUSE = 0.002  # between two datagrams of the load
CHANNEL = 0x4000
OTHER4 = "10.99.0.77"
SLOW_MAC = bytes.fromhex("0180c2000002")
LACP = b"\x88\x09\x01\x01"
SYSTEM = bytes.fromhex("02aaaaaaaaaa")
IN_SYNC = 0x3D  # active, long timeout, aggregation, synchronization, collecting, distributing


class Partner:
    """The switch's LACP on one link of a group: IEEE 802.1AX, 6.4.2.3."""

    def __init__(self, lab, interface, number):
        self.number, self.stop = number, False
        self.sock = lab.sw.raw(interface)
        self.sock.settimeout(0.1)
        self.heard, self.agreed = 0, False
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def loop(self):
        self.say(bytes(18))  # an active end sends first; the server may be silent for 29 s
        while not self.stop:
            try:
                frame, sender = self.sock.recvfrom(2048)
            except TimeoutError:
                continue
            except OSError:  # the link is down
                time.sleep(0.05)
                continue
            if sender[2] == socket.PACKET_OUTGOING or frame[:6] != SLOW_MAC:
                continue
            assert frame[12:16] == LACP and len(frame) == 124, frame.hex()
            self.heard += 1
            self.agreed = frame[32] & 0x30 == 0x30  # the server: collecting, distributing
            self.say(frame[18:36])

    def say(self, partner):
        """partner: the last information that the other end sent about itself."""
        actor = struct.pack(">H6sHHHB3x", 0x8000, SYSTEM, 7, 0x8000, self.number, IN_SYNC)
        frame = SLOW_MAC + SYSTEM + LACP
        frame += b"\x01\x14" + actor + b"\x02\x14" + partner
        frame += b"\x03\x10" + bytes(14) + bytes(2 + 50)
        with contextlib.suppress(OSError):
            self.sock.send(frame)

    def close(self):
        self.stop = True
        self.thread.join()
        self.sock.close()


class Testpmd:
    """dpdk-testpmd as a switch with a group: its bond of w0 and w1, and t2, which is on br0."""

    def __init__(self, lab):
        lab.attach(lab.dut, "t2", 0x50)
        lab.dut.ip("link", "set", "t2", "arp", "off", "up")
        old = "DPDK 22." in labs.command(servers.BINARY, "--version")
        links = ",".join(f"{'slave' if old else 'member'}=net_tap{i}" for i in range(2))
        self.log_path, prefix = os.path.join(lab.dir, "testpmd.log"), f"{lab.prefix}t"
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        # EAL leaves it, empty
        lab.cleanup.callback(shutil.rmtree, f"/var/run/dpdk/{prefix}", ignore_errors=True)
        with open(self.log_path, "wb") as log:
            self.process = lab.popen(
                lab.dut, "stdbuf", "-o0", "dpdk-testpmd", "--lcores", f"0@({cpus}),1@({cpus})",
                "--no-huge", "-m", "128", "--no-shconf", "--no-pci", "--no-telemetry",
                "--file-prefix", prefix, "--vdev", "net_tap0,iface=w0",
                "--vdev", "net_tap1,iface=w1", "--vdev", "net_af_packet0,iface=t2",
                "--vdev", f"net_bonding0,mode=4,{links},xmit_policy=l34,socket_id=0", "--",
                "-i", "--auto-start", "--total-num-mbufs=8192", "--portlist=2,3", "--nb-cores=1",
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        labs.until(lambda: "io packet forwarding" in self.log(), 20, "testpmd forwards")
        self.stop = False
        self.thread = threading.Thread(target=self.tick, args=(lab.sw.raw("t2"),), daemon=True)
        self.thread.start()

    def log(self):
        assert self.process.poll() is None, f"testpmd exited with {self.process.returncode}"
        with open(self.log_path, errors="replace") as log:
            return log.read()

    def tick(self, sock):
        """Its bond sends LACP only when it sends frames, and it sends only frames that it has
        received."""
        with sock, contextlib.suppress(OSError):  # a failed test has removed t2
            while not self.stop:
                sock.send(bytes.fromhex("02bbbbbbbbbb02cccccccccc88b5") + bytes(46))
                time.sleep(0.02)

    def close(self):
        self.stop = True
        self.thread.join()
        labs.end_process(self.process)
        self.process.stdin.close()


class Load:
    """Numbered datagrams from a client to an echo peer. Records when each comes back."""

    def __init__(self, client):
        self.client, self.stop = client, False
        self.sent, self.back = 0, {}  # number: time of its return
        self.threads = [threading.Thread(target=f, daemon=True) for f in (self.send, self.receive)]
        client.sock.settimeout(0.1)
        for thread in self.threads:
            thread.start()

    def send(self):
        while not self.stop:
            self.client.send_channel(CHANNEL, struct.pack(">I", self.sent))
            self.sent += 1
            time.sleep(PAUSE)

    def receive(self):
        while not self.stop:
            try:
                data = self.client.sock.recv(2048)
            except TimeoutError:
                continue
            if data[:2] == struct.pack(">H", CHANNEL):
                (number,) = struct.unpack(">I", data[4:8])
                self.back.setdefault(number, time.monotonic())

    def came_after(self, since):
        return any(t > since for t in list(self.back.values()))

    def gap(self, since):
        """The longest silence, in seconds, between returned datagrams after this time."""
        times = [since, *sorted(t for t in list(self.back.values()) if t > since), time.monotonic()]
        return max(b - a for a, b in zip(times, times[1:]))

    def lost(self, first, last):
        return sum(n not in self.back for n in range(first, last))

    def close(self):
        self.stop = True
        for thread in self.threads:
            thread.join()


def switches(lab, two):
    """The other ends of the links, s0 and s1: on two switches, or both on the lab's switch."""
    for i, bridge in enumerate(("brA", "brB") if two else ("br0", "br0")):
        if two:
            sides = f"t{bridge}", f"u{bridge}"
            lab.sw.ip("link", "add", bridge, "type", "bridge", "stp_state", "0",
                "mcast_snooping", "0")  # fmt: skip
            lab.sw.ip("link", "add", sides[0], "type", "veth", "peer", "name", sides[1])
            lab.sw.ip("link", "set", sides[0], "master", "br0", "up")
            lab.sw.ip("link", "set", sides[1], "master", bridge, "up")
            lab.sw.ip("link", "set", bridge, "up")
        lab.sw.ip("link", "add", f"s{i}", "type", "veth", "peer", "name", f"w{i}",
            "netns", lab.dut.name)  # fmt: skip
        lab.sw.ip("link", "set", f"s{i}", "master", bridge, "up")
        lab.dut.ip("link", "set", f"w{i}", "promisc", "on", "up")
        if not two:  # links of one group: no frame goes from one to the other
            lab.sw.run("bridge", "link", "set", "dev", f"s{i}", "isolated", "on")


def no_switches(lab):
    for name in ("s0", "s1", "tbrA", "tbrB", "brA", "brB"):
        lab.sw.ip("link", "del", name, check=False)


def cable(lab, i):
    """Each frame that arrives at one end of a link leaves at the other."""
    unplug(lab, i)
    for a, b in ((f"m{i}", f"w{i}"), (f"w{i}", f"m{i}")):
        lab.dut.run("tc", "qdisc", "add", "dev", a, "ingress")
        lab.dut.run(*f"tc filter add dev {a} parent ffff: protocol all u32 match u32 0 0 "
                    f"action mirred egress redirect dev {b}".split())  # fmt: skip


def unplug(lab, i):
    for end in "mw":
        lab.dut.run("tc", "qdisc", "del", "dev", f"{end}{i}", "ingress", check=False)


def cut(lab, i, order):
    """Takes a link down or up, at both ends.

    A TAP stays up and loses its carrier. If it were set down, net_tap could undo that: it is
    notified before the kernel is done, reads all flags and writes them back. net_tap polls the
    carrier only once a second, so the server's end comes up last: its announcement must arrive.
    """
    taps = lab.dut.ip("-brief", "link", "show", "type", "tun").split()
    (unplug if order == "down" else cable)(lab, i)
    for interface in (f"m{i}", f"w{i}") if order == "down" else (f"w{i}", f"m{i}"):
        state = ("state", "dormant" if order == "down" else "up")
        lab.dut.ip("link", "set", interface, *(state if interface in taps else (order,)))


def members(server):
    port = server.telemetry.ask("/slipring/ports")[0]
    return dict(word.rsplit("=", 1) for word in port["members"].split())


def await_members(server, first, second):
    want = {"net_tap0": first, "net_tap1": second}
    labs.until(lambda: members(server) == want, 20, f"members are {first} and {second}")


def make(lab, bond, networks=None, allow=(), **more):
    # No gateway: resolving it would announce the server to the switches, too.
    networks = networks or {"addresses": [SERVER4 + "/24", SERVER6 + "/64"]}
    port = {"name": "wan", **networks, **more,
            "bond": {"members": ["net_tap0,iface=m0", "net_tap1,iface=m1"], **bond}}  # fmt: skip
    config = {"workers": {"count": 1}}
    if "vlans" in networks:
        config |= {"listeners": [{"address": "all"}], "relay": {"addresses": "all"},
                   "peers": {"allow": ["10.100.0.0/24"]}}  # fmt: skip
    made = servers.Slipring(lab, config, allow=allow)
    made.config["ports"] = [port]
    made.text = servers.document(made.config)
    lab.servers.append(made)
    lab.cleanup.callback(made.kill)
    return made


def start(lab, bond, networks=None, allow=()):
    made = make(lab, bond, networks, allow)
    made.start()
    for i in range(2):
        cable(lab, i)
    return made


def fail_over(lab, server, states, client=None, echo=None):
    """Takes m0 down and up, then m1, under load. states: the expected states of the members after
    each step."""
    echo = echo or lab.echo()
    client = client or lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(CHANNEL, echo.address).cls == SUCCESS
    load = Load(client)
    time.sleep(1)
    for want, (link, order) in zip(states, ((0, "down"), (0, "up"), (1, "down"), (1, "up"))):
        first, begin = load.sent, time.monotonic()
        cut(lab, link, order)
        await_members(server, *want)
        labs.until(lambda since=time.monotonic(): load.came_after(since), 5, "it goes on")
        time.sleep(1.5)
        lost, gap = load.lost(first, load.sent - 250), load.gap(begin)
        print(f"link {link} {order}: {lost} datagrams of {load.sent - first} lost, "
              f"silence of {1000 * gap:.0f} ms at most")  # fmt: skip
        # It takes 0.1 s, and without an announcement it would not end. There are three
        # announcements, one second apart: a busy switch may not forward the first one yet.
        assert gap < 2.5 * labs.SLOW, f"link {link} {order}: nothing came for {gap} s"
    load.close()
    echo.close()


def active_backup(lab):
    switches(lab, two=True)
    server = start(lab, {"mode": "active-backup"})
    await_members(server, "used", "up")
    fail_over(lab, server, [("down", "used"), ("up", "used"), ("used", "down"), ("used", "up")])
    (port,) = server.telemetry.ask("/slipring/ports")
    assert port["kind"] == "bond" and port["driver"] == "net_tap" and port["link"] == 1, port
    assert "bond: net_tap0=down net_tap1=used" in server.log()
    server.finish()


def preferred(lab):
    """The preferred member is not the first one. It takes over again after it recovers. The
    interface argument is omitted."""
    server = start(lab, {"mode": "active-backup", "primary": "net_tap1"})
    await_members(server, "up", "used")
    fail_over(lab, server, [("down", "used"), ("up", "used"), ("used", "down"), ("up", "used")])
    server.finish()


def tagged(lab):
    """All networks are VLANs: switches learn from tagged announcements only."""
    trunk = Trunk(lab)
    host = trunk.host(100, 0x64, (HOST100, PEER100))
    server = start(lab, {"mode": "active-backup"},
        {"vlans": [{"id": 100, "addresses": [OWN100 + "/24"]}]}, allow=("vlan",))  # fmt: skip
    rows = {row["name"]: row for row in server.telemetry.ask("/slipring/ports")}
    assert rows["wan.100"]["on"] == "wan" and rows["wan.100"]["vlan"] == 100, rows
    client = turnlib.Client(host.udp(HOST100), (OWN100, 3478), labs.ivan())
    lab.cleanup.callback(client.close)
    states = [("down", "used"), ("up", "used"), ("used", "down"), ("used", "up")]
    await_members(server, "used", "up")
    fail_over(lab, server, states, client, lab.echo(PEER100, ns=host))
    server.finish()
    trunk.close()


def lacp(lab):
    switches(lab, two=False)
    # A switch with a group learns nothing from LACP, and sends nothing to a link that is not active
    # yet.
    lab.sw.ip("link", "set", "br0", "type", "bridge", "no_linklocal_learn", "1")
    server = start(lab, {"mode": "lacp"})
    time.sleep(3)
    assert set(members(server).values()) == {"up"}, members(server)  # no partner answers yet
    partners = [Partner(lab, f"s{i}", i + 1) for i in range(2)]
    await_members(server, "used", "used")
    both, one, second = ("used", "used"), ("down", "used"), ("used", "down")
    fail_over(lab, server, [one, both, second, both])
    assert all(p.heard >= 3 for p in partners), [p.heard for p in partners]
    for partner in partners:
        partner.close()
    server.finish()


def lacp_of_dpdk(lab):
    if not shutil.which("dpdk-testpmd"):
        raise labs.Skip("LACP with dpdk-testpmd needs dpdk-testpmd (dpdk-dev, dpdk), all else passed")
    switch = Testpmd(lab)
    server = start(lab, {"mode": "lacp"})
    await_members(server, "used", "used")
    fail_over(lab, server, [("down", "used"), ("used", "used"), ("used", "down")])
    assert switch.process.poll() is None, switch.log()
    switch.close()
    server.finish()


def lacp_learns(lab):
    """The start waits for an address and sends no data: LACP agrees meanwhile."""
    exc = lab.namespace(lab.cleanup, "exc")
    server = make(lab, {"mode": "lacp"}, {"addresses": [SERVER4 + "/24", "dhcp"]},
                  ("exception-foreign",), exception={"name": "sr0", "netns": exc.name})  # fmt: skip
    server.config["listeners"] = [{"address": "all"}]
    server.config["relay"]["addresses"] = "all"
    server.text = servers.document(server.config)
    starting = threading.Thread(target=server.start, daemon=True)
    starting.start()
    labs.until(lambda: "waiting for an IPv4 address" in server.log(), 20, "it waits")
    for i in range(2):
        cable(lab, i)
    partners = [Partner(lab, f"s{i}", i + 1) for i in range(2)]
    labs.until(lambda: all(p.agreed for p in partners), 20, "both links distribute")
    assert "ready" not in server.log()
    exc.ip(*f"addr add {OTHER4}/24 dev sr0".split())  # like a DHCP client does later
    starting.join()
    (row,) = server.telemetry.ask("/slipring/addresses")
    assert row["address"] == OTHER4 and not row["lost"], row
    await_members(server, "used", "used")
    for partner in partners:
        partner.close()
    server.finish()


def main(lab):
    labs.need_own_server()
    if not lab.vtap:
        raise labs.Skip("creates its own links")
    for ns in (lab.dut, lab.sw):
        ns.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
    active_backup(lab)
    preferred(lab)
    tagged(lab)
    no_switches(lab)
    lacp(lab)
    lacp_learns(lab)
    no_switches(lab)
    if labs.LONG:
        lacp_of_dpdk(lab)


if __name__ == "__main__":
    labs.run(main)
