# SPDX-License-Identifier: BSD-3-Clause
"""A capture of all frames on an interface, taken by tcpdump and parsed frame by frame."""

import os
import select
import signal
import struct
import subprocess
from ipaddress import IPv4Address, IPv6Address

import lab as labs

MARK_MAC, MARK_TYPE = "02:99:00:00:00:fe", 0x88B5  # unused, and an EtherType for local experiments


class Capture:
    """`with Capture(lab, ns, "d0") as c: ...`; afterwards c.frames is a list of Frame."""

    def __init__(self, lab, ns, interface):
        self.lab, self.ns, self.interface = lab, ns, interface
        self.path = os.path.join(lab.dir, f"{interface}.pcap")
        self.argv = ["tcpdump", "-i", interface, "-n", "-U", "--immediate-mode", "-s", "2048", "-B",
                     "32768", "-w", self.path]  # fmt: skip
        self.frames, self.dropped = [], 0

    def __enter__(self):
        self.process = self.lab.popen(self.ns, *self.argv, stderr=subprocess.PIPE, bufsize=0)
        self.said = b""
        while b"listening on" not in self.said:
            assert select.select([self.process.stderr], [], [], 30)[0], "tcpdump does not start"
            chunk = self.process.stderr.read(4096)
            assert chunk, f"tcpdump: {self.said.decode()}"
            self.said += chunk
        return self

    def __exit__(self, *error):
        if error[0] is None:
            self.mark()
        self.process.send_signal(signal.SIGINT)  # tcpdump prints the number of lost packets
        self.said += self.process.stderr.read()
        self.process.wait(10)
        if error[0] is None:
            self.frames = [f for f in read_pcap(self.path) if f.ethertype != MARK_TYPE]
            assert b"\n0 packets dropped by kernel" in self.said, self.said.decode()

    def mark(self):
        """Sends a frame and waits until it is in the file, and so all earlier frames, too."""
        payload = os.urandom(46)
        sock = self.ns.raw(self.interface)
        mac = bytes.fromhex(MARK_MAC.replace(":", ""))
        sock.send(mac + mac[:5] + b"\xfd" + MARK_TYPE.to_bytes(2, "big") + payload)
        sock.close()
        labs.until(lambda: payload in read_file(self.path), 10, "tcpdump keeps up")


class Frame:
    """The header fields of one captured frame."""

    def __init__(self, data):
        self.data = data
        self.to_mac, self.from_mac = mac_text(data[:6]), mac_text(data[6:12])
        self.ethertype, self.vlan = int.from_bytes(data[12:14], "big"), None
        if self.ethertype == 0x8100:
            self.vlan = int.from_bytes(data[14:16], "big") & 0xFFF
            data = self.data = data[:12] + data[16:]  # parse the rest as an untagged frame
            self.ethertype = int.from_bytes(data[12:14], "big")
        self.proto = self.ttl = self.tos = 0
        self.src = self.dst = None
        self.sport = self.dport = None
        self.payload = b""
        if self.ethertype == 0x0800 and len(data) >= 34:
            self.read_ip4(data[14:])
        elif self.ethertype == 0x86DD and len(data) >= 54:
            self.read_ip6(data[14:])
        if self.proto == 17 and len(self.l4) >= 8:
            self.sport, self.dport = struct.unpack_from("!HH", self.l4)
            self.payload = self.l4[8 : int.from_bytes(self.l4[4:6], "big")]

    def read_ip4(self, ip):
        self.tos, self.id, self.flags = ip[1], ip[4] << 8 | ip[5], ip[6] >> 5
        self.ttl, self.proto = ip[8], ip[9]
        self.src, self.dst = str(IPv4Address(ip[12:16])), str(IPv4Address(ip[16:20]))
        self.l4 = ip[(ip[0] & 15) * 4 : ip[2] << 8 | ip[3]]

    def read_ip6(self, ip):
        self.tos = (ip[0] << 8 | ip[1]) >> 4 & 0xFF
        self.ttl, self.proto = ip[7], ip[6]
        self.src, self.dst = str(IPv6Address(ip[8:24])), str(IPv6Address(ip[24:40]))
        self.l4 = ip[40 : 40 + (ip[4] << 8 | ip[5])]

    @property
    def df(self):
        return bool(self.flags & 2)

    def asks_for(self):
        """The target address of an ARP request or a neighbour solicitation, or None."""
        if self.ethertype == 0x0806 and self.data[20:22] == b"\0\1":
            return str(IPv4Address(self.data[38:42]))
        if self.proto == 58 and self.l4[:1] == b"\x87":
            return str(IPv6Address(self.l4[8:24]))
        return None

    def announces(self):
        """The address that gratuitous ARP or an unsolicited NA announces (packed), or None."""
        if self.ethertype == 0x0806 and self.data[28:32] == self.data[38:42]:
            return self.data[28:32]
        if self.proto == 58 and self.l4[:1] == b"\x88" and self.dst == "ff02::1":
            return self.l4[8:24]
        return None

    def reports_groups(self):
        """True if the destination is the group of MLD version 2 reports (RFC 3810 5.2.14)."""
        return self.dst == "ff02::16"

    def __repr__(self):
        ports = f" {self.sport}->{self.dport}" if self.sport is not None else ""
        about = f" asks for {self.asks_for()}" if self.asks_for() else ""
        return f"<{self.from_mac} 0x{self.ethertype:04x} {self.src}->{self.dst}{ports}{about}>"


def mac_text(raw):
    return ":".join(f"{b:02x}" for b in raw)


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def read_pcap(path):
    data = read_file(path)
    order = "<" if data[:4] == b"\xd4\xc3\xb2\xa1" else ">"
    frames, offset = [], 24
    while offset + 16 <= len(data):
        (size,) = struct.unpack_from(order + "I", data, offset + 8)
        if offset + 16 + size > len(data):
            break  # tcpdump is still writing it
        frames.append(Frame(data[offset + 16 : offset + 16 + size]))
        offset += 16 + size
    return frames


def from_server(frames):
    """Frames that the server put on the wire."""
    return [f for f in frames if f.from_mac == labs.DUT_MAC]
