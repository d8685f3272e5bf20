# SPDX-License-Identifier: BSD-3-Clause
"""A client of DPDK's telemetry socket: one SOCK_SEQPACKET exchange per question, all of them within
one deadline. Every answer is checked."""

import json
import os
import socket
import time

ANSWER_MAX = 1 << 17  # bytes; DPDK sends 16 KiB at most
UNIT, USUAL = "/run/slipring/dpdk", "/var/run/dpdk"  # EAL's directories: conf/slipring.service, default


class Dead(Exception):
    """There is no answer, or not in time."""


class Bad(Exception):
    """One answer is unusable; the next one may be good."""


def socket_paths(directory, prefix):
    """The possible paths of the socket, best first. EAL uses $RUNTIME_DIRECTORY, which systemd sets for a unit
    with RuntimeDirectory=; --share runs in that unit, too."""
    places = [directory] if directory else [UNIT, USUAL]
    if not directory and os.environ.get("RUNTIME_DIRECTORY"):
        places.insert(0, os.environ["RUNTIME_DIRECTORY"] + "/dpdk")
    return [f"{place}/{prefix}/dpdk_telemetry.v2" for place in dict.fromkeys(places)]


class Telemetry:
    """A connection to the first of these paths where a server answers. Use it as a context manager."""

    def __init__(self, paths, timeout):
        self.deadline = time.monotonic() + timeout
        failed = []
        for self.path in paths:
            try:
                return self.connect(self.path)
            except Dead as dead:
                failed.append(str(dead))
        raise Dead("; ".join(failed))

    def connect(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.limit()
            self.sock.connect(path)
            self.greeting = self.receive()
        except Bad as bad:
            self.sock.close()
            raise Dead(f"{path}: {bad}") from None
        except OSError as error:
            self.sock.close()
            raise Dead(f"{path}: {error.strerror or error}") from None
        except Dead as dead:
            self.sock.close()
            raise Dead(f"{path}: {dead}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def limit(self):
        """Limits the next call by the deadline."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Dead("no answer in time")
        self.sock.settimeout(left)

    def receive(self):
        self.limit()
        answer, _, flags, _ = self.sock.recvmsg(ANSWER_MAX)
        if flags & socket.MSG_TRUNC:
            raise Bad(f"more than {ANSWER_MAX} bytes")
        if not answer:
            raise Dead("the connection was closed")
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise Bad(f"not JSON: {error}") from None
        if not isinstance(value, dict):
            raise Bad("not an object")
        return value

    def ask(self, command):
        """The value of the answer. Bad if the answer is invalid, or reports an error."""
        try:
            self.limit()
            self.sock.send(command.encode())
            answer = self.receive()
        except OSError as error:
            raise Dead(str(error.strerror or error or "no answer in time")) from None
        if list(answer) != [command.split(",")[0]] and list(answer) != [command]:
            raise Bad("the answer to another question")
        (value,) = answer.values()
        if value is None or (isinstance(value, dict) and "error" in value):
            raise Bad("not answered")
        return value
