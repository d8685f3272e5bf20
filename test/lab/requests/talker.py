# SPDX-License-Identifier: BSD-3-Clause
"""A client of one server that sends one message and returns the outcome, silence included.

An answer to a later request on the same 5-tuple proves silence: first to a Binding request, then to
a request with credentials, because a server may look up users in parallel.
"""

import contextlib
import socket
import time
from dataclasses import dataclass

import lab as labs
import streams
import turnlib
from turnlib import (
    ALLOCATE,
    BINDING,
    DATA_ATTR,
    MESSAGE_INTEGRITY,
    NONCE,
    REALM,
    REFRESH,
    REQUEST,
    REQUESTED_TRANSPORT,
    SEND,
    SUCCESS,
    UDP,
    USERNAME,
    XOR_PEER_ADDRESS,
    attr,
    build,
    header,
    integrity,
    long_term_key,
    new_tid,
    xor_address,
)

KINDS = {turnlib.REQUEST: "request", turnlib.INDICATION: "indication", SUCCESS: "success"}
KINDS[turnlib.ERROR] = "error"
WAIT, TRIES, ROUNDS = 1.0, 4, 2


@dataclass(frozen=True)
class Outcome:
    """The outcome of a message. verdict: "error 401", "success", "silence", "closed", "deaf" (the
    server has stopped answering), or the relayed data. attrs: the types of the answer's attributes.
    granted: the lifetime, and the family of the relayed address."""

    verdict: str
    attrs: frozenset = frozenset()
    granted: tuple = ()

    @property
    def said(self):
        """The verdict, and the granted values."""
        return " ".join([self.verdict, *self.granted])

    def __str__(self):
        names = " ".join(f"{kind:04x}" for kind in sorted(self.attrs))
        return " ".join([self.verdict, *([f"[{names}]"] if names else []), *map(str, self.granted)])


SILENCE, CLOSED, DEAF = Outcome("silence"), Outcome("closed"), Outcome("deaf")


@dataclass(frozen=True)
class Server:
    """The endpoints of one of the two servers: addresses of UDP and of TCP by family; its relay
    address; the first of the ports that clients use with it."""

    name: str
    udp: dict
    tcp: dict
    relay_ip: str
    ports: int


class Talker:
    """One 5-tuple to one server. end is the client's (ip, port)."""

    def __init__(self, lab, server, transport, end):
        family = 6 if ":" in end[0] else 4
        self.server, self.transport = server, transport
        kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
        with lab.cli.enter():
            self.sock = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, kind)
        self.sock.settimeout(5 * labs.SLOW)
        self.sock.bind(end)
        if transport == "udp":
            self.client = turnlib.Client(self.sock, (server.udp[family], 3478), labs.ivan())
        else:
            self.sock.connect((server.tcp[family], 3478))
            self.client = streams.Client(self.sock, labs.ivan())
        self.client.STRICT = server.name == "slipring"
        self.auth = self.client.auth

    def close(self):
        self.sock.close()

    # -- states

    def reach(self, state):
        """Consecutive states: "", challenged, allocated, permitted, bound."""
        self.state = state
        if state:
            self.client.challenge()
            assert self.client.refresh().code == 437  # from here on its key is cached
        if state in ("allocated", "permitted", "bound"):
            assert self.client.allocate().cls == SUCCESS
        if state in ("permitted", "bound"):
            assert self.client.permit(PEER).cls == SUCCESS
        if state == "bound":
            assert self.client.bind(CHANNEL, PEER).cls == SUCCESS

    # -- messages

    def message(self, method, attrs=(), cls=REQUEST, **changes):
        """A signed message. changes: name, password, realm, nonce instead of the correct ones (None
        omits the attribute), signed=False, behind: attributes after the integrity, tid, mark: a
        FINGERPRINT with these bytes, or True for a correct one."""
        values = {"name": self.auth.user, "realm": self.auth.realm, "nonce": self.auth.nonce}
        values.update({name: changes[name] for name in values if name in changes})
        encoded = {n: v.encode() if isinstance(v, str) else v for n, v in values.items()}
        kinds = {"name": USERNAME, "realm": REALM, "nonce": NONCE}
        attrs = list(attrs) + [(kinds[n], v) for n, v in encoded.items() if v is not None]
        body = b"".join(a if isinstance(a, bytes) else attr(*a) for a in attrs)
        tid = changes.get("tid") or new_tid()
        data = header(cls, method, len(body), tid) + body
        if changes.get("signed", True):
            password = changes.get("password", self.auth.password)
            key = long_term_key(self.auth.user, self.auth.realm or "", password)
            data += attr(MESSAGE_INTEGRITY, integrity(data, key)[: changes.get("short", 20)])
        data += b"".join(attr(*a) for a in changes.get("behind", ()))
        data = data[:2] + (len(data) - 20).to_bytes(2, "big") + data[4:]
        if changes.get("mark"):
            data = data[:2] + (len(data) - 12).to_bytes(2, "big") + data[4:]
            right = turnlib.fingerprint(data)
            data += attr(turnlib.FINGERPRINT, right if changes["mark"] is True else changes["mark"])
        return data

    # -- outcomes

    def outcome(self, data):
        with contextlib.suppress(ConnectionError, BrokenPipeError):
            self.client.drain()
            self.client.send_raw(data)
            return self.heard(data[8:20])
        return CLOSED

    def fences(self):
        """Requests that are always answered. The last one, if there is a permission, goes to the
        peer and back. A server that looks up users in several threads may reorder answers, so they
        are repeated."""
        for _ in range(ROUNDS):
            yield build(REQUEST, BINDING)
            if self.auth.nonce:
                yield self.message(REFRESH)
            else:
                yield build(REQUEST, ALLOCATE, [(REQUESTED_TRANSPORT, UDP)])
        if self.state in ("permitted", "bound"):
            tid = new_tid()
            named = [(XOR_PEER_ADDRESS, xor_address(PEER, tid)), (DATA_ATTR, tid)]
            yield build(turnlib.INDICATION, SEND, named, tid)

    def heard(self, tid):
        """The first reaction to a message, or silence once all fences are answered."""
        relayed = None
        for fence in self.fences():
            item = self.fenced(fence, tid)
            if item and item.verdict not in ("data", "channel"):
                return item
            relayed = relayed or item
        return relayed or SILENCE

    def fenced(self, fence, tid):
        """An outcome, relayed data that arrived before the fence's answer, or None."""
        over_udp, fence_tid = self.transport == "udp", fence[8:20]
        relayed = None
        for _ in range(TRIES if over_udp else 1):
            self.client.send_raw(fence)
            end = time.monotonic() + WAIT * labs.SLOW * (1 if over_udp else TRIES)
            while (item := self.client.receive(end - time.monotonic())) is not None:
                kind, message, payload = item
                if kind in ("data", "channel") and payload == fence_tid:
                    return relayed
                if kind in ("data", "channel"):
                    relayed = relayed or Outcome(kind)
                elif kind == "stun" and message.tid == fence_tid:
                    return relayed
                elif kind == "stun" and message.tid == tid:
                    return outcome_of(message)
        return DEAF


def outcome_of(message):
    code = f" {message.code}" if message.code else ""
    granted = () if message.lifetime is None else (f"{message.lifetime} s",)
    relayed = message.address(turnlib.XOR_RELAYED_ADDRESS)
    if relayed:
        granted += ("IPv6" if ":" in relayed[0] else "IPv4",)
    return Outcome(KINDS[message.cls] + code, frozenset(a[0] for a in message.attrs), granted)


PEER = (labs.PEER4, 4600)
CHANNEL = 0x4001
