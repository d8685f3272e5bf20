#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Server and kernel on one interface and the same addresses:

        cli: c0 10.99.0.2 ── bridge ── d0 10.99.0.1, fd99::1 :dut  the kernel, and slipring beside it

The server relays. The kernel has TCP, pings, ARP and its own UDP, and does not answer the server's
packets, neither while the server runs nor with an error. After any kind of exit the server leaves
nothing behind.
"""

import ctypes
import hashlib
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import frames
import lab as labs
import server as servers
import streams
from capture import Capture
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6, until
from turnlib import IPV4, IPV6, REQUESTED_ADDRESS_FAMILY, SUCCESS

BPF_PROG_QUERY, TCX_INGRESS = 16, 46
SYS_BPF = {"x86_64": 321, "aarch64": 280}
BULK = 4 << 20
STREAMS = {"listeners": [
    {"transport": "udp", "address": SERVER4}, {"transport": "udp", "address": SERVER6},
    {"transport": "tcp", "address": SERVER4}, {"transport": "tcp", "address": SERVER6},
]}  # fmt: skip


def programs(lab):
    """The number of programs at the interface's ingress (TCX)."""
    with lab.dut.enter():
        attr = bytearray(64)
        ids = (ctypes.c_uint32 * 16)()
        struct.pack_into("=IIIIQI", attr, 0, socket.if_nametoindex("d0"), TCX_INGRESS, 0, 0,
            ctypes.addressof(ids), 16)  # fmt: skip
        buf = (ctypes.c_char * len(attr)).from_buffer(attr)
        number = SYS_BPF[os.uname().machine]
        assert labs.libc.syscall(number, BPF_PROG_QUERY, buf, len(attr)) == 0, ctypes.get_errno()
        return struct.unpack_from("=I", attr, 24)[0]


def sockets(lab):
    """Packet sockets in the server's namespace."""
    return len(lab.dut.run("ss", "-0nH").splitlines())


def family(ip):
    return (REQUESTED_ADDRESS_FAMILY, struct.pack("!B3x", IPV6 if ":" in ip else IPV4))


def relays(lab, client_ip, peer_ip, number=40):
    """Datagrams in both directions, on one channel."""
    echo, client = lab.echo(peer_ip), lab.client(ip=client_ip)
    assert client.allocate([family(peer_ip)]).cls == SUCCESS
    assert client.bind(0x4001, echo.address).cls == SUCCESS
    for i in range(number):
        payload = os.urandom(1 + 29 * i)
        client.send_channel(0x4001, payload)
        assert client.wait("channel") == ("channel", 0x4001, payload)
    assert all(source == client.relayed for source, _ in echo.seen)
    return echo, client


