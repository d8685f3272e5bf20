# SPDX-License-Identifier: BSD-3-Clause
"""Load balancers for the lab that speak the PROXY protocol: a minimal one, and haproxy."""

import contextlib
import os
import select
import socket
import struct
import threading

import lab as labs

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
LOCAL, PROXY = 0x20, 0x21


def packed(ip):
    return socket.inet_pton(socket.AF_INET6 if ":" in ip else socket.AF_INET, ip)


def header(client, server, command=PROXY, family=None, tlvs=b""):
    """The header for a client and the address that it connected to, both (ip, port)."""
    ips = [packed(where[0]) for where in (client, server)]
    if len(ips[0]) != len(ips[1]):  # dual-stack sockets report them like this
        ips = [ip if len(ip) == 16 else b"\0" * 10 + b"\xff\xff" + ip for ip in ips]
    body = b"".join(ips) + struct.pack("!HH", client[1], server[1]) + tlvs
    family = (0x11 if len(ips[0]) == 4 else 0x21) if family is None else family
    return SIGNATURE + struct.pack("!BBH", command, family, len(body)) + body


class Balancer(threading.Thread):
    """Accepts connections at an address of a namespace, and opens one to the server for each. It
    first sends header(client, server)."""

    def __init__(self, lab, ns, address, server, header=header, source=None):
        super().__init__(daemon=True)
        self.ns, self.server, self.header, self.source = ns, server, header, source
        with ns.enter():
            self.sock = socket.create_server(
                address, family=socket.AF_INET6 if ":" in address[0] else socket.AF_INET, backlog=64
            )
        self.address, self.over = self.sock.getsockname()[:2], threading.Event()
        self.pairs = {}  # both directions
        lab.cleanup.callback(self.end)
        self.start()

    def accept(self):
        client, client_addr = self.sock.accept()
        family = socket.AF_INET6 if ":" in self.server[0] else socket.AF_INET
        with self.ns.enter():
            sock = socket.socket(family)
        if self.source:
            sock.bind((self.source, 0))
        sock.connect(self.server)
        sock.sendall(self.header(client_addr[:2], client.getsockname()[:2]))
        self.pairs |= {client: sock, sock: client}

    def forward(self, sock):
        partner, data = self.pairs[sock], b""
        with contextlib.suppress(OSError):
            if data := sock.recv(65536):
                partner.sendall(data)
                return
        for end in (sock, partner):
            self.pairs.pop(end)
            end.close()

    def run(self):
        while not self.over.is_set():
            for sock in select.select([self.sock, *self.pairs], [], [], 0.1)[0]:
                if sock is self.sock:
                    self.accept()
                elif sock in self.pairs:
                    self.forward(sock)

    def end(self):
        self.over.set()
        self.join()
        for sock in (self.sock, *self.pairs):
            sock.close()


HAPROXY = """
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    unique-id-format %ci:%cp
listen turn
    bind {bind}
    server turn {server} {send} check check-send-proxy inter 100
"""


V1, V2 = "send-proxy", "send-proxy-v2 proxy-v2-options crc32c,unique-id"


def haproxy(lab, ns, address, server, send=V2):
    """haproxy between an address of a namespace and the server, which it checks periodically.
    Returns the process.
    """
    path = os.path.join(lab.dir, f"haproxy-{address[1]}.cfg")
    with open(path, "w") as file:
        ends = {"bind": f"{address[0]}:{address[1]}", "server": f"{server[0]}:{server[1]}"}
        file.write(HAPROXY.format(send=send, **ends))
    log = open(path + ".log", "wb")  # the process owns it
    process = lab.popen(ns, "haproxy", "-db", "-f", path, stdout=log, stderr=log)

    def listens():
        with ns.enter(), socket.socket() as sock:
            return sock.connect_ex(address) == 0

    labs.until(listens, 5, "haproxy listens")
    return process
