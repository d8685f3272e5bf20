# SPDX-License-Identifier: BSD-3-Clause
"""A small, exact STUN and TURN client (RFC 8489, RFC 8656), written from the RFCs.

It shares no code with the server, builds valid and invalid messages byte for byte, and checks every
answer: transaction id, integrity, fingerprint, zero padding.
"""

import base64
import binascii
import contextlib
import hashlib
import hmac
import ipaddress
import os
import select
import socket
import struct
import time
from dataclasses import dataclass

COOKIE = 0x2112A442
HEADER_LEN = 20

REQUEST, INDICATION, SUCCESS, ERROR = range(4)
BINDING, ALLOCATE, REFRESH, SEND, DATA, CREATE_PERMISSION, CHANNEL_BIND = 1, 3, 4, 6, 7, 8, 9
CONNECT, CONNECTION_BIND, CONNECTION_ATTEMPT = 10, 11, 12  # RFC 6062

MAPPED_ADDRESS = 0x0001
USERNAME = 0x0006
MESSAGE_INTEGRITY = 0x0008
ERROR_CODE = 0x0009
UNKNOWN_ATTRIBUTES = 0x000A
CHANNEL_NUMBER = 0x000C
LIFETIME = 0x000D
XOR_PEER_ADDRESS = 0x0012
DATA_ATTR = 0x0013
REALM = 0x0014
NONCE = 0x0015
XOR_RELAYED_ADDRESS = 0x0016
REQUESTED_ADDRESS_FAMILY = 0x0017
EVEN_PORT = 0x0018
REQUESTED_TRANSPORT = 0x0019
DONT_FRAGMENT = 0x001A
MESSAGE_INTEGRITY_SHA256 = 0x001C
PASSWORD_ALGORITHM = 0x001D
USERHASH = 0x001E
XOR_MAPPED_ADDRESS = 0x0020
RESERVATION_TOKEN = 0x0022
CONNECTION_ID = 0x002A
ADDITIONAL_ADDRESS_FAMILY = 0x8000
ADDRESS_ERROR_CODE = 0x8001
PASSWORD_ALGORITHMS = 0x8002
ALTERNATE_DOMAIN = 0x8003
SOFTWARE = 0x8022
ALTERNATE_SERVER = 0x8023
FINGERPRINT = 0x8028

ALGORITHM_MD5, ALGORITHM_SHA256 = 1, 2
IPV4, IPV6 = 1, 2  # address families on the wire
UDP = struct.pack("!B3x", 17)  # value of REQUESTED-TRANSPORT
TCP = struct.pack("!B3x", 6)
NONCE_COOKIE = b"obMatJos2"


class StunError(Exception):
    """The server violated the protocol."""


# --- building -------------------------------------------------------------------------------------


def message_type(cls, method):
    """RFC 8489 5: the class bits are at 0x0110 between the method bits."""
    return (
        (method & 0xF)
        | (method & 0x70) << 1
        | (method & 0xF80) << 2
        | (cls & 1) << 4
        | (cls & 2) << 7
    )


def new_tid():
    return os.urandom(12)


def attr(kind, value=b"", pad=b"\0"):
    """One attribute on the wire; pad is the byte that fills it to a multiple of four."""
    return struct.pack("!HH", kind, len(value)) + value + pad * (-len(value) % 4)


def u32(value):
    return struct.pack("!I", value)


def xor_address(endpoint, tid):
    """The value of an XOR-*-ADDRESS attribute for (ip, port)."""
    ip = ipaddress.ip_address(endpoint[0])
    mask = (struct.pack("!I", COOKIE) + tid)[: len(ip.packed)]
    family = IPV4 if ip.version == 4 else IPV6
    return struct.pack("!BBH", 0, family, endpoint[1] ^ COOKIE >> 16) + bytes(
        a ^ b for a, b in zip(ip.packed, mask)
    )


def header(cls, method, length, tid):
    return struct.pack("!HHI", message_type(cls, method), length, COOKIE) + tid


def integrity(data, key, sha256=False):
    """The HMAC of RFC 8489 14.5/14.6 over a message that ends before the integrity attribute."""
    digest, size = (hashlib.sha256, 32) if sha256 else (hashlib.sha1, 20)
    length = len(data) - HEADER_LEN + 4 + size
    return hmac.new(key, data[:2] + struct.pack("!H", length) + data[4:], digest).digest()


