# SPDX-License-Identifier: BSD-3-Clause
"""DTLS clients for the lab: libssl over a connected UDP socket, called by ctypes. Python has no
DTLS."""

import ctypes
import ctypes.util
import os
import socket
import struct
import time

import lab as labs
import streams
import turnlib
from lab import CLIENT4, SERVER4, SERVER6

PORT = 5349  # for DTLS only; on port 3478 DTLS shares the port with UDP
WANT_READ, ZERO_RETURN = 2, 6  # results of SSL_get_error
SET_CONNECTED, GET_TIMEOUT, HANDLE_TIMEOUT = 32, 73, 74
SET_MTU, OPTIONS, NO_QUERY_MTU = 17, 32, 0x1000

ssl = ctypes.CDLL("libssl.so.3")
crypto = ctypes.CDLL("libcrypto.so.3")
for library, names in (
    (ssl, "DTLS_client_method SSL_CTX_new SSL_new SSL_get1_session SSL_get_version"),
    (crypto, "BIO_new_dgram"),
):
    for name in names.split():
        getattr(library, name).restype = ctypes.c_void_p
ssl.SSL_get_version.restype = ctypes.c_char_p


def call(function, *args):
    """Calls libssl; pointers are Python integers. Clears OpenSSL's error queue first."""
    crypto.ERR_clear_error()
    return function(*(ctypes.c_void_p(a) if isinstance(a, int) and a > 1 << 31 else a for a in args))


class Closed(ConnectionError):
    """The server closed: close_notify or a fatal alert."""


class Session:
    """A DTLS session of a client."""

    def __init__(self, sock, server, resume=None):
        self.sock = sock
        sock.connect(server)
        sock.setblocking(False)
        self.context = ssl.SSL_CTX_new(ctypes.c_void_p(ssl.DTLS_client_method()))
        self.ssl = call(ssl.SSL_new, self.context)
        bio = crypto.BIO_new_dgram(sock.fileno(), 0)
        peer = ctypes.create_string_buffer(128)
        struct.pack_into("=H", peer, 0, sock.family)
        call(crypto.BIO_ctrl, bio, SET_CONNECTED, ctypes.c_long(0), peer)
        call(ssl.SSL_set_bio, self.ssl, bio, bio)
        call(ssl.SSL_set_options, self.ssl, ctypes.c_uint64(NO_QUERY_MTU))
        call(ssl.SSL_ctrl, self.ssl, SET_MTU, ctypes.c_long(1200), None)
        if resume:
            call(ssl.SSL_set_session, self.ssl, resume)

    def failed(self, rc):
        """Raises, unless the call would only block."""
        error = ssl.SSL_get_error(ctypes.c_void_p(self.ssl), rc)
        if error != WANT_READ:
            raise Closed(f"SSL_get_error {error}")

    def wait(self, end):
        """Waits until there is something to read or to retransmit. False after the end time."""
        left = min(end - time.monotonic(), 0.05)
        self.sock.settimeout(max(left, 0.001))
        try:
            self.sock.recv(1, socket.MSG_PEEK)
        except (TimeoutError, ConnectionError):
            call(ssl.SSL_ctrl, self.ssl, HANDLE_TIMEOUT, ctypes.c_long(0), None)
        self.sock.setblocking(False)
        return time.monotonic() < end

    def shake(self, timeout=5):
        end = time.monotonic() + timeout * labs.SLOW
        late = False
        while (rc := call(ssl.SSL_connect, self.ssl)) != 1:
            self.failed(rc)
            if late:
                raise turnlib.Silence("the handshake does not finish")
            late = not self.wait(end)
        return self

    def send(self, data):
        if (rc := call(ssl.SSL_write, self.ssl, data, len(data))) != len(data):
            self.failed(rc)
            raise AssertionError("a message was not sent")

    def receive(self, timeout):
        """A message, or None after the timeout."""
        end = time.monotonic() + timeout
        buf = ctypes.create_string_buffer(16384)
        late = False
        while (rc := call(ssl.SSL_read, self.ssl, buf, len(buf))) <= 0:
            self.failed(rc)
            if late:
                return None
            late = not self.wait(end)  # a message may have arrived just before
        return buf.raw[:rc]

    def version(self):
        return call(ssl.SSL_get_version, self.ssl).decode()

    def resumed(self):
        return call(ssl.SSL_session_reused, self.ssl) == 1

    def ticket(self):
        return call(ssl.SSL_get1_session, self.ssl)

    def close(self, notify=True):
        if self.ssl and notify:
            call(ssl.SSL_shutdown, self.ssl)
        elif self.ssl:  # libssl would discard a session that was not shut down
            call(ssl.SSL_set_shutdown, self.ssl, 3)
        if self.ssl:
            call(ssl.SSL_free, self.ssl)
            call(ssl.SSL_CTX_free, self.context)
        self.ssl = None
        self.sock.close()


class Client(turnlib.Client):
    """A TURN client over DTLS."""

    RTO = (1.0 * labs.SLOW,) * 3

    def __init__(self, session, auth=None):
        super().__init__(session.sock, None, auth or labs.ivan())
        self.session = session

    def send_raw(self, data):
        self.session.send(data)

    def receive(self, timeout):
        data = self.session.receive(timeout)
        return None if data is None else self.classify(data)

    def close(self, notify=True):
        self.session.close(notify)


def session(lab, ip=CLIENT4, server_port=PORT, port=0, resume=None):
    server = (SERVER6 if ":" in ip else SERVER4, server_port)
    made = Session(lab.cli.udp(ip, port), server, resume)
    lab.cleanup.callback(made.close)
    return made


def client(lab, ip=CLIENT4, server_port=PORT, port=0, resume=None):
    """A client whose handshake is done."""
    return Client(session(lab, ip, server_port, port, resume).shake())


def config(lab, **dtls):
    """Changes to the lab's configuration: UDP and DTLS on 3478, DTLS alone on 5349."""
    cert, key = streams.certificate(lab, "first")
    listeners = [
        {"transport": transport, "address": address, "port": port}
        for address in (SERVER4, SERVER6)
        for transport, port in (("udp", 3478), ("dtls", 3478), ("dtls", PORT))
    ]
    return {"listeners": listeners, "tls": {"certificate": cert, "key": key}, "dtls": dtls}


def counters(server):
    return server.counters("/slipring/dtls")


def hello(cookie=b"", random=None):
    """A hand-made ClientHello."""
    body = b"\xfe\xfd" + (random or os.urandom(32)) + b"\0" + bytes([len(cookie)]) + cookie
    body += b"\0\2\xc0\x2b" + b"\1\0"  # one cipher suite, no compression
    body += bytes.fromhex("0016 000a00040002 0017 000b00020100 000d00040002 0403")  # extensions
    message = b"\1" + len(body).to_bytes(3, "big") + b"\0\0" + b"\0\0\0" + len(body).to_bytes(3, "big")
    return record(22, message + body)


def record(kind, body, epoch=0, number=0):
    return (
        bytes([kind]) + b"\xfe\xfd" + struct.pack("!HHI", epoch, 0, number)
        + struct.pack("!H", len(body)) + body
    )
