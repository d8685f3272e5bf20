#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: a browser retransmits if there is no answer within 50 ms
"""Calls of a web browser over IPv6 whose DTLS flights exceed the MTU, so that their Send and Data
indications are fragmented. They arrive complete and in order, without DTLS retransmissions. Then
such calls over TCP and TLS.
"""

import collections
import os
import struct

import browser
import lab as labs
import shipped
import streams
from capture import Capture
from lab import CLIENT6, SERVER4, SERVER6, until
from test_chromium import LATE, PATIENCE, call
from turnlib import DATA_ATTR, HEADER_LEN, REQUESTED_ADDRESS_FAMILY

# The MTU. DTLS datagrams of Chromium have 1200 bytes, those of Firefox 1420.
MTU = {"chromium": 1280, "firefox": 1500}[browser.NAME]
RSA = 4096  # bits: a Certificate of 1.3 KB, a CertificateVerify of 0.5 KB
TRIES = 4
UDP = f"turn:[{SERVER6}]:3478?transport=udp"
OVER_STREAMS = (
    (f"turn:[{SERVER6}]:3478?transport=tcp", "tcp"),
    (f"turns:[{SERVER6}]:5349?transport=tcp", "tls"),
)[: 1 if browser.NAME == "firefox" else 2]  # Firefox does not use turns: with an IP address
ALLOCATE, SEND, DATA = 0x0003, 0x0016, 0x0017
IPV6_FRAGMENT = 44


def whole(frames):
    """(frame, UDP payload, number of fragments) of each datagram over IPv6."""
    parts = collections.defaultdict(list)
    for frame in frames:
        if frame.proto == 17 and ":" in frame.src:
            yield frame, frame.payload, 1
        elif frame.proto == IPV6_FRAGMENT:
            offset, ident = struct.unpack_from("!HI", frame.l4, 2)
            pieces = parts[frame.src, frame.dst, ident]
            pieces.append((offset & ~7, not offset & 1, frame.l4[8:]))
            pieces.sort()
            data = b"".join(piece for _, _, piece in pieces)
            (start, last, piece) = pieces[-1]
            if last and start + len(piece) == len(data):
                frame.sport, frame.dport = struct.unpack_from("!HH", data)
                yield frame, data[8:], len(pieces)


def attributes(message):
    """(type, value) of each attribute of a STUN message."""
    offset = HEADER_LEN
    while offset + 4 <= len(message):
        kind, size = struct.unpack_from("!HH", message, offset)
        yield kind, message[offset + 4 : offset + 4 + size]
        offset += 4 + (size + 3) // 4 * 4


def relayed(message):
    """The payload of an indication or ChannelData, or nothing, and True if it is an indication."""
    kind, length = struct.unpack_from("!HH", message)
    if 0x4000 <= kind < 0x8000:
        return message[4 : 4 + length], False
    if kind not in (SEND, DATA):
        return b"", False
    return dict(attributes(message)).get(DATA_ATTR, b""), True


def is_handshake(data):
    """True for DTLS of a handshake: plaintext, or epoch 2 of DTLS 1.3 (RFC 9147 section 4)."""
    return data[:1] and (data[0] in (20, 22) or data[0] & 0xE3 == 0x22)


class Flights:
    """The handshakes of a capture: datagrams that each port of the client sent and received, the
    number of fragmented indications in either direction, and whether an IPv6 relayed address was
    requested."""

    def __init__(self, frames):
        self.sent, self.got = collections.defaultdict(list), collections.defaultdict(list)
        self.cut_out = self.cut_in = 0
        self.wants_ipv6 = False
        for frame, message, pieces in whole(frames):
            if SERVER6 not in (frame.src, frame.dst) or len(message) < HEADER_LEN:
                continue
            if struct.unpack_from("!H", message)[0] == ALLOCATE:
                self.wants_ipv6 |= REQUESTED_ADDRESS_FAMILY in dict(attributes(message))
            data, indication = relayed(message)
            if not is_handshake(data):
                continue
            if frame.src == CLIENT6:
                self.sent[frame.sport].append(data)
                self.cut_out += indication and pieces > 1
            else:
                self.got[frame.dport].append(data)
                self.cut_in += indication and pieces > 1

    def in_order(self):
        (one, second) = self.sent
        return self.sent[one] == self.got[second] and self.sent[second] == self.got[one]

    def repeated(self):
        """The datagrams that an endpoint sent more than once."""
        names = [(port, name) for port, all in self.sent.items() for d in all for name in names_of(d)]
        return [name for name, count in collections.Counter(names).items() if count > 1]


