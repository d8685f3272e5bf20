#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: fails if an answer takes a quarter of a second
# long: a wire and a port; all lab tests use vtaps under ASan, too
"""vtaps with real kernels at their ends: a wire of two of them between namespaces, and the server.

        lft: t0 10.96.0.1, fd96::1 ── vtap_wire ── t1 10.96.0.2, fd96::2 :rgt
"""

import contextlib
import errno
import hashlib
import json
import os
import socket
import subprocess
import threading

import lab as labs
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6, SLOW, until
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

WIRE = os.path.join(labs.BUILD, "test/unit/vtap_wire")
LEFT4, LEFT6, RIGHT4, RIGHT6 = "10.96.0.1", "fd96::1", "10.96.0.2", "fd96::2"
SO_RCVBUFFORCE = 33
UDP_SEGMENT = 103  # socket option: the kernel cuts a payload into datagrams of this size
SEGMENT, SEGMENTS = 1200, 50
BURSTS = 8
FLOWS = 12
OFFLOADS = {
    "uso": "uso 64x65535, tso 256x65535, checksums",
    "tso": "tso 256x65535, checksums",
    "csum": "checksums",
    "none": "none",
}


def interfaces(ns):
    return {line.split()[0].split("@")[0] for line in ns.ip("-br", "link").splitlines()}


def learn(lab):
    """The offloads that this kernel grants: before Linux 6.2 a TAP has no USO."""
    wire = Wire(lab, "offload=uso", "offload=tso")
    left, right = (end["offloads"] for end in wire.first)
    log = wire.end()
    assert right == OFFLOADS["tso"], right
    if left == OFFLOADS["uso"]:
        assert "this kernel grants" not in log, log
        return
    assert left == OFFLOADS["tso"] and "this kernel grants offload tso, not uso" in log, (left, log)
    OFFLOADS["uso"] = left
    print("this kernel has no USO: TSO instead")


