#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Invalid frames: each is dropped, and counted once under its own reason."""

import struct

import lab as labs
from capture import Capture, from_server, read_pcap
from frames import BROADCAST, eth, ip4, ip6, udp, udp4, udp6
from lab import CLIENT4, CLIENT6, SERVER4, SERVER6
from turnlib import BINDING, REQUEST, SUCCESS, build

BIND = build(REQUEST, BINDING)

# (name, frame, counter). IPv4 fragments are in test_frame.c of test/unit: here the kernel under
# net_af_packet would reassemble them (PACKET_FANOUT_FLAG_DEFRAG).
FRAMES = (
    # Ethernet
    ("another ethertype", eth(bytes(60), 0x88B5), "ethertype"),
    ("another MAC", udp4(BIND, frame={"dst": "02:99:00:00:00:77"}), "not-for-us"),
    ("a VLAN tag on an untagged port", udp4(BIND, frame={"vlan": 7}), "vlan"),
    ("a cut IPv4 header", eth(b"\x45" + bytes(45), 0x0800), "ip-length"),
    # IPv4
    ("IPv6 in an IPv4 frame", eth(ip6(udp(BIND, CLIENT6, SERVER6)), 0x0800), "ip-version"),
    ("IHL 4", eth(b"\x44" + ip4(udp(BIND, CLIENT4, SERVER4))[1:]), "ip-header"),
    ("a wrong header checksum", udp4(BIND, ip={"bad_sum": 1}), "ip-checksum"),
    ("a length beyond the frame", udp4(BIND, ip={"length": 1000}), "ip-length"),
    ("IPv4 options", udp4(BIND, ip={"options": b"\x94\4\0\0"}), "ip-options"),
    ("source routing", udp4(BIND, ip={"options": b"\x83\7\4\x0a\x63\0\3\0"}), "ip-options"),
    ("TCP", eth(ip4(bytes(20), proto=6)), "ip-protocol"),
    ("another address", udp4(BIND, dst="10.99.0.200"), "not-for-us"),
    # Martians
    ("source 0.0.0.0", udp4(BIND, src="0.0.0.0"), "martian-source"),
    ("source 0.1.2.3", udp4(BIND, src="0.1.2.3"), "martian-source"),
    ("source loopback", udp4(BIND, src="127.0.0.1"), "martian-source"),
    ("source multicast", udp4(BIND, src="224.0.0.5"), "martian-source"),
    ("source 240/4", udp4(BIND, src="240.0.0.1"), "martian-source"),
    ("source broadcast", udp4(BIND, src="255.255.255.255"), "martian-source"),
    ("source subnet broadcast", udp4(BIND, src="10.99.0.255"), "martian-source"),
    ("the server's address as source (LAND)", udp4(BIND, src=SERVER4), "martian-source"),
    ("L2 broadcast", udp4(BIND, frame={"dst": BROADCAST}), "martian-destination"),
    # UDP
    ("a UDP length too small", udp4(BIND, length=4), "udp-length"),
    ("a UDP length too large", udp4(BIND, length=100), "udp-length"),
    ("a wrong UDP checksum", udp4(BIND, bad_sum=0x0101), "udp-checksum"),
    ("source port 0", udp4(BIND, sport=0), "port-zero"),
    ("destination port 0", udp4(BIND, dport=0), "port-zero"),
    ("a port without listener", udp4(BIND, dport=3479), "no-listener"),
    ("a relay port without allocation", udp4(b"data", dport=50000), "peer-no-allocation"),
    # IPv6
    ("IPv4 in an IPv6 frame", eth(ip4(udp(BIND, CLIENT4, SERVER4)), 0x86DD), "ip-version"),
    ("an IPv6 length beyond the frame", udp6(BIND, ip={"length": 1000}), "ip-length"),
    ("a fragment header", eth(
        ip6(struct.pack("!BBHI", 17, 0, 1, 9) + udp(BIND, CLIENT6, SERVER6), proto=44), 0x86DD),
        "fragment-malformed"),  # 28 bytes are no multiple of 8
    ("a routing header of type 0", eth(
        ip6(struct.pack("!BBBBI", 17, 2, 0, 1, 0) + bytes(16) + udp(BIND, CLIENT6, SERVER6),
            proto=43), 0x86DD), "ip-header"),
    ("a UDP checksum of zero", udp6(BIND, no_sum=True), "udp-checksum"),
    ("a wrong UDP checksum over IPv6", udp6(BIND, bad_sum=0x0101), "udp-checksum"),
    ("source ::", udp6(BIND, src="::"), "martian-source"),
    ("source ::1", udp6(BIND, src="::1"), "martian-source"),
    ("source ff02::1", udp6(BIND, src="ff02::1"), "martian-source"),
    ("a v4-mapped source", udp6(BIND, src="::ffff:10.99.0.2"), "martian-source"),
    ("the server's address as source over IPv6", udp6(BIND, src=SERVER6), "martian-source"),
    ("another IPv6 address", udp6(BIND, dst="fd99::200"), "not-for-us"),
)  # fmt: skip
GOOD = (
    ("a priority tag (VLAN 0)", udp4(BIND, frame={"vlan": 0})),
    ("no UDP checksum over IPv4", udp4(BIND, no_sum=True)),
    ("Ethernet padding", udp4(BIND) + bytes(40)),
    ("DF not set", udp4(BIND, ip={"flags": 0})),
    ("TTL 1", udp4(BIND, ip={"ttl": 1})),
    ("IPv6", udp6(BIND)),
)


def counted(server, name, frame, counter, sock):
    before = server.drops().get(counter, 0)
    sock.send(frame)
    count = lambda: server.drops().get(counter, 0) - before
    labs.until(lambda: count() > 0, 2, f"{name} is counted as {counter}: {server.drops()}")
    return count()


def main(lab):
    labs.need_own_server()
    server = lab.server(allow={counter for _, _, counter in FRAMES})
    for ip in (CLIENT4, CLIENT6):  # so that neighbours are resolved
        assert lab.client(ip=ip).binding().cls == SUCCESS
    sock = lab.cli.raw("c0")
    bad = []
    with Capture(lab, lab.sw, "d0") as capture:
        for name, frame, counter in FRAMES:
            try:
                times = counted(server, name, frame, counter, sock)
                # The kernels' own traffic may increment these counters, too: IGMP has an option.
                assert times == 1 or counter in ("not-for-us", "ip-options"), f"{name}: {counter} {times} times"
                print(f"ok     {name} ({counter})", flush=True)
            except AssertionError as error:
                bad.append(name)
                print(f"FAILED {error}", flush=True)
    answered = [f for f in from_server(capture.frames) if f.sport is not None]
    assert not bad and not answered, (bad, answered)
    with Capture(lab, lab.sw, "d0") as capture:
        answers = lambda frames: [f for f in from_server(frames) if f.sport == 3478]
        for number, (name, frame) in enumerate(GOOD):
            sock.send(frame)
            seen = lambda: len(answers(read_pcap(capture.path)))
            labs.until(lambda number=number: seen() > number, 2, f"an answer to {name}")
    assert len(answers(capture.frames)) == len(GOOD), answers(capture.frames)
    sock.close()


if __name__ == "__main__":
    labs.run(main)