class Beside:
    """The kernel's traffic on the same interface: bytes over TCP, like ssh, and queries over UDP to
    a host beyond, like a DNS client, each from a new port that the kernel chooses."""

    def __init__(self, lab):
        self.lab, self.stop, self.copies, self.questions = lab, False, 0, 0
        self.data = os.urandom(BULK)
        with lab.dut.enter():
            self.listener = socket.create_server((SERVER4, 2222))
        self.names = lab.echo(PEER4, 53)
        self.threads = [threading.Thread(target=run) for run in (self.serve, self.copy, self.ask)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.stop = True
        for thread in self.threads:
            thread.join()
        self.listener.close()
        if error[0] is None:
            assert self.copies and self.questions, (self.copies, self.questions)

    def serve(self):
        """An echo server of the kernel's TCP."""
        self.listener.settimeout(0.1)
        while not self.stop:
            try:
                conn = self.listener.accept()[0]
            except TimeoutError:
                continue
            with conn:
                conn.settimeout(20 * labs.SLOW)
                conn.sendall(hashlib.sha256(read_all(conn)).digest())

    def copy(self):
        while not self.stop:
            with self.lab.cli.enter():
                sock = socket.create_connection((SERVER4, 2222), 20 * labs.SLOW)
            with sock:
                sock.sendall(self.data)
                sock.shutdown(socket.SHUT_WR)
                assert read_all(sock) == hashlib.sha256(self.data).digest()
            self.copies += 1

    def ask(self):
        while not self.stop:
            with self.lab.dut.enter():
                sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            with sock:
                sock.settimeout(20 * labs.SLOW)
                sock.connect((PEER4, 53))
                question = os.urandom(40)
                sock.send(question)
                assert sock.recv(100) == question
            self.questions += 1
            time.sleep(0.002)


def read_all(sock):
    out = b""
    while chunk := sock.recv(65536):
        out += chunk
    return out


def side_by_side(lab, server):
    """Relaying in every pair of families, over TCP, too, while the kernel has its own traffic."""
    with Beside(lab) as beside:
        for client_ip in (CLIENT4, CLIENT6):
            for peer_ip in (PEER4, PEER6):
                relays(lab, client_ip, peer_ip)
            server_ip = SERVER6 if ":" in client_ip else SERVER4
            echo, client = lab.echo(PEER4), streams.client(lab, "tcp", client_ip, server=server_ip)
            assert client.allocate().cls == SUCCESS
            assert client.bind(0x4001, echo.address).cls == SUCCESS
            client.send_channel(0x4001, b"by TCP")
            assert client.wait("channel") == ("channel", 0x4001, b"by TCP")
        until(lambda: beside.copies > 1 and beside.questions > 10, 30, "the kernel's traffic")
        for ip, command in ((SERVER4, "ping"), (SERVER6, "ping")):
            lab.cli.run(command, "-c3", "-i0.1", "-W5", ip)
    print(f"meanwhile {beside.copies} copies over TCP, {beside.questions} questions over UDP")


def silent(lab, server):
    """The kernel neither answers the server's packets nor sends errors for them, but does for its
    own."""
    client = lab.cli.udp(CLIENT4)
    with Capture(lab, lab.sw, "d0") as capture:
        for port in (3478, 49152, 60000, 65535):
            client.sendto(b"nobody's", (SERVER4, port))
        client.sendto(b"the kernel's", (SERVER4, 5353))
        relays(lab, CLIENT4, PEER4, 3)
        relays(lab, CLIENT6, PEER6, 3)
        lab.cli.run("ping", "-c1", "-W5", SERVER4)
    errors = [f.data for f in capture.frames if f.data[12:14] == b"\x08\x00" and f.data[23] == 1
              and f.data[26:30] == frames.packed(SERVER4) and f.data[34] == 3]  # fmt: skip
    about = [struct.unpack_from("!H", e, 42 + 22)[0] for e in errors]
    assert about == [5353], about
    replies = [f for f in capture.frames if f.data[12:14] == b"\x08\x00" and f.data[23] == 1
               and f.data[34] == 0]  # fmt: skip
    assert len(replies) == 1, "one host answers a ping"


def neighbours(lab, server):
    """One answer to each ARP request and solicitation: the kernel's."""
    wire = lab.cli.raw("c0")
    for ip in (SERVER4, SERVER6):  # the client's kernel sends no requests meanwhile
        lab.cli.ip("neigh", "replace", ip, "lladdr", labs.DUT_MAC, "dev", "c0", "nud", "permanent")
    with Capture(lab, lab.sw, "d0") as capture:
        wire.send(frames.arp(1, labs.MAC.format(2), CLIENT4, SERVER4))
        wire.send(frames.solicitation(SERVER6))
        lab.cli.run("ping", "-c1", "-W5", SERVER4)  # earlier frames have been captured then
        relays(lab, CLIENT4, PEER4, 1)
    port_mac = bytes.fromhex(labs.DUT_MAC.replace(":", ""))
    answers = [f for f in capture.frames if f.data[12:14] == b"\x08\x06" and f.data[6:12] == port_mac
               and f.data[20:22] == b"\0\2" and f.data[28:32] == frames.packed(SERVER4)]  # fmt: skip
    shown = [f for f in capture.frames if f.data[12:14] == b"\x86\xdd" and f.data[6:12] == port_mac
             and f.data[20] == 58 and f.data[54] == 136]  # fmt: skip
    assert len(answers) == 1 and len(shown) == 1, (len(answers), len(shown))
    for ip in (SERVER4, SERVER6):
        lab.cli.ip("neigh", "del", ip, "dev", "c0")


def fragments(lab, server):
    """The server receives fragmented datagrams whole, and the kernel sends no error about its
    fragments."""
    for client_ip, peer_ip in ((CLIENT4, PEER4), (CLIENT6, PEER6)):
        echo, client = lab.echo(peer_ip), lab.client(ip=client_ip)
        assert client.allocate([family(peer_ip)]).cls == SUCCESS
        assert client.bind(0x4001, echo.address).cls == SUCCESS
        for size in (1600, 4000):
            payload = os.urandom(size)
            client.send_channel(0x4001, payload)
            assert client.wait("channel") == ("channel", 0x4001, payload)


def supers(lab, server):
    """Super-frames, like from a virtual machine's interface that leaves segmentation to the NIC."""
    lab.cli.run("ethtool", "-K", "c0", "gso", "on", "tx", "on", "tx-udp-segmentation", "on")
    lab.sw.run("ethtool", "-K", "c0", "gso", "on", "tx", "on", "rx", "on", "tx-udp-segmentation", "on")
    lab.sw.run("ethtool", "-K", "d0", "gso", "on", "tx", "on", "tx-udp-segmentation", "on")
    lab.sw.run("ethtool", "-K", "br0", "tx-udp-segmentation", "on", check=False)
    echo, client = lab.echo(), lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4001, echo.address).cls == SUCCESS
    before = server.stats()["rx"]
    client.sock.setsockopt(socket.IPPROTO_UDP, 103, 204)  # UDP_SEGMENT
    pieces = [b"\x40\x01\x00\xc8" + bytes([i]) * 200 for i in range(40)]
    with Capture(lab, lab.dut, "d0") as capture:
        client.sock.sendto(b"".join(pieces), client.server)
        client.sock.setsockopt(socket.IPPROTO_UDP, 103, 0)
        got = [client.wait("channel")[2] for _ in pieces]
    lengths = [f.data[16:18] for f in capture.frames if f.data[12:14] == b"\x08\x00"]
    assert (28 + 40 * 204).to_bytes(2, "big") in lengths, "it came whole"
    assert got == [p[4:] for p in pieces]
    assert server.stats()["rx"] >= before + 80
    client.refresh(0)


