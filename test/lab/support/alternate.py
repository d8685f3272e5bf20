# SPDX-License-Identifier: BSD-3-Clause
"""Alternate servers: a coturn that knows the same user, and the servers that an answer names."""

import os
import struct

import turnlib
from lab import PEER4, until


def coturn(lab, cert=None, key=None):
    """Starts coturn in the peers' namespace on the usual ports: UDP, and with a certificate TCP,
    TLS and DTLS."""
    secure = ("--cert", cert, "--pkey", key) if cert else ("--no-tls", "--no-dtls", "--no-tcp")
    with open(os.path.join(lab.dir, "coturn-alternate.log"), "wb") as log:
        lab.popen(
            lab.peer, "turnserver", "-n", "--lt-cred-mech", "--user=ivan:pw", "--realm=turn.test",
            *secure, "--no-cli", f"--listening-ip={PEER4}", f"--relay-ip={PEER4}",
            "--log-file=stdout", "--simple-log", f"--pidfile={lab.dir}/alternate.pid",
            f"--userdb={lab.dir}/alternate.db", stdout=log, stderr=log,
        )  # fmt: skip
    for port in (3478, 5349)[: 2 if cert else 1]:
        listens = lambda: lab.peer.run("ss", "-lnuH", f"src {PEER4} and sport = {port}")
        until(listens, 15, "coturn listens")


def named(answer):
    """The servers that a 300 answer names, in the format of MAPPED-ADDRESS (RFC 8489 14.1)."""
    found = []
    for kind, value, _ in answer.attrs:
        if kind == turnlib.ALTERNATE_SERVER:
            zero, family, port, packed = *struct.unpack("!BBH", value[:4]), value[4:]
            assert zero == 0 and family == (1 if len(packed) == 4 else 2), value
            found.append((".".join(map(str, packed)) if family == 1 else packed.hex(), port))
    return found