def names_of(data):
    """The key of a datagram: type, number and offset of its plaintext handshake messages, and its
    length otherwise. No flight here has two datagrams of one length."""
    found, offset = [], 0
    while offset + 25 <= len(data) and data[offset] == 22 and not any(data[offset + 3 : offset + 5]):
        found.append((data[offset + 13], data[offset + 17 : offset + 22]))
        offset += 13 + struct.unpack_from("!H", data, offset + 11)[0]
    return found or [(data[0], len(data))]


def over_udp(lab, page, server):
    """A call in which no handshake datagram is lost. True if there was no retransmission and no
    reordering: on busy CPUs the other end may answer too late, and two CPUs of the client may
    reorder datagrams."""
    names = ("fragments_in", "reassembled", "fragments_out")
    before = server.stats()
    with Capture(lab, lab.cli, "c0") as capture:
        answer = page.run(call(UDP, PATIENCE, RSA), timeout=3 * PATIENCE)
    after = server.stats()
    seen = Flights(capture.frames)
    verify(answer, "udp", seen.wants_ipv6)
    (one, second) = seen.sent
    for here, there in ((one, second), (second, one)):
        assert sorted(seen.sent[here]) == sorted(seen.got[there]), "a datagram was lost or duplicated"
    counted = {name: after[name] - before[name] for name in names}
    again = seen.repeated()
    print(f"DTLS datagrams of {' and '.join(str([len(d) for d in f]) for f in seen.sent.values())} "
        f"bytes, {seen.cut_out} sent and {seen.cut_in} got as indications in fragments; {counted}; "
        f"in order: {seen.in_order()}; sent again: {again}")  # fmt: skip
    assert counted["reassembled"] >= seen.cut_out > 0, (seen.cut_out, counted)
    assert counted["fragments_out"] >= 2 * seen.cut_in > 0, (seen.cut_in, counted)
    return seen.in_order() and not again


def verify(answer, protocol, wants_ipv6=False):
    """The browser's statistics of a call."""
    assert answer["ok"] and answer["inOrder"], answer
    address = SERVER6 if wants_ipv6 else SERVER4  # the default is IPv4: RFC 8656 7.2
    for side in (answer["near"], answer["seen"]):
        print(f"{protocol}: {side}")
        assert side["type"] == side["remote"] == "relay" and side["protocol"] == protocol, side
        assert side["address"].strip("[").startswith(address), side
        assert side["dtls"] == "connected" and side["cipher"].startswith("TLS_"), side
        assert side["sent"] > 0 and side["received"] > 0, side


def link(lab):
    """Limits the MTU of the link, without super-frames, which would hide the real frames."""
    for ns in (lab.cli, lab.sw):
        ns.ip("link", "set", "c0", "mtu", str(MTU))
    labs.OFFLOAD = "csum"


def main(lab):
    labs.need_own_server()
    link(lab)
    home = os.path.join(lab.dir, "home")
    # One worker: with several, one handles the fragments of a flow and another its whole datagrams.
    text = shipped.text(lab, "transports.yaml", workers=1)
    text = text.replace("    addresses:", f"    mtu: {MTU}\n    addresses:", 1)
    browser.trust(home, streams.signed_certificate(lab, f"IP:{SERVER6}", "shipped"))
    server = lab.server(text=text, allow=LATE)
    page = browser.start(lab, lab.cli, home=home)
    page.open("file://" + browser.CALLS)
    tries = 1
    while not over_udp(lab, page, server):
        assert tries < TRIES, "every handshake had retransmissions"
        tries += 1
    calls = ", ".join(call(url, PATIENCE, RSA) for url, _ in OVER_STREAMS)
    answers = page.run(f"Promise.all([{calls}])", timeout=3 * PATIENCE)
    picture = os.path.join(labs.BUILD, "lab", f"{browser.NAME}6.png")
    page.screenshot(picture)
    print(f"screenshot: {picture}")
    for (_, protocol), answer in zip(OVER_STREAMS, answers):
        verify(answer, protocol)
    rows = server.allocations()
    assert rows and all(row["client"].startswith(f"[{CLIENT6}]:") for row in rows), rows
    assert page.run("hangUp()") == 2 * (tries + len(OVER_STREAMS))
    until(lambda: server.stats()["allocations"] == 0, 5, "the calls have ended")
    stats = server.stats()
    assert stats["path_mtus"] == stats["icmp_errors_sent"] == 0, stats


if __name__ == "__main__":
    labs.run(main)
