#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: one process per client; unit tests have these errors under ASan (test_tls_offer)
"""Each reason for which a TLS handshake fails, provoked by a real client (openssl, Python's ssl),
and found by the operator by address, in the records and in the log, with the client's offer.
"""

import contextlib
import os
import ssl
import time

import lab as labs
import reasons
import streams
from reasons import Cases
from turnlib import BINDING, REQUEST, build

tls = Cases()
NAME = "turn.example"


def fails(me, context, name=NAME):
    """A client that trusts no CA except those of its context gives up or is refused."""
    sock = streams.connect(me.lab, "tls", ip=me.ip)
    with contextlib.suppress(ssl.SSLError, ConnectionError):
        sock = context.wrap_socket(sock, server_hostname=name)
        sock.recv(1)  # with TLS 1.3 the client finishes before the server
        raise AssertionError("the handshake is complete")
    sock.close()


def offered(me, text):
    """The client's offer in the record."""
    labs.until(lambda: [r for r in labs.records(me.server.config["records"]["file"])
        if r.get("client", "").startswith(me.ip + ":") and r.get("offered") == text], 5, text)  # fmt: skip


def openssl(me, *options):
    """openssl s_client, with an error if it rejects the certificate."""
    where = ("-connect", f"{streams.V4}:{streams.PORTS['tls']}", "-bind", me.ip)
    me.lab.cli.run("openssl", "s_client", *where, "-verify_return_error", *options, check=False, input="Q\n")


def file(me, name):
    return os.path.join(me.lab.dir, name)


@tls.case(named=False)
def tls_unknown_ca(me):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    fails(me, context)
    offered(me, f"1.2-1.3 sni={NAME}")


@tls.case(named=False)
def tls_bad_certificate(me):
    """The certificate is for another name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(file(me, "cert.pem"))
    fails(me, context, "other.example")


@tls.case(named=False)
def tls_expired(me):
    openssl(me, "-CAfile", file(me, "cert.pem"), "-attime", str(int(time.time()) + 10**8))


@tls.case(named=False)
def tls_certificate(me):
    openssl(me, "-CAfile", file(me, "cert.pem"), "-purpose", "timestampsign")


@tls.case(named=False)
def tls_version(me):
    openssl(me, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-servername", NAME)
    offered(me, f"1.1 sni={NAME}")


@tls.case(named=False)
def tls_alpn(me):
    context = streams.context()
    context.set_alpn_protocols(["h2", "a\\b\n,c"])
    fails(me, context)
    offered(me, f"1.2-1.3 alpn=h2,a\\x5cb\\x0a\\x2cc sni={NAME}")


@tls.case(named=False)
def tls_cipher(me):
    context = streams.context(maximum_version=ssl.TLSVersion.TLSv1_2)
    context.set_ciphers("AES128-GCM-SHA256")
    fails(me, context)


@tls.case(named=False)
def tls_plain(me):
    sock = streams.connect(me.lab, "tls", ip=me.ip)
    sock.sendall(build(REQUEST, BINDING))
    assert streams.is_closed(sock)


@tls.case(named=False)
def tls_left(me):
    sock = streams.connect(me.lab, "tls", ip=me.ip)
    sock.sendall(b"\x16\x03\x01\x02\0\x01\0\x01\xfc")
    sock.close()


@tls.case(named=False)
def handshake_failed(me):
    sock = streams.connect(me.lab, "tls", ip=me.ip)
    sock.sendall(b"\x16\x03\x01\0\x05hello")
    assert streams.is_closed(sock)


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    lab.dut.ip("route", "add", "10.99.0.0" + reasons.NETWORK, "dev", "k0")
    config = streams.config(lab, ("tls",))
    server = lab.server(reasons.config(lab, "streams", **config))
    reasons.check(lab, server, tls, "connection-refused")
    reasons.complete("lib/stream/public/stream_refusals.h", "STREAM_TLS_REFUSALS", (tls,), {})


if __name__ == "__main__":
    labs.run(main)
