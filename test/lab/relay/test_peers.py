#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forbidden peers: every method, family and notation, and not one frame on the wire.

Runs twice: with a usual allow list, and with everything allowed, where addresses that no key opens
must stay refused. The only exception are relay addresses of the server itself: the permission is
granted, and the data stays in the process.
"""

import ipaddress

import lab as labs
from capture import Capture, from_server
from lab import CLIENT4, CLIENT6, GATEWAY4, PEER4, PEER6, SERVER4, SERVER6
from turnlib import ADDITIONAL_ADDRESS_FAMILY, REQUESTED_ADDRESS_FAMILY, SUCCESS

OTHER4, OTHER6 = "10.99.0.5", "fd99::5"  # the server's, with a listener, but no relay address

# No key opens these.
NEVER4 = (
    "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "169.254.169.254", "169.254.1.1",
    "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.254", "255.255.255.255",
    "10.99.0.255", OTHER4,
)  # fmt: skip
NEVER6 = (
    "::", "::1", "fe80::1", "febf::1", "fec0::1", "feff::1", "ff02::1", "ff0e::1", "2001::1",
    "2001:0:5ef5:79fd::1", "2002:a63:3::1", "64:ff9b:1::1", OTHER6,
    "fd99::5efe:a63:3", "fd99::200:5efe:a63:3",
)  # fmt: skip
# Denied unless a prefix at least as long allows them.
DENIED4 = (
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
    "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.1",
    "203.0.113.1", GATEWAY4,
)  # fmt: skip
DENIED6 = ("fd00::1", "fc00::1", "fd99:1::1", "100::1", "2001:db8::1")
OWN4, OWN6 = (SERVER4,), (SERVER6,)


def embeddings(ip):
    """IPv6 notations of an IPv4 address, which must not bypass a rule about it."""
    value = int(ipaddress.IPv4Address(ip))
    for prefix in ("::ffff:0:0", "::", "64:ff9b::", "64:ff9b:1::"):
        yield str(ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | value))
    yield str(ipaddress.IPv6Address(0x2002 << 112 | value << 80 | 1))


def allocation(lab, client_ip, relay_is_v6):
    client = lab.client(ip=client_ip)
    family = bytes([2 if relay_is_v6 else 1, 0, 0, 0])
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    return client


def dual(lab, client_ip):
    client = lab.client(ip=client_ip)
    assert client.allocate([(ADDITIONAL_ADDRESS_FAMILY, bytes([2, 0, 0, 0]))]).cls == SUCCESS
    return client


class Matrix:
    def __init__(self, lab, server):
        self.lab, self.server, self.count, self.wrong = lab, server, 0, []

    def refuse(self, client, ip, codes, port=9999):
        """Each method refuses the peer, and no data comes back."""
        answers = [client.permit((ip, port)).code] if port else []
        answers.append(client.bind(0x4000 + self.count % 0x1000, (ip, port)).code)
        client.send((ip, port), b"leak")
        if not all(code in codes for code in answers) or client.fence():
            self.wrong.append((ip, port, answers))
        self.count += 1 + len(answers)

    def pass_own(self, client, ip):
        """A relay address of the server without allocation: permitted, dropped in the process."""
        assert client.permit((ip, 50000)).cls == SUCCESS, ip
        client.send((ip, 50000), b"hairpin")
        client.send((ip, 3478), b"to the listener")
        assert client.fence() == [], ip
        self.count += 3


def run_matrix(lab, server, denied):
    """All targets for each client family and relay family."""
    matrix = Matrix(lab, server)
    for client_ip in (CLIENT4, CLIENT6):
        v4 = allocation(lab, client_ip, relay_is_v6=False)
        v6 = allocation(lab, client_ip, relay_is_v6=True)
        both = dual(lab, client_ip)
        for ip in NEVER4 + (DENIED4 if denied else ()):
            matrix.refuse(v4, ip, (403,))
            matrix.refuse(both, ip, (403,))
            for embedded in embeddings(ip):
                # The family differs from that of the relay address: 443 is a valid refusal, too.
                matrix.refuse(v6, embedded, (403, 443))
                matrix.refuse(v4, embedded, (403, 443))
            matrix.refuse(both, next(embeddings(ip)), (403, 443))
        for ip in NEVER6 + (DENIED6 if denied else ()):
            matrix.refuse(v6, ip, (403,))
            matrix.refuse(both, ip, (403,))
        matrix.refuse(v4, PEER4, (403,), port=0)
        matrix.refuse(v6, PEER6, (403,), port=0)
        for ip in OWN4:
            matrix.pass_own(v4, ip)
        for ip in OWN6:
            matrix.pass_own(v6, ip)
    assert not matrix.wrong, f"not refused: {matrix.wrong}"
    return matrix.count


def leaked(frames):
    """Frames of the server except answers to the client and resolution of its address."""
    out = []
    for frame in from_server(frames):
        to_client = frame.dst in (CLIENT4, CLIENT6)
        listener = frame.sport == 3478 and frame.src in (SERVER4, SERVER6)
        # The server keeps its gateway resolved at all times: leaked data would go there and be
        # captured itself.
        about = frame.asks_for() in (CLIENT4, CLIENT6, GATEWAY4)
        # Neighbour advertisements and ARP replies to the client's kernel.
        answer = (frame.proto == 58 and to_client) or (frame.ethertype == 0x0806 and
            frame.data[20:22] == b"\0\2")  # fmt: skip
        told = frame.announces() or frame.reports_groups()
        if not (to_client and listener or about or answer or told):
            out.append(frame)
    return out


def check(lab, allow, denied):
    config = {"peers": {"allow": allow}}
    server = lab.server(config, more=[OTHER4 + "/24", OTHER6 + "/64"], allow=EXPECTED)
    with Capture(lab, lab.sw, "d0") as capture:
        count = run_matrix(lab, server, denied)
    assert not leaked(capture.frames), leaked(capture.frames)
    answers = sum(f.sport == 3478 for f in from_server(capture.frames))
    print(f"allow {allow}: {count} attempts, {answers} answers to the client, 0 frames leaked")
    assert answers >= count // 2, "the capture missed the answers"
    # the owning worker counts drops of the server's own addresses: after the answer of the client's
    inside = lambda: sum(server.drops().get(n, 0) for n in ("hairpin-no-allocation", "peer-own"))
    labs.until(lambda: inside() >= 8, 3, "data for the server itself is dropped")
    drops = server.drops()
    refused = drops["peer-denied"] + drops["no-permission"]
    assert inside() == 8 and refused > count // 4, drops


def control(lab):
    """This capture does see a frame to an allowed peer."""
    echo = lab.echo()
    client = allocation(lab, CLIENT4, relay_is_v6=False)
    assert client.permit(echo.address).cls == SUCCESS
    with Capture(lab, lab.sw, "d0") as capture:
        client.send(echo.address, b"allowed")
        assert client.wait("data") == ("data", echo.address, b"allowed")
    assert any(f.dst == PEER4 and f.payload == b"allowed" for f in leaked(capture.frames))
    print("control: a frame to an allowed peer is seen")


EXPECTED = ("peer-denied", "no-permission", "hairpin-no-allocation", "peer-own")


def main(lab):
    labs.need_own_server()
    check(lab, ["10.99.0.0/24", "fd99::/64"], denied=True)
    control(lab)
    lab.servers[-1].finish()
    check(lab, ["0.0.0.0/0", "::/0"], denied=False)


if __name__ == "__main__":
    labs.run(main, gateway=True)