def fingerprint(data):
    """RFC 8489 14.7 over a message without its FINGERPRINT."""
    length = len(data) - HEADER_LEN + 8
    return u32(binascii.crc32(data[:2] + struct.pack("!H", length) + data[4:]) ^ 0x5354554E)


def build(cls, method, attrs=(), tid=None, key=None, sha256=False, with_fingerprint=False):
    """A complete message. attrs: (type, value) pairs, or raw bytes."""
    tid = tid or new_tid()
    body = b"".join(a if isinstance(a, bytes) else attr(*a) for a in attrs)
    data = header(cls, method, len(body), tid) + body
    if key is not None:
        kind = MESSAGE_INTEGRITY_SHA256 if sha256 else MESSAGE_INTEGRITY
        data += attr(kind, integrity(data, key, sha256))
    if with_fingerprint:
        data += attr(FINGERPRINT, fingerprint(data))
    return data[:2] + struct.pack("!H", len(data) - HEADER_LEN) + data[4:]


def channel_data(number, payload):
    """RFC 8656 12.4; over UDP there is no padding."""
    return struct.pack("!HH", number, len(payload)) + payload


# --- parsing --------------------------------------------------------------------------------------


class Message:
    """A parsed STUN message. Raises StunError if it is malformed."""

    def __init__(self, data):
        if len(data) < HEADER_LEN:
            raise StunError("shorter than a STUN header")
        kind, length, cookie = struct.unpack_from("!HHI", data)
        if kind & 0xC000 or cookie != COOKIE or length % 4 or length != len(data) - HEADER_LEN:
            raise StunError("not a STUN header: " + data[:20].hex())
        self.data = data
        self.cls = kind >> 4 & 1 | kind >> 7 & 2
        self.method = kind & 0xF | kind >> 1 & 0x70 | kind >> 2 & 0xF80
        self.tid = data[8:20]
        self.attrs = []  # (type, value, offset of the attribute header)
        offset = HEADER_LEN
        while offset < len(data):
            kind, size = struct.unpack_from("!HH", data, offset)
            end = offset + 4 + size
            if end + -size % 4 > len(data):
                raise StunError(f"attribute 0x{kind:04x} overruns the message")
            if any(data[end : end + -size % 4]):
                raise StunError(f"padding of 0x{kind:04x} is not zero")  # RFC 8489 14
            self.attrs.append((kind, data[offset + 4 : end], offset))
            offset = end + -size % 4

    def has(self, kind):
        return any(a[0] == kind for a in self.attrs)

    def get(self, kind, default=None):
        return next((a[1] for a in self.attrs if a[0] == kind), default)

    def address(self, kind):
        """An XOR-*-ADDRESS as (ip text, port), or None."""
        value = self.get(kind)
        return None if value is None else self.decode_address(value)

    def addresses(self, kind):
        """All values of one attribute type, in their order."""
        return [self.decode_address(a[1]) for a in self.attrs if a[0] == kind]

    def decode_address(self, value):
        size = {IPV4: 4, IPV6: 16}.get(value[1])
        if size is None or len(value) != 4 + size or value[0] != 0:
            raise StunError("bad address " + value.hex())
        mask = struct.pack("!I", COOKIE) + self.tid
        packed = bytes(a ^ b for a, b in zip(value[4:], mask))
        return str(ipaddress.ip_address(packed)), int.from_bytes(value[2:4], "big") ^ COOKIE >> 16

    @property
    def code(self):
        """The number of the ERROR-CODE, or 0."""
        value = self.get(ERROR_CODE)
        if value is None:
            return 0
        if len(value) < 4 or not 3 <= value[2] <= 6 or value[3] > 99 or value[0] or value[1]:
            raise StunError("bad ERROR-CODE " + value.hex())
        return value[2] * 100 + value[3]

    @property
    def reason(self):
        return self.get(ERROR_CODE, b"")[4:].decode()

    @property
    def lifetime(self):
        value = self.get(LIFETIME)
        return None if value is None else struct.unpack("!I", value)[0]

    @property
    def unknown(self):
        """The list of UNKNOWN-ATTRIBUTES."""
        value = self.get(UNKNOWN_ATTRIBUTES, b"")
        return list(struct.unpack(f"!{len(value) // 2}H", value))

    def integrity_ok(self, key, sha256=False):
        kind = MESSAGE_INTEGRITY_SHA256 if sha256 else MESSAGE_INTEGRITY
        for found, value, offset in self.attrs:
            if found == kind:
                return hmac.compare_digest(value, integrity(self.data[:offset], key, sha256))
        return False

    def fingerprint_ok(self):
        """True if there is no FINGERPRINT, or it is last and correct."""
        kind, value, offset = self.attrs[-1] if self.attrs else (0, b"", 0)
        if not self.has(FINGERPRINT):
            return True
        return kind == FINGERPRINT and value == fingerprint(self.data[:offset])

    def __repr__(self):
        names = {REQUEST: "request", INDICATION: "indication", SUCCESS: "success", ERROR: "error"}
        code = f" {self.code} {self.reason}" if self.cls == ERROR else ""
        kinds = " ".join(f"{a[0]:04x}" for a in self.attrs)
        return f"<{names[self.cls]} 0x{self.method:03x}{code} [{kinds}]>"