def ends(lab, sig):
    """A killed server leaves nothing on the interface."""
    server = lab.servers[-1]
    # two queues, and four times as many spare sockets for when the interface is created again
    assert programs(lab) == 1 and sockets(lab) == 10, (programs(lab), sockets(lab))
    if sig == signal.SIGKILL:
        server.process.kill()
        server.process.wait()
        server.remove_leftovers()
    else:
        server.stop()
    assert programs(lab) == 0 and sockets(lab) == 0, (programs(lab), sockets(lab))
    with lab.dut.enter():  # the kernel has the ports again
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((SERVER4, 3478))
    with sock:
        sock.settimeout(5 * labs.SLOW)
        lab.cli.udp(CLIENT4).sendto(b"back", (SERVER4, 3478))
        assert sock.recv(100) == b"back"


def check(lab, server):
    """The output of --check for the configuration of a server."""
    return lab.dut.run(servers.BINARY, "--check", "-c", server.path, check=False)


def mistakes(lab, server):
    """A configuration that cannot be shared is refused with a message."""
    lab.dut.ip(*"link add down0 type veth peer name part0".split())
    lab.dut.ip("link", "add", "br9", "type", "bridge")
    lab.dut.ip("link", "set", "part0", "master", "br9", "up")
    rows = (
        ("packet:none0", "interface none0: No such device (see `ip link`)"),
        ("packet:down0", "interface down0 is down: bring it up (`ip link set down0 up`)"),
        ("packet:lo", "lo is the loopback"),
        ("packet:part0", "part0 is a part of br9, which has its addresses: write packet:br9"),
    )
    for device, says in rows:
        text = server.text.replace("packet:d0,queues=2", device)
        text = text.replace(server.prefix, server.prefix + "x")
        path = os.path.join(lab.dir, "wrong.yaml")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        done = subprocess.run(lab.dut.argv(servers.BINARY, "-c", path), capture_output=True,
            text=True, check=False, timeout=60 * labs.SLOW)  # fmt: skip
        assert done.returncode == 1 and says in done.stderr, (device, done.stderr[-600:])
    without = subprocess.run(
        lab.dut.argv("setpriv", "--bounding-set", "-bpf,-sys_admin", servers.BINARY, "-c", server.path),
        capture_output=True, text=True, check=False, timeout=60 * labs.SLOW)  # fmt: skip
    assert without.returncode == 1 and "CAP_BPF" in without.stderr, without.stderr[-600:]


def ranges(lab, server):
    """Ports that the kernel may choose for its own sockets are not relay ports."""
    sysctl = lambda setting: lab.dut.run("sysctl", "-qw", "net.ipv4." + setting)
    sysctl("ip_local_port_range=32768 60999")
    done = subprocess.run(lab.dut.argv(servers.BINARY, "--check", "-c", server.path),
        capture_output=True, text=True, check=False)  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "ip_local_reserved_ports=49152-65535" in said, said
    until(lambda: "gives ports 32768 to 60999" in server.log(), 30, "the warning of a running server")
    sysctl("ip_local_reserved_ports=49152-65535")
    done = subprocess.run(lab.dut.argv(servers.BINARY, "--check", "-c", server.path),
        capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def main(lab):
    labs.need_own_server()
    try:
        assert programs(lab) == 0
    except AssertionError:
        raise labs.Skip("this kernel has no TCX") from None
    server = lab.server(STREAMS)
    assert "capabilities: none" in server.log() or labs.SANITIZED
    side_by_side(lab, server)
    silent(lab, server)
    neighbours(lab, server)
    fragments(lab, server)
    server.check(allow=["peer-no-allocation", "no-allocation"])
    ends(lab, signal.SIGTERM)
    lab.server(STREAMS)
    relays(lab, CLIENT4, PEER4, 3)
    ends(lab, signal.SIGKILL)
    mistakes(lab, server)
    server = lab.server(STREAMS)
    supers(lab, server)
    ranges(lab, server)


if __name__ == "__main__":
    labs.run(main, port="packet")
