# SPDX-License-Identifier: BSD-3-Clause
"""TCP and TLS for the lab: the server's kernel on the segment, and a TURN client over both.

The server's own namespace gets an interface k0 on the segment, 10.99.0.5 and fd99::5. The port that
serves UDP and relays is separate.
"""

import contextlib
import os
import select
import socket
import ssl
import struct
import subprocess
import time

import lab as labs
import turnlib
from lab import CLIENT4, SERVER4, SERVER6
from turnlib import HEADER_LEN, StunError

V4, V6 = "10.99.0.5", "fd99::5"
PORTS = {"tcp": 3478, "tls": 5349, "auto": 443}


def join(lab):
    """Puts the server's kernel on the segment."""
    lab.attach(lab.dut, "k0", 5)
    lab.dut.run("sysctl", "-qw", "net.ipv6.conf.k0.accept_dad=0")
    for address in (V4, V6):
        lab.add_address(lab.dut, "k0", address)
    lab.dut.ip("link", "set", "k0", "up")


def certificate(lab, name, file="cert"):
    """Creates a self-signed certificate for a name in the files that config() names."""
    cert, key = (os.path.join(lab.dir, f"{file}.{kind}") for kind in ("pem", "key"))
    labs.command(
        *"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2".split(),
        *("-subj", f"/CN={name}", "-out", cert, "-keyout", key),
    )
    return cert, key


def signed_certificate(lab, name, file):
    """Creates a certificate for a subjectAltName, signed by a new CA, and replaces the one of
    certificate(). Returns the path of the CA's certificate.
    """
    cert, key = (os.path.join(lab.dir, f"{file}.{kind}") for kind in ("pem", "key"))
    ca, request = (os.path.join(lab.dir, f"{file}-{kind}") for kind in ("ca.pem", "request"))
    new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split()
    labs.command(*("openssl", "req", "-x509", *new, "-days", "2", "-subj", "/CN=lab CA"),
        *("-addext", "keyUsage=critical,keyCertSign", "-out", ca, "-keyout", ca + ".key"))  # fmt: skip
    labs.command(*("openssl", "req", *new, "-subj", "/CN=turn", "-addext", f"subjectAltName={name}"),
        *("-out", request, "-keyout", key))  # fmt: skip
    labs.command(*("openssl", "x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca + ".key"),
        *("-days", "2", "-copy_extensions", "copy", "-out", cert))  # fmt: skip
    return ca


def config(lab, transports=("tcp",), tls=None, **streams):
    """Changes to the lab's configuration: listeners of UDP and of these transports."""
    listeners = [{"transport": "udp", "address": a, "port": 3478} for a in (SERVER4, SERVER6)]
    listeners += [
        {"transport": transport, "address": address, "port": PORTS[transport]}
        for transport in transports
        for address in (V4, V6)
    ]
    out = {"listeners": listeners, "streams": streams}
    if set(transports) - {"tcp"}:
        cert, key = certificate(lab, "first")
        out["tls"] = {"certificate": cert, "key": key, **(tls or {})}
    return out


def counters(server):
    return server.telemetry.ask("/slipring/streams")


def counted(server, name, n=1, timeout=3):
    """Waits until a counter equals n."""
    labs.until(lambda: counters(server)[name] >= n, timeout, f"{name} is {n}")
    assert counters(server)[name] == n, counters(server)


def connect(lab, transport="tcp", ip=CLIENT4, port=0, rcvbuf=0, server=None):
    """A connected socket of the client host, to the server's interface k0 or another address."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with lab.cli.enter():
        sock = socket.socket(family, socket.SOCK_STREAM)
    lab.cleanup.callback(sock.close)
    sock.settimeout(5 * labs.SLOW)
    if rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    sock.bind((ip, port))
    sock.connect((server or (V6 if ":" in ip else V4), PORTS[transport]))
    return sock


def context(**changes):
    """TLS of a client that accepts any certificate."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    for name, value in changes.items():
        setattr(tls, name, value)
    return tls


def over_tls(sock, tls=None):
    return (tls or context()).wrap_socket(sock)


def no_renegotiation(lab, address, *options):
    """openssl s_client requests a renegotiation, and the server refuses it."""
    argv = ("openssl", "s_client", "-connect", address, *options)
    pipe = subprocess.PIPE
    process = lab.popen(lab.cli, *argv, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, bufsize=0)
    process.stdin.write(b"R\n")
    said = b""

    def told():
        nonlocal said
        more = None
        while more != b"" and select.select([process.stdout], [], [], 0)[0]:
            more = process.stdout.read(65536)
            said += more
        if b"no renegotiation" in said.partition(b"RENEGOTIATING")[2]:
            return True
        assert more != b"", f"s_client exited: {said.decode(errors='replace')}"
        return False

    labs.until(told, 5, "no renegotiation")
    process.communicate()


def pad(message):
    return message + b"\0" * (-len(message) % 4)


def is_closed(sock, timeout=5):
    """True if the other side closes or resets within timeout."""
    sock.settimeout(timeout * labs.SLOW)
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        try:
            while sock.recv(65536):
                pass
        except TimeoutError:
            return False
    return True


def refused(lab, ip=CLIENT4):
    """True if the server resets a connection during or right after the handshake."""
    try:
        return is_closed(connect(lab, ip=ip))
    except ConnectionError:
        return True


class Client(turnlib.Client):
    """A TURN client on a connected socket, plain or TLS. It does not retransmit (RFC 8489 6.2.2)."""

    RTO = (5.0 * labs.SLOW,)

    def __init__(self, sock, auth=None):
        super().__init__(sock, None, auth or labs.ivan())
        sock.settimeout(5 * labs.SLOW)  # the base class has made it non-blocking
        self.bytes = b""

    def send_raw(self, data):
        self.sock.sendall(pad(data))

    def receive(self, timeout):
        end = time.monotonic() + max(0, timeout)
        while (item := self.whole()) is None:
            self.sock.settimeout(max(0.001, end - time.monotonic()))
            try:
                more = self.sock.recv(65536)
            except (TimeoutError, ssl.SSLWantReadError):
                return None
            finally:
                self.sock.settimeout(5 * labs.SLOW)
            if not more:
                raise ConnectionError("closed by the server")
            self.bytes += more
        return self.classify(item)

    def whole(self):
        """The first message of the stream without its padding, or None while it is incomplete."""
        if len(self.bytes) < 4:
            return None
        size = struct.unpack_from("!H", self.bytes, 2)[0]
        size += HEADER_LEN if self.bytes[0] < 4 else 4
        padded = size + -size % 4
        if len(self.bytes) < padded:
            return None
        message, self.bytes = self.bytes[:padded], self.bytes[padded:]
        if self.STRICT and any(message[size:]):
            raise StunError("padding is not zero")
        return message[:size]


def client(lab, transport="tcp", ip=CLIENT4, tls=None, server=None):
    """A connected TURN client."""
    sock = connect(lab, transport, ip, server=server)
    if transport == "tls" or tls is not None:
        sock = over_tls(sock, tls)
    return Client(sock)