# --- credentials ----------------------------------------------------------------------------------


def long_term_key(user, realm, password, sha256=False):
    """RFC 8489 9.2.2, 18.5.1 (names here are ASCII: OpaqueString changes nothing)."""
    text = f"{user}:{realm}:{password}".encode()
    return (hashlib.sha256 if sha256 else hashlib.md5)(text).digest()


def userhash(user, realm):
    return hashlib.sha256(f"{user}:{realm}".encode()).digest()


def rest_credentials(secret, expiry, name=None):
    """draft-uberti-behave-turn-rest-00: (user, password) valid until expiry (wall clock)."""
    user = str(int(expiry)) + (f":{name}" if name else "")
    digest = hmac.new(secret.encode(), user.encode(), hashlib.sha1).digest()
    return user, base64.b64encode(digest).decode()


@dataclass
class Auth:
    """Credentials of a client. sha256: MESSAGE-INTEGRITY-SHA256 with a negotiated SHA-256 key."""

    user: str
    password: str
    sha256: bool = False
    anonymous: bool = False  # USERHASH instead of USERNAME
    realm: str = None  # learned from the challenge
    nonce: bytes = None
    algorithms: bytes = None

    def learn(self, challenge):
        self.realm = challenge.get(REALM).decode()
        self.nonce = challenge.get(NONCE)
        self.algorithms = challenge.get(PASSWORD_ALGORITHMS)

    def key(self):
        return long_term_key(self.user, self.realm, self.password, self.sha256)

    def attrs(self):
        name = (
            (USERHASH, userhash(self.user, self.realm))
            if self.anonymous
            else (USERNAME, self.user.encode())
        )
        out = [name, (REALM, self.realm.encode()), (NONCE, self.nonce)]
        if self.sha256:
            out += [
                (PASSWORD_ALGORITHMS, self.algorithms),
                (PASSWORD_ALGORITHM, struct.pack("!HH", ALGORITHM_SHA256, 0)),
            ]
        return out


# --- the client -----------------------------------------------------------------------------------


class Silence(Exception):
    """No answer to any retransmission."""


