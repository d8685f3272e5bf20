# SPDX-License-Identifier: BSD-3-Clause
"""Some hundred messages that a client may send, valid, borderline and invalid, each with a name.

build(talker) makes the bytes once the talker has reached the state of the case. A case whose
framing is wrong, so that the start of the next message is unknown, is for UDP only.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass

import lab as labs
import turnlib
from talker import CHANNEL, PEER
from turnlib import (
    ADDITIONAL_ADDRESS_FAMILY,
    ALLOCATE,
    BINDING,
    CHANNEL_BIND,
    CHANNEL_NUMBER,
    CREATE_PERMISSION,
    DATA_ATTR,
    DONT_FRAGMENT,
    EVEN_PORT,
    INDICATION,
    LIFETIME,
    REFRESH,
    REQUEST,
    REQUESTED_ADDRESS_FAMILY,
    REQUESTED_TRANSPORT,
    RESERVATION_TOKEN,
    SEND,
    SOFTWARE,
    UDP,
    XOR_PEER_ADDRESS,
    build,
    channel_data,
    new_tid,
    u32,
    xor_address,
)

METHODS = {"allocate": ALLOCATE, "refresh": REFRESH, "permission": CREATE_PERMISSION,
           "channel": CHANNEL_BIND}  # fmt: skip
CLASSES = ("request", "indication", "success", "error")
TRANSPORT = (REQUESTED_TRANSPORT, UDP)
UNKNOWN = (0x7F01, b"1234")
OPTIONAL = (0xFF01, b"odd")
LIFETIMES = (0, 1, 599, 600, 601, 3599, 3600, 3601, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
LENGTHS = (0, 1, 2, 3, 5, 8)  # for an attribute of four bytes
PEERS = ("0.0.0.0", "0.0.0.1", "10.99.0.9", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.1.1",
         "192.0.2.1", "192.168.1.1", "198.18.0.1", "203.0.113.1", "8.8.8.8", "224.0.0.1",
         "239.255.255.255", "240.0.0.1", "255.255.255.255", "10.99.0.255", "10.99.0.0", "172.16.0.1",
         "::", "::1", "fd99::3", "fe80::1", "fec0::1", "ff02::1", "2001:db8::1", "2001:4860::1",
         "::ffff:10.99.0.3", "::ffff:127.0.0.1", "::10.99.0.3", "64:ff9b::a63:3", "2002:a63:3::1",
         "own")  # fmt: skip
NUMBERS = (0x0000, 0x0001, 0x3FFF, 0x4000, 0x4001, 0x4FFE, 0x4FFF, 0x5000, 0x5001, 0x6000, 0x7FFE,
           0x7FFF, 0x8000, 0xBFFF, 0xFFFF)  # fmt: skip


@dataclass(frozen=True)
class Case:
    name: str
    state: str
    build: Callable
    udp_only: bool = False
    ip: str = labs.CLIENT4


def plain(data, *_):
    """A build that ignores the talker."""
    return lambda talker: data


def said(method, *attrs, cls=REQUEST, **changes):
    """A build of a signed message."""
    return lambda talker: talker.message(method, attrs, cls, **changes)


def of_method(method):
    """Attributes that every request of this method needs."""
    return [TRANSPORT] if method == ALLOCATE else []


def peer_ip(talker, ip):
    return talker.server.relay_ip if ip == "own" else ip


def asked_of(method, *peers, attrs=(), number=None):
    """A build of a signed request about peers: (ip, port), or the bytes of the attribute."""

    def make(talker):
        tid = new_tid()
        value = lambda peer: (
            peer if isinstance(peer, bytes) else xor_address((peer_ip(talker, peer[0]), peer[1]), tid)
        )
        named = [(XOR_PEER_ADDRESS, value(peer)) for peer in peers]
        if number is not None:
            bytes_ = number if isinstance(number, bytes) else struct.pack("!HH", number, 0)
            named.insert(0, (CHANNEL_NUMBER, bytes_))
        return talker.message(method, [*named, *attrs], tid=tid)

    return make


def sent(peer, payload=b"x", attrs=()):
    """A build of a Send indication. A value of None omits the attribute."""

    def make(talker):
        tid = new_tid()
        named = list(attrs)
        if peer is not None:
            end = None if isinstance(peer, bytes) else (peer_ip(talker, peer[0]), peer[1])
            named.append((XOR_PEER_ADDRESS, peer if end is None else xor_address(end, tid)))
        if payload is not None:
            named.append((DATA_ATTR, payload))
        return build(INDICATION, SEND, named, tid)

    return make


def twice(first, second):
    """A build that first sends another message and waits for its answer."""

    def make(talker):
        talker.outcome(first(talker))
        return second(talker)

    return make


# --- framing, Binding, methods --------------------------------------------------------------------


def patched(offset, new, data=None):
    data = data or build(REQUEST, BINDING, [(SOFTWARE, b"four")])
    return plain(data[:offset] + new + data[offset + len(new) :])


def framing():
    whole = build(REQUEST, BINDING)
    for size in (1, 2, 4, 8, 19):
        yield Case(f"framing: {size} bytes of a header", "", plain(whole[:size]), True)
    for length in (1, 2, 3, 4, 7, 9, 12, 100, 0xFFFF):
        yield Case(f"framing: length {length}", "", patched(2, struct.pack("!H", length)), True)
    for length in (0, 1, 3, 5, 8, 0xFFFF):
        name = f"framing: attribute of length {length} where four bytes are"
        yield Case(name, "", patched(22, struct.pack("!H", length)))
    for cookie in (b"\0\0\0\0", b"\x21\x12\xa4\x43", b"\xff\xff\xff\xff"):
        message = build(REQUEST, ALLOCATE)  # Binding does not need the cookie: RFC 3489
        message = message[:4] + cookie + message[8:]
        yield Case(f"framing: magic cookie {cookie.hex()}", "", plain(message), True)
    for first in (0x04, 0x10, 0x40, 0x80, 0xC0, 0xFF):
        name = f"framing: first byte {first:#04x}"
        yield Case(name, "", patched(0, bytes([first])), True)
    yield Case("framing: bytes behind the message", "", plain(whole + b"behind12"), True)
    yield Case("framing: three bytes of padding are not zero", "",
        plain(build(REQUEST, BINDING, [turnlib.attr(SOFTWARE, b"x", b"z")])))  # fmt: skip


def bindings():
    for name, attrs in (
        ("alone", ()), ("with SOFTWARE", [(SOFTWARE, b"client")]),
        ("with an unknown attribute", [UNKNOWN]), ("with two unknown ones", [UNKNOWN, (0x7F02, b"")]),
        ("with an optional attribute", [OPTIONAL]),
        ("with an empty optional attribute", [(0xFF02, b"")]),
        ("with a long SOFTWARE", [(SOFTWARE, b"s" * 800)]),
        ("with PRIORITY of ICE", [(0x0024, u32(1))]), ("with USE-CANDIDATE of ICE", [(0x0025, b"")]),
        ("with ICE-CONTROLLED", [(0x8029, bytes(8))]), ("with ICE-CONTROLLING", [(0x802A, bytes(8))]),
        ("with USERNAME", [(turnlib.USERNAME, b"ivan")]),
        ("with REALM", [(turnlib.REALM, b"turn.test")]), ("with NONCE", [(turnlib.NONCE, b"n")]),
        ("with LIFETIME", [(LIFETIME, u32(5))]),
        ("with XOR-PEER-ADDRESS", [(XOR_PEER_ADDRESS, bytes(8))]),
        ("with DATA", [(DATA_ATTR, b"data")]), ("with a ticket of RFC 8016", [(0x8030, b"")]),
        ("with MAPPED-ADDRESS", [(1, b"\0\1" + bytes(6))]),
        ("with RESPONSE-PORT", [(0x0027, b"\x10\x10\0\0")]), ("with PADDING", [(0x0026, bytes(16))]),
        ("with CHANGE-REQUEST 0", [(0x0003, u32(0))]),
        ("with a reserved attribute", [(0x0004, bytes(8))]),
        ("with the attribute 0", [(0x0000, b"")]), ("with the attribute 0x7fff", [(0x7FFF, b"")]),
        ("with MESSAGE-INTEGRITY of nobody", [(turnlib.MESSAGE_INTEGRITY, bytes(20))]),
        ("with a short MESSAGE-INTEGRITY", [(turnlib.MESSAGE_INTEGRITY, bytes(4))]),
        ("with a wrong FINGERPRINT", [(turnlib.FINGERPRINT, b"\1\2\3\4")]),
        ("with a short FINGERPRINT", [(turnlib.FINGERPRINT, b"\1\2")]),
    ):  # fmt: skip
        yield Case(f"binding {name}", "", plain(build(REQUEST, BINDING, attrs)))
    yield Case("binding with FINGERPRINT", "", plain(build(REQUEST, BINDING, with_fingerprint=True)))
    yield Case("binding, signed", "challenged", said(BINDING))
    yield Case("binding, signed wrongly", "challenged", said(BINDING, password="wrong"))
    yield Case("binding over IPv6", "", plain(build(REQUEST, BINDING)), ip=labs.CLIENT6)
    yield Case("binding of an allocation", "allocated", plain(build(REQUEST, BINDING)))
    for size in (64, 512, 1024, 1400):
        padding = [(0xFF03, b"p" * (size - 24))]
        yield Case(f"binding of {size} bytes", "", plain(build(REQUEST, BINDING, padding)))


def methods():
    """Every method in every class, unsigned and signed."""
    for method in (*range(16), 0x10, 0x7F, 0x80, 0xFF, 0x100, 0xFFF):
        for cls, name in enumerate(CLASSES):
            udp_only = method >= 0x80  # over a stream its first byte is not STUN's
            for state in ("", "challenged"):
                attrs = of_method(method)
                make = said(method, *attrs, cls=cls) if state else plain(build(cls, method, attrs))
                how = "signed" if state else "unsigned"
                yield Case(f"method {method:#05x} {name}, {how}", state, make, udp_only)


# --- credentials ----------------------------------------------------------------------------------


def credentials():
    for name, method in METHODS.items():
        rows = [(n, r, o, s) for n in (0, 1) for r in (0, 1) for o in (0, 1) for s in (0, 1)]
        for has_name, has_realm, has_nonce, signed in rows:
            left = {k: None for k, has in (("name", has_name), ("realm", has_realm),
                    ("nonce", has_nonce)) if not has}  # fmt: skip
            given = [k for k, has in (("USERNAME", has_name), ("REALM", has_realm), ("NONCE", has_nonce),
                    ("integrity", signed)) if has]  # fmt: skip
            make = said(method, *of_method(method), signed=bool(signed), **left)
            yield Case(f"credentials: {name} with {' '.join(given) or 'none'}", "challenged", make)
    for state in ("challenged", "allocated"):
        method = ALLOCATE if state == "challenged" else REFRESH
        for name, changes in (
            ("a wrong password", {"password": "wrong"}), ("an unknown user", {"name": "nobody"}),
            ("another user's name", {"name": "olga"}), ("an empty name", {"name": ""}),
            ("a name of 508 bytes", {"name": "n" * 508}), ("a name of 509 bytes", {"name": "n" * 509}),
            ("a name of 600 bytes", {"name": "n" * 600}),
            ("a name with a zero byte", {"name": b"ivan\0x"}), ("a name in capitals", {"name": "IVAN"}),
            ("another realm", {"realm": "other.test"}), ("an empty realm", {"realm": ""}),
            ("a realm in capitals", {"realm": "TURN.TEST"}), ("a long realm", {"realm": "r" * 128}),
            ("another nonce", {"nonce": b"0123456789abcdef"}), ("an empty nonce", {"nonce": b""}),
            ("a nonce of 500 bytes", {"nonce": b"n" * 500}), ("a nonce of one byte", {"nonce": b"1"}),
            ("wrong password and nonce", {"password": "wrong", "nonce": b"0123456789abcdef"}),
            ("wrong name and nonce", {"name": "nobody", "nonce": b"0123456789abcdef"}),
            ("an integrity of 16 bytes", {"short": 16}), ("an integrity of 4 bytes", {"short": 4}),
            ("an empty integrity", {"short": 0}), ("a FINGERPRINT", {"mark": True}),
            ("a wrong FINGERPRINT", {"mark": b"\1\2\3\4"}),
            ("an attribute behind the integrity", {"behind": [OPTIONAL]}),
            ("an unknown one behind the integrity", {"behind": [UNKNOWN]}),
            ("the transport behind the integrity", {"behind": [TRANSPORT]}),
            ("an unknown attribute and a wrong password", {"password": "w", "unknown": True}),
        ):  # fmt: skip
            changes = dict(changes)
            attrs = [*of_method(method), *([UNKNOWN] if changes.pop("unknown", None) else [])]
            yield Case(f"credentials, {state}: {name}", state, said(method, *attrs, **changes))


# --- Allocate, Refresh ----------------------------------------------------------------------------


def four_bytes(label, state, method, kind, *others):
    """Wrong lengths of an attribute of four bytes."""
    for size in LENGTHS:
        yield Case(f"{label} of {size} bytes", state, said(method, *others, (kind, b"\1" * size)))


def allocates():
    name = "allocate with"
    for number in (0, 1, 6, 16, 17, 18, 41, 58, 132, 136, 255):
        make = said(ALLOCATE, (REQUESTED_TRANSPORT, bytes([number, 0, 0, 0])))
        yield Case(f"{name} transport {number}", "challenged", make)
    yield Case(f"{name} RFFU of the transport", "challenged",
        said(ALLOCATE, (REQUESTED_TRANSPORT, b"\x11\1\2\3")))  # fmt: skip
    yield Case("allocate without transport", "challenged", said(ALLOCATE))
    yield Case(f"{name} two transports", "challenged",
        said(ALLOCATE, TRANSPORT, (REQUESTED_TRANSPORT, b"\6\0\0\0")))  # fmt: skip
    yield from four_bytes(f"{name} a transport", "challenged", ALLOCATE, REQUESTED_TRANSPORT)
    for seconds in LIFETIMES:
        yield Case(f"{name} LIFETIME {seconds}", "challenged",
            said(ALLOCATE, TRANSPORT, (LIFETIME, u32(seconds))))  # fmt: skip
    yield from four_bytes(f"{name} a LIFETIME", "challenged", ALLOCATE, LIFETIME, TRANSPORT)
    for value in (b"\0", b"\x80", b"\x7f", b"\xff", b"", b"\0\0", b"\x80\0\0\0"):
        yield Case(f"{name} EVEN-PORT {value.hex() or 'empty'}", "challenged",
            said(ALLOCATE, TRANSPORT, (EVEN_PORT, value)))  # fmt: skip
    for value in (b"", b"\0", b"\0\0\0\0"):
        yield Case(f"{name} DONT-FRAGMENT of {len(value)} bytes", "challenged",
            said(ALLOCATE, TRANSPORT, (DONT_FRAGMENT, value)))  # fmt: skip
    for size in (0, 4, 7, 8, 9, 16):
        yield Case(f"{name} a token of {size} bytes", "challenged",
            said(ALLOCATE, TRANSPORT, (RESERVATION_TOKEN, b"\x12" * size)))  # fmt: skip
    for family in (0, 1, 2, 3, 5, 255):
        value = bytes([family, 0, 0, 0])
        for kind, label in (
            (REQUESTED_ADDRESS_FAMILY, "family"), (ADDITIONAL_ADDRESS_FAMILY, "second family")
        ):  # fmt: skip
            yield Case(f"{name} {label} {family}", "challenged",
                said(ALLOCATE, TRANSPORT, (kind, value)))  # fmt: skip
    yield from four_bytes(f"{name} a family", "challenged", ALLOCATE, REQUESTED_ADDRESS_FAMILY, TRANSPORT)
    four, token = (REQUESTED_ADDRESS_FAMILY, b"\1\0\0\0"), (RESERVATION_TOKEN, bytes(8))
    for label, attrs in (
        ("token and EVEN-PORT", [token, (EVEN_PORT, b"\0")]), ("token and family", [token, four]),
        ("token and DONT-FRAGMENT", [token, (DONT_FRAGMENT, b"")]),
        ("EVEN-PORT and family", [(EVEN_PORT, b"\0"), four]),
        ("EVEN-PORT and DONT-FRAGMENT", [(EVEN_PORT, b"\0"), (DONT_FRAGMENT, b"")]),
        ("both families", [four, (ADDITIONAL_ADDRESS_FAMILY, b"\2\0\0\0")]),
        ("second family and EVEN-PORT", [(EVEN_PORT, b"\0"), (ADDITIONAL_ADDRESS_FAMILY, b"\2\0\0\0")]),
        ("an unknown attribute", [UNKNOWN]), ("an optional attribute", [OPTIONAL]),
        ("an unknown one and a wrong transport", [UNKNOWN, (REQUESTED_TRANSPORT, b"\6\0\0\0")]),
        ("two LIFETIMEs", [(LIFETIME, u32(900)), (LIFETIME, u32(1800))]),
        ("a peer", [(XOR_PEER_ADDRESS, bytes(8))]), ("a channel", [(CHANNEL_NUMBER, b"\x40\0\0\0")]),
        ("a ticket of RFC 8016", [(0x8030, b"")]), ("ORIGIN", [(0x802F, b"https://a.test")]),
    ):  # fmt: skip
        yield Case(f"{name} {label}", "challenged", said(ALLOCATE, TRANSPORT, *attrs))
    yield Case("allocate over IPv6", "challenged", said(ALLOCATE, TRANSPORT), ip=labs.CLIENT6)
    yield Case("allocate IPv6 over IPv6", "challenged",
        said(ALLOCATE, TRANSPORT, (REQUESTED_ADDRESS_FAMILY, b"\2\0\0\0")), ip=labs.CLIENT6)  # fmt: skip
    yield Case("allocate again", "allocated", said(ALLOCATE, TRANSPORT))
    yield Case("allocate again, as another family", "allocated",
        said(ALLOCATE, TRANSPORT, (REQUESTED_ADDRESS_FAMILY, b"\2\0\0\0")))  # fmt: skip
    yield Case("allocate again, malformed", "allocated", said(ALLOCATE))
    gone = twice(said(REFRESH, (LIFETIME, u32(0))), said(ALLOCATE, TRANSPORT))
    yield Case("allocate after the end of another", "allocated", gone, True)


def refreshes():
    name = "refresh with"
    for seconds in LIFETIMES:
        yield Case(f"{name} LIFETIME {seconds}", "allocated", said(REFRESH, (LIFETIME, u32(seconds))))
        if seconds in (0, 600):
            yield Case(f"{name} LIFETIME {seconds}, without allocation", "challenged",
                said(REFRESH, (LIFETIME, u32(seconds))))  # fmt: skip
    yield from four_bytes(f"{name} a LIFETIME", "allocated", REFRESH, LIFETIME)
    for family in (0, 1, 2, 3, 255):
        yield Case(f"{name} family {family}", "allocated",
            said(REFRESH, (REQUESTED_ADDRESS_FAMILY, bytes([family, 0, 0, 0]))))  # fmt: skip
    yield from four_bytes(f"{name} a family", "allocated", REFRESH, REQUESTED_ADDRESS_FAMILY)
    for label, attrs in (("nothing", []), ("an unknown attribute", [UNKNOWN]),
            ("an optional one", [OPTIONAL]), ("a transport", [TRANSPORT]), ("EVEN-PORT", [(EVEN_PORT, b"\0")]),
            ("a peer", [(XOR_PEER_ADDRESS, bytes(8))])):  # fmt: skip
        yield Case(f"{name} {label}", "allocated", said(REFRESH, *attrs))
        yield Case(f"{name} {label}, without allocation", "challenged", said(REFRESH, *attrs))
    gone = twice(said(REFRESH, (LIFETIME, u32(0))), said(REFRESH))
    yield Case("refresh after the end", "allocated", gone, True)


# --- peers ----------------------------------------------------------------------------------------


def permissions():
    name, ask = "permission", CREATE_PERMISSION
    for ip in PEERS:
        yield Case(f"{name} for {ip}", "allocated", asked_of(ask, (ip, 5000)))
    for port in (0, 1, 65535):
        yield Case(f"{name} for port {port}", "allocated", asked_of(ask, (PEER[0], port)))
    for size in (0, 1, 2, 4, 7, 9, 12, 16, 19, 20, 21):
        yield Case(f"{name} for a peer of {size} bytes", "allocated",
            asked_of(ask, bytes([0, 1] * 11)[:size]))  # fmt: skip
    for family in (0, 2, 3, 255):
        yield Case(f"{name} for a peer of 8 bytes and family {family}", "allocated",
            asked_of(ask, bytes([0, family]) + bytes(6)))  # fmt: skip
    yield Case(f"{name} for no peer", "allocated", asked_of(ask))
    for number in (2, 3, 10, 50):
        peers = [(f"10.99.0.{10 + i}", 1) for i in range(number)]
        yield Case(f"{name} for {number} peers", "allocated", asked_of(ask, *peers))
    yield Case(f"{name} for one peer twice", "allocated", asked_of(ask, PEER, PEER))
    yield Case(f"{name} for a good and a denied peer", "allocated", asked_of(ask, PEER, ("127.0.0.1", 1)))
    yield Case(f"{name} for a good and a malformed peer", "allocated", asked_of(ask, PEER, b"\0\1\2"))
    yield Case(f"{name} for both families", "allocated", asked_of(ask, PEER, (labs.PEER6, 1)))
    yield Case(f"{name} again", "permitted", asked_of(ask, PEER))
    yield Case(f"{name} of a bound peer", "bound", asked_of(ask, PEER))
    yield Case(f"{name} with an unknown attribute", "allocated", asked_of(ask, PEER, attrs=[UNKNOWN]))
    yield Case(f"{name} with LIFETIME", "allocated", asked_of(ask, PEER, attrs=[(LIFETIME, u32(9))]))
    yield Case(f"{name} without allocation", "challenged", asked_of(ask, PEER))
    yield Case(f"{name} for no peer, without allocation", "challenged", asked_of(ask))


def channels():
    name, ask = "channel", CHANNEL_BIND
    for number in NUMBERS:
        yield Case(f"{name} {number:#06x}", "allocated", asked_of(ask, PEER, number=number))
    for ip in PEERS:
        yield Case(f"{name} to {ip}", "allocated", asked_of(ask, (ip, 5000), number=CHANNEL))
    for port in (0, 1, 65535):
        yield Case(f"{name} to port {port}", "allocated", asked_of(ask, (PEER[0], port), number=CHANNEL))
    for size in (0, 1, 2, 3, 5, 8):
        yield Case(f"{name} number of {size} bytes", "allocated",
            asked_of(ask, PEER, number=b"\x40\1\0\0\0\0\0\0"[:size]))  # fmt: skip
    for size in (0, 4, 7, 9, 12, 20):
        yield Case(f"{name} to a peer of {size} bytes", "allocated",
            asked_of(ask, bytes([0, 1] * 10)[:size], number=CHANNEL))  # fmt: skip
    yield Case(f"{name} with RFFU", "allocated", asked_of(ask, PEER, number=b"\x40\1\xff\xff"))
    yield Case(f"{name} without peer", "allocated", asked_of(ask, number=CHANNEL))
    yield Case(f"{name} without number", "allocated", asked_of(ask, PEER))
    yield Case(f"{name} with nothing", "allocated", asked_of(ask))
    yield Case(f"{name} to two peers", "allocated", asked_of(ask, PEER, (PEER[0], 9), number=CHANNEL))
    yield Case(f"{name} again", "bound", asked_of(ask, PEER, number=CHANNEL))
    yield Case(f"{name} to another peer", "bound", asked_of(ask, (PEER[0], 9), number=CHANNEL))
    yield Case(f"{name} of another number", "bound", asked_of(ask, PEER, number=CHANNEL + 1))
    yield Case(f"{name} of another port", "bound", asked_of(ask, (PEER[0], 9), number=CHANNEL + 1))
    yield Case(f"{name} with an unknown attribute", "allocated",
        asked_of(ask, PEER, number=CHANNEL, attrs=[UNKNOWN]))  # fmt: skip
    yield Case(f"{name} without allocation", "challenged", asked_of(ask, PEER, number=CHANNEL))
    yield Case(f"{name} with nothing, without allocation", "challenged", asked_of(ask))


# --- data -----------------------------------------------------------------------------------------


def data():
    for state in ("", "allocated", "permitted", "bound"):
        yield Case(f"send, {state or 'no allocation'}", state, sent(PEER))
    for size in (0, 1, 4, 500, 1200):
        yield Case(f"send of {size} bytes", "permitted", sent(PEER, b"d" * size))
        yield Case(f"channel data of {size} bytes", "bound", plain(channel_data(CHANNEL, b"d" * size)))
    for name, make in (
        ("without peer", sent(None)), ("without data", sent(PEER, None)),
        ("with nothing", sent(None, None)),
        ("to port 0", sent((PEER[0], 0))), ("to the other family", sent((labs.PEER6, 9))),
        ("to a stranger", sent(("10.99.0.99", 9))), ("to loopback", sent(("127.0.0.1", 9))),
        ("to a short peer", sent(bytes(3))),
        ("with DONT-FRAGMENT", sent(PEER, b"x", [(DONT_FRAGMENT, b"")])),
        ("with an unknown attribute", sent(PEER, b"x", [UNKNOWN])),
        ("with an optional attribute", sent(PEER, b"x", [OPTIONAL])),
    ):  # fmt: skip
        yield Case(f"send {name}", "permitted", make)
    for number in (0x4000, 0x4002, 0x4FFF):
        yield Case(f"channel data on {number:#06x}", "bound", plain(channel_data(number, b"x")))
    yield Case("channel data, no channel", "permitted", plain(channel_data(CHANNEL, b"x")))
    yield Case("channel data, no allocation", "challenged", plain(channel_data(CHANNEL, b"x")))
    short = struct.pack("!HH", CHANNEL, 9) + b"12345678"
    yield Case("channel data longer than its datagram", "bound", plain(short), True)
    padded = channel_data(CHANNEL, b"12345") + bytes(3)
    yield Case("channel data with padding", "bound", plain(padded), True)


def all_cases():
    # cases after which a server is silent take longest, and come first
    makers = (data, framing, bindings, methods, credentials, allocates, refreshes, permissions, channels)
    return [case for make in makers for case in make()]
