# SPDX-License-Identifier: BSD-3-Clause
"""A trunk: kernel hosts on VLANs of the segment. This program is the switch in front of them.

The kernel needs no support for 802.1Q. Each host has a plain veth. This program adds the VLAN tag
to its frames and sends them to the bridge, and removes the tag in the other direction.

    host 100: h0 ── a100 ─┐
                          ├ trk: this program ── t0 ── the bridge of the lab
    host 200: h0 ── a200 ─┘
"""

import select
import socket
import struct
import threading

import lab as labs

SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING = 263, 8, 4
TAG_VALID = 1 << 4  # tpacket_auxdata.tp_status: the kernel has removed a tag


class Trunk:
    """`trunk = Trunk(lab); ns = trunk.host(100, 0x64, ("10.100.0.2", "fd64::2"))`."""

    def __init__(self, lab):
        self.lab, self.access, self.stop = lab, {}, False
        self.ns = lab.namespace(lab.cleanup, "trk")
        lab.attach(self.ns, "t0", 9)
        lab.quiet(self.ns, "t0")
        self.ns.ip(*"link set t0 arp off promisc on up".split())
        self.wire = self.open("t0")
        self.thread = threading.Thread(target=self.loop, daemon=True)
        lab.cleanup.callback(self.close)
        self.thread.start()

    def open(self, interface):
        sock = self.ns.raw(interface)
        sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        return sock

    def host(self, vlan, number, addresses):
        """A kernel host on a VLAN; its interface is h0."""
        name = f"a{vlan}"
        ns = self.lab.namespace(self.lab.cleanup, f"v{vlan}")
        self.ns.ip(*f"link add {name} type veth peer name h0 address".split(),
            labs.MAC.format(number), "netns", ns.name)  # fmt: skip
        self.lab.quiet(self.ns, name)
        ns.run("sysctl", "-qw", "net.ipv6.conf.h0.accept_dad=0", "net.ipv6.conf.h0.accept_ra=0")
        ns.run("sysctl", "-qw", "net.ipv6.conf.h0.router_solicitations=0")
        for address in addresses:
            self.lab.add_address(ns, "h0", address)
        self.ns.ip(*f"link set {name} arp off promisc on up".split())
        ns.ip("link", "set", "h0", "up")
        for place, interface in ((ns, "h0"), (self.ns, name)):
            self.lab.wire_checksums(place, interface)
        self.access[vlan] = self.open(name)
        return ns

    def send(self, vlan, frame):
        """Puts an untagged frame on the segment with a VLAN's tag."""
        self.wire.send(frame[:12] + struct.pack("!HH", 0x8100, vlan) + frame[12:])

    def loop(self):
        while not self.stop:
            ports = {sock.fileno(): vlan for vlan, sock in [*self.access.items()]}
            for fd in select.select([self.wire.fileno(), *ports], [], [], 0.1)[0]:
                if fd == self.wire.fileno():
                    self.from_wire()
                else:
                    frame, _ = receive(self.access[ports[fd]])
                    if frame:
                        self.send(ports[fd], frame)

    def from_wire(self):
        frame, vlan = receive(self.wire)
        if frame and vlan in self.access:
            self.access[vlan].send(frame)

    def close(self):
        self.stop = True
        self.thread.join()
        for sock in (self.wire, *self.access.values()):
            sock.close()


def receive(sock):
    """A received frame and the VLAN id of the tag that the kernel has removed."""
    try:
        frame, extra, _, address = sock.recvmsg(65536, 64)
    except OSError:  # the host was removed
        return None, None
    if address[2] == PACKET_OUTGOING:
        return None, None
    for level, kind, data in extra:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, _ = struct.unpack("=IIIHHHH", data[:20])
            if status & TAG_VALID:
                return frame, tci & 0xFFF
    return frame, None