class Client:
    """One 5-tuple: a UDP socket to one server address.

    Messages that are no answer to the pending request are kept in inbox as ("data", peer, payload),
    ("channel", number, payload) or ("stun", message).
    """

    RTO = (0.25, 0.5, 1.0, 2.0)  # waits between retransmissions (RFC 8489 6.2.1, shortened)
    STRICT = True  # False for coturn, which does not sign 437 and 441, and does not zero the padding

    def __init__(self, sock, server, auth=None, with_fingerprint=False):
        self.sock, self.server, self.auth = sock, server, auth
        self.with_fingerprint = with_fingerprint
        self.inbox = []
        self.relayed = self.mapped = self.token = self.granted = None
        self.retransmissions = 0
        self.again = {}  # by transaction id: answers to retransmitted requests that are still due
        sock.setblocking(False)
        self.poller = select.poll()  # select() is limited to descriptors below 1024
        self.poller.register(sock, select.POLLIN)

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- receiving

    def send_raw(self, data):
        self.sock.sendto(data, self.server)

    def receive(self, timeout):
        """The next datagram, parsed as for inbox, or None."""
        if not self.poller.poll(max(0, timeout) * 1000):
            return None
        try:
            data, source = self.sock.recvfrom(65536)
        except ConnectionError:  # an ICMP error for the socket
            return ("icmp", None, None)
        if source[:2] != self.server[:2]:  # RFC 8489 6.3.1.2: the request's destination
            raise StunError(f"answer from {source}, not from {self.server}")
        return self.classify(data)

    @staticmethod
    def classify(data):
        if data and 0x40 <= data[0] <= 0x4F:
            number, size = struct.unpack_from("!HH", data)
            if size != len(data) - 4:  # over UDP we request no padding
                raise StunError("ChannelData length: " + data[:8].hex())
            return ("channel", number, data[4:])
        message = Message(data)
        if not message.fingerprint_ok():
            raise StunError("FINGERPRINT of an answer does not match")
        if (message.cls, message.method) == (INDICATION, DATA) and message.has(DATA_ATTR):
            return ("data", message.address(XOR_PEER_ADDRESS), message.get(DATA_ATTR))
        return ("stun", message, None)

    def wait(self, kind, timeout=3.0, match=lambda item: True):
        """The first item of a kind, from the inbox or the socket; None after timeout."""
        end = time.monotonic() + timeout
        for i, item in enumerate(self.inbox):
            if item[0] == kind and match(item):
                return self.inbox.pop(i)
        while (item := self.receive(end - time.monotonic())) is not None:
            if item[0] == kind and match(item):
                return item
            self.inbox.append(item)
        return None

    def drain(self):
        """Empties the inbox and the socket. Returns the items, without those that is_late."""
        while (item := self.receive(0)) is not None:
            self.inbox.append(item)
        items, self.inbox = self.inbox, []
        return [item for item in items if not self.is_late(item)]

    def is_late(self, item):
        """True if it is a further answer to a retransmitted request."""
        tid = item[1].tid if item[0] == "stun" else None
        if not self.again.get(tid):
            return False
        self.again[tid] -= 1
        return True

    def unanswered(self, timeout=5.0):
        """Counts retransmitted requests with fewer answers than transmissions. On a busy machine
        answers are late and requests are retransmitted, but none of them is lost."""
        end = time.monotonic() + timeout
        self.inbox = [item for item in self.inbox if not self.is_late(item)]
        while any(self.again.values()):
            item = self.receive(end - time.monotonic())
            if item is None:
                break
            if not self.is_late(item):
                self.inbox.append(item)
        return sum(self.again.values())

    # -- requests

    def exchange(self, data, waits=RTO):
        """Sends a request (bytes) with retransmissions. Returns the answer with its id."""
        tid = data[8:20]
        for number, wait in enumerate(waits):
            if number > 0:
                self.retransmissions += 1
                self.again[tid] = self.again.get(tid, 0) + 1
            self.send_raw(data)
            item = self.wait("stun", wait, lambda item: item[1].tid == tid)
            if item is not None:
                answer = item[1]
                if answer.cls not in (SUCCESS, ERROR):
                    raise StunError(f"answered with {answer}")
                return answer
        raise Silence(f"no answer to 0x{data[:2].hex()} from {self.server}")

    def signed(self, method, attrs=(), tid=None, auth=None, cls=REQUEST):
        """The bytes of a request with this client's credentials."""
        auth = auth or self.auth
        return build(
            cls,
            method,
            list(attrs) + auth.attrs(),
            tid,
            auth.key(),
            auth.sha256,
            self.with_fingerprint,
        )

    def challenge(self, method=ALLOCATE):
        """Gets realm and nonce with an unsigned request. Returns the 401 answer."""
        answer = self.exchange(build(REQUEST, method, [(REQUESTED_TRANSPORT, UDP)]))
        if answer.code != 401:
            raise StunError(f"expected 401, got {answer}")
        self.auth.learn(answer)
        return answer

    def request(self, method, attrs=(), tid=None, waits=RTO):
        """A signed request. A stale nonce is replaced once (RFC 8489 9.2.5). Checks the integrity.

        attrs may be a function of the transaction id, which XORs IPv6 addresses.
        """
        if self.auth.nonce is None:
            self.challenge()
        for _ in range(2):
            attrs_now = attrs(tid) if callable(attrs) else attrs
            answer = self.exchange(self.signed(method, attrs_now, tid), waits)
            if answer.method != method:
                raise StunError(f"answered with {answer}")
            if answer.code != 438:
                break
            self.auth.learn(answer)
            tid = tid and new_tid()
        self.check_integrity(answer)
        return answer

    def check_integrity(self, answer):
        """Answers after authentication are signed like the request (8489 9.2.4).

        Errors before authentication are 401, 438 and some 400.
        """
        kind = MESSAGE_INTEGRITY_SHA256 if self.auth.sha256 else MESSAGE_INTEGRITY
        early = answer.code in (400, 401, 438) or not self.STRICT
        if early and not answer.has(kind):
            return
        if not answer.integrity_ok(self.auth.key(), self.auth.sha256):
            raise StunError(f"integrity of {answer}")

    def binding(self, attrs=(), tid=None, waits=RTO):
        return self.exchange(build(REQUEST, BINDING, attrs, tid), waits)

    def fence(self, timeout=3.0):
        """All items that arrived before the answer to a Binding request sent now, without those
        that is_late.

        By then the server has answered every earlier datagram of this 5-tuple, which proves the
        absence of an answer without a wait.
        """
        tid = new_tid()
        end = time.monotonic() + timeout
        items = []
        self.send_raw(build(REQUEST, BINDING, tid=tid))
        while True:
            item = self.receive(end - time.monotonic())
            if item is None:
                raise Silence(f"no answer to a Binding request from {self.server}")
            if item[0] == "stun" and item[1].tid == tid:
                items, self.inbox = self.inbox + items, []
                return [item for item in items if not self.is_late(item)]
            items.append(item)

    # -- TURN

    def allocate(self, attrs=(), transport=UDP, tid=None, waits=RTO):
        """Allocate. On success the relayed and mapped addresses are stored."""
        extra = [(REQUESTED_TRANSPORT, transport)] if transport is not None else []
        answer = self.request(ALLOCATE, extra + list(attrs), tid, waits)
        if answer.cls == SUCCESS:
            self.relayed = answer.address(XOR_RELAYED_ADDRESS)
            self.mapped = answer.address(XOR_MAPPED_ADDRESS)
            self.token = answer.get(RESERVATION_TOKEN)
            self.granted = answer.lifetime
        return answer

    def refresh(self, lifetime=None, attrs=()):
        extra = [] if lifetime is None else [(LIFETIME, u32(lifetime))]
        return self.request(REFRESH, extra + list(attrs))

    def permit(self, *peers):
        """CreatePermission for each (ip, port), or plain ip."""
        peers = [(p, 0) if isinstance(p, str) else p for p in peers]
        return self.request(
            CREATE_PERMISSION,
            lambda tid: [(XOR_PEER_ADDRESS, xor_address(p, tid)) for p in peers],
            new_tid(),
        )

    def bind(self, number, peer):
        """ChannelBind."""
        return self.request(
            CHANNEL_BIND,
            lambda tid: [
                (CHANNEL_NUMBER, struct.pack("!HH", number, 0)),
                (XOR_PEER_ADDRESS, xor_address(peer, tid)),
            ],
            new_tid(),
        )

    def send(self, peer, payload, attrs=()):
        """A Send indication."""
        tid = new_tid()
        self.send_raw(
            build(
                INDICATION,
                SEND,
                [(XOR_PEER_ADDRESS, xor_address(peer, tid)), *attrs, (DATA_ATTR, payload)],
                tid,
            )
        )

    def send_channel(self, number, payload):
        self.send_raw(channel_data(number, payload))

    def relay(self, echo, size=0):
        """To an echo peer and back: with indications, then on channel 0x4000 with size bytes."""
        assert self.permit(echo.address).cls == SUCCESS
        for i in range(20):
            self.send(echo.address, b"%d" % i)
            assert self.wait("data") == ("data", echo.address, b"%d" % i)
        assert self.bind(0x4000, echo.address).cls == SUCCESS
        for i in range(50):
            payload = (b"%d" % i).ljust(size, b".")
            self.send_channel(0x4000, payload)
            assert self.wait("channel") == ("channel", 0x4000, payload)


def udp_socket(ip, port=0):
    """A bound UDP socket (create it in a namespace with lab.Namespace.enter)."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind((ip, port))
    return sock