class Wire:
    """Two vtaps and the program between them."""

    def __init__(self, lab, left, right, *args, ends=None):
        self.lft, self.rgt = ends or (lab.lft, lab.rgt)
        devices = (
            f"vtap:t0,netns={self.lft.name},queues=2,{left}",
            f"vtap:t1,netns={self.rgt.name},{right}",
        )
        self.process = subprocess.Popen(
            [WIRE, lab.prefix + "w", *devices, *args], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        lab.cleanup.callback(self.kill)
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.first = json.loads(line)
        for ns, name, addresses in (
            (self.lft, "t0", (LEFT4, LEFT6)),
            (self.rgt, "t1", (RIGHT4, RIGHT6)),
        ):
            for address in addresses:
                lab.add_address(ns, name, address)

    def status(self):
        """Counters of both ends, and the port's description of itself."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def end(self):
        """The program exits by itself: no mbuf is missing, the interfaces are removed. Returns its
        stderr."""
        log = self.process.communicate(timeout=10 * SLOW)[1]
        assert self.process.returncode == 0, log
        assert "Sanitizer" not in log and "runtime error" not in log, log
        for ns, name in ((self.lft, "t0"), (self.rgt, "t1")):
            assert name not in interfaces(ns), f"{name} is still there"
        return log


def ping(ns, *addresses):
    for address in addresses:
        for size in ("56", "1400"):
            ns.run("ping", "-c", "3", "-i", "0.01", "-W", "2", "-s", size, address)


def send_bursts(sock, dst):
    """Sends payloads of SEGMENTS datagrams each, in one call each if the kernel can."""
    sent = []
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SEGMENT)
    for _ in range(BURSTS):
        payload = os.urandom(SEGMENT * SEGMENTS)
        try:
            sock.sendto(payload, dst)
        except OSError as error:
            # Before Linux 6.11 only to interfaces with checksum offload.
            if error.errno != errno.EIO:
                raise
            sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)
            for offset in range(0, len(payload), SEGMENT):
                sock.sendto(payload[offset : offset + SEGMENT], dst)
        sent.append(payload)
    return b"".join(sent)


def datagrams(wire, size=SEGMENT):
    """Bursts from left to right over both families: all arrive, in order, cut to size."""
    for source, target in ((LEFT4, RIGHT4), (LEFT6, RIGHT6)):
        with wire.lft.udp(source) as sender, wire.rgt.udp(target) as receiver:
            receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
            receiver.settimeout(2 * SLOW)
            sent = send_bursts(sender, receiver.getsockname())
            got = []
            while sum(map(len, got)) < len(sent):
                got.append(receiver.recv(65536))
            assert b"".join(got) == sent, "changed or out of order"
            assert {len(data) for data in got} == {size}, {len(data) for data in got}


def stream(wire):
    """A few megabytes of TCP from left to right over both families."""
    data = os.urandom(1 << 20) * 3
    for target in (RIGHT4, RIGHT6):
        family = socket.AF_INET6 if ":" in target else socket.AF_INET
        with wire.rgt.enter():
            listener = socket.create_server((target, 0), family=family)
        got = hashlib.sha256()

        def receive():
            connection = listener.accept()[0]
            with connection:
                while piece := connection.recv(1 << 16):
                    got.update(piece)

        thread = threading.Thread(target=receive)
        thread.start()
        with wire.lft.enter():
            sender = socket.create_connection(listener.getsockname()[:2], timeout=10 * SLOW)
        with sender:
            sender.sendall(data)
        thread.join()
        listener.close()
        assert got.digest() == hashlib.sha256(data).digest(), "changed on the way"


def traffic(lab, left, right):
    """All traffic in both directions between ports with these offloads: nothing is lost or changed."""
    wire = Wire(lab, f"offload={left}", f"offload={right},role=exception")
    assert [end["offloads"] for end in wire.first] == [OFFLOADS[left], OFFLOADS[right]], wire.first
    assert [end["queues"] for end in wire.first] == [2, 2], wire.first
    assert [end["role"] for end in wire.first] == [0, 1], wire.first
    ping(wire.lft, RIGHT4, RIGHT6)
    datagrams(wire)
    before = wire.status()[0]
    assert before["rx_missed"] == 0, before
    stream(wire)  # may overrun a queue, and retransmits
    after = wire.status()
    for end in after:
        assert end["unsent"] == end["rx_errors"] == end["tx_errors"] == 0, after
    if "uso" in OFFLOADS[left]:
        assert before["supers"] >= 2 * BURSTS and before["longest"] > 60000, before
        # the other end cuts frames that it cannot accept
        assert (after[1]["tx_cut"] > 0) == (OFFLOADS[left] != OFFLOADS[right]), after
    else:
        assert before["supers"] == 0 and before["longest"] <= 1514, before
    assert (after[0]["supers"] > before["supers"]) == (left in ("uso", "tso")), after
    wire.end()
    print(f"{left} to {right}: {after[0]['frames']} frames, {after[0]['supers']} super-frames, "
          f"{after[1]['tx_cut']} cut")  # fmt: skip


def order(lab):
    """A flow stays on its queue, whichever queue the answers use. All flows use all queues."""
    wire = Wire(lab, "offload=uso", "offload=uso")
    ping(wire.lft, RIGHT4, RIGHT6)
    used, strays = [0, 0], 0
    for left, right in ((LEFT4, RIGHT4), (LEFT6, RIGHT6)):
        for _ in range(FLOWS):
            with wire.lft.udp(left) as here, wire.rgt.udp(right) as there:
                there.settimeout(2 * SLOW)
                here.settimeout(2 * SLOW)
                before = wire.status()[0]["queue"]
                for _ in range(20):
                    here.sendto(b"there", there.getsockname())
                    there.sendto(b"and back", there.recvfrom(64)[1])
                    here.recv(64)
                after = wire.status()[0]["queue"]
            got = [b - a for a, b in zip(before, after)]
            used[got[1] > got[0]] += 1
            strays += min(got)
    assert all(used), f"all flows on one queue: {used}"
    assert strays <= 3, f"{strays} frames beside their flow's queue"  # the kernels' own frames
    print(f"{2 * FLOWS} flows on two queues {used}, {strays} frames beside theirs")
    wire.end()


def refused(lab):
    """More segments than the kernel accepts at once: it refuses, and from then on they leave one by
    one."""
    if OFFLOADS["uso"] == OFFLOADS["tso"]:
        return
    wire = Wire(lab, "offload=uso", "offload=uso", "300")
    ping(wire.lft, RIGHT4, RIGHT6)  # few bytes may wait for an unresolved neighbour
    datagrams(wire, size=300)
    left, right = wire.status()
    assert left["unsent"] == right["tx_errors"] == 0, (left, right)
    log = wire.end()
    if right["offloads"] == OFFLOADS["uso"]:  # Linux 6.2 to 6.9: any number
        print("this kernel refuses no super-frame")
        return
    assert right["offloads"] == OFFLOADS["tso"], right
    assert right["tx_cut"] == left["supers"] >= 2 * BURSTS, (left, right)
    assert log.count("port right: the kernel refuses UDP super-frames") == 1, log
    print(f"refused: {right['tx_cut']} super-frames cut, one warning")


def links(lab):
    """The link follows the interface. The removal of the interface does no harm."""
    wire = Wire(lab, "mac=02:96:00:00:00:01", "role=exception,mac=02:96:00:00:00:02")
    assert [end["link"] for end in wire.status()] == [1, 1]
    assert "02:96:00:00:00:01" not in wire.lft.ip("link", "show", "t0"), "another host's MAC"
    assert "02:96:00:00:00:02" in wire.rgt.ip("link", "show", "t1"), "this host's MAC"
    assert "qlen 1024" in wire.lft.ip("link", "show", "t0"), "frames that may wait, as configured"
    wire.lft.ip("link", "set", "t0", "down")
    assert [end["link"] for end in wire.status()] == [0, 1]
    wire.lft.ip("link", "set", "t0", "up", "name", "renamed")
    assert [end["link"] for end in wire.status()] == [1, 1]
    ping(wire.rgt, LEFT4)
    wire.lft.ip("link", "del", "renamed")
    assert [end["link"] for end in wire.status()] == [0, 1]
    wire.rgt.run("ping", "-c", "2", "-i", "0.01", "-W", "0.1", LEFT4, check=False)
    wire.end()


def refusals(lab):
    """Devices that cannot be opened, and their messages."""
    lab.lft.ip("tuntap", "add", "taken", "mode", "tap", "multi_queue", "vnet_hdr")
    ns = f"netns={lab.lft.name}"
    without = lambda cap: ["setpriv", f"--bounding-set=-{cap}"]
    no_device = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "sh"]
    for device, reason, prefix in (
        ("vtap:t0,netns=lab-nowhere", "network namespace lab-nowhere: No such file", []),
        (f"vtap:taken,{ns}", "interface taken exists already", []),
        (f"vtap:t0,{ns},queues=300", "queues=300: must be a number from 1 to 64", []),
        (f"vtap:t0,{ns}", "CAP_NET_ADMIN", without("net_admin")),
        (f"vtap:t0,{ns}", "CAP_SYS_ADMIN", without("sys_admin")),
        (f"vtap:t0,{ns}", "modprobe tun", no_device),
    ):
        done = subprocess.run(
            [*prefix, WIRE, lab.prefix + "w", device, "vtap:unused"],
            capture_output=True, text=True, timeout=20, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 1 and reason in done.stderr, (device, done)
        assert "port left: device " + device in done.stderr, done
    assert "t0" not in interfaces(lab.lft)


def relay(lab, client_ip, peer_ip):
    echo = lab.echo(peer_ip)
    client = lab.client(ip=client_ip)
    assert client.binding().cls == SUCCESS
    family = bytes([2 if ":" in peer_ip else 1, 0, 0, 0])
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    assert client.mapped == client.sock.getsockname()[:2], client.mapped
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    for size in (0, 1, 172, 1200):
        client.send_channel(0x4000, bytes(size))
        assert client.wait("channel") == ("channel", 0x4000, bytes(size))
    assert client.unanswered() == 0 and client.drain() == []
    echo.close()


def server(lab, offload):
    """The server on a vtap. Its clients' kernels leave checksums to the device."""
    labs.OFFLOAD = offload
    made = lab.server()
    ping(lab.cli, SERVER4, SERVER6)
    for client_ip, peer_ip in ((CLIENT4, PEER4), (CLIENT6, PEER6), (CLIENT4, PEER6)):
        relay(lab, client_ip, peer_ip)
    (port,) = made.telemetry.ask("/slipring/ports")
    assert port["kind"] == port["driver"] == "vtap" and port["link"] == 1, port
    assert port["offloads"] == OFFLOADS[offload] and port["mac"] == labs.DUT_MAC, port
    assert port["rx_errors"] == port["tx_errors"] == port["tx_cut"] == 0, port
    assert "offloads " + OFFLOADS[offload] in made.log(), "the log has the granted offloads"
    made.allow.add("tx-full")  # frames to send while the link was down
    lab.sw.ip("link", "set", "d0", "down")
    until(lambda: not made.telemetry.ask("/slipring/ports")[0]["link"], 2, "the link is down")
    lab.sw.ip("link", "set", "d0", "up")
    until(lambda: made.telemetry.ask("/slipring/ports")[0]["link"], 2, "the link is up")
    relay(lab, CLIENT4, PEER4)
    made.finish()
    assert "d0" not in interfaces(lab.sw), "closing removes the interface"


def main(lab):
    labs.need_own_server()
    lab.lft, lab.rgt = (lab.namespace(lab.cleanup, name) for name in ("lft", "rgt"))
    for ns in (lab.lft, lab.rgt):
        ns.run("sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
    learn(lab)
    for pair in (("uso", "uso"), ("tso", "csum"), ("uso", "none"), ("none", "uso")):
        traffic(lab, *pair)
    order(lab)
    refused(lab)
    links(lab)
    refusals(lab)
    for ns, name in ((lab.cli, "c0"), (lab.peer, "p0")):
        ns.run("ethtool", "-K", name, "tx", "on")
    for offload in OFFLOADS:
        server(lab, offload)


if __name__ == "__main__":
    labs.run(main, port="vtap")
