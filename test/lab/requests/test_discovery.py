#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""NAT behaviour discovery (RFC 5780): an unmodified client, turnutils_natdiscovery, and each row of
table 1 on the wire. A reload switches it off."""

import shutil
import socket
import struct

import lab as labs
import turnlib
from lab import CLIENT4, CLIENT6, SERVER4, SERVER6
from rereads import reload
from server import CONFIG

OTHER4, OTHER6 = "10.99.0.11", "fd99::11"
OWN = ((SERVER4, 24), (OTHER4, 24), (SERVER6, 64), (OTHER6, 64))
PORTS = (3478, 3479)
CHANGE_REQUEST, PADDING, RESPONSE_PORT = 0x0003, 0x0026, 0x0027
RESPONSE_ORIGIN, OTHER_ADDRESS, MAPPED_ADDRESS = 0x802B, 0x802C, 0x0001


def plain(value):
    """(address, port) in the format of MAPPED-ADDRESS."""
    _, family, port = struct.unpack("!BBH", value[:4])
    return socket.inet_ntop(socket.AF_INET if family == 1 else socket.AF_INET6, value[4:]), port


def ask(sock, server, *attrs, reply_sock=None):
    """The answer to a Binding request and its source, or (None, None) for silence. reply_sock: the
    socket that receives it."""
    message = turnlib.build(turnlib.REQUEST, turnlib.BINDING, attrs)
    hears = reply_sock or sock
    hears.settimeout(2 * labs.SLOW)
    sock.sendto(message, server)
    try:
        data, source = hears.recvfrom(4096)
    except TimeoutError:
        return None, None
    return turnlib.Message(data), source[:2]


def table_1(lab, client, addresses):
    sock = lab.cli.udp(client)
    for a in (0, 1):
        for p in (0, 1):
            for ip, port in ((0, 0), (1, 0), (0, 1), (1, 1)):
                change = (CHANGE_REQUEST, struct.pack("!I", ip << 2 | port << 1))
                answer, source = ask(sock, (addresses[a], PORTS[p]), change)
                want = (addresses[a ^ ip], PORTS[p ^ port])
                assert source == want, (source, want)
                assert plain(answer.get(RESPONSE_ORIGIN)) == want
                assert plain(answer.get(OTHER_ADDRESS)) == (addresses[1 - a], PORTS[1 - p])
                assert plain(answer.get(MAPPED_ADDRESS)) == sock.getsockname()[:2]
    sock.close()


def long_and_aside(lab):
    """PADDING is fragmented in both directions. RESPONSE-PORT sends the answer to another socket."""
    sock, aside = lab.cli.udp(CLIENT4), lab.cli.udp(CLIENT4)
    answer, _ = ask(sock, (SERVER4, 3478), (PADDING, bytes(1500)))
    assert answer.get(PADDING) == bytes(1500), answer
    port = (RESPONSE_PORT, struct.pack("!HH", aside.getsockname()[1], 0))
    answer, source = ask(sock, (SERVER4, 3478), port, reply_sock=aside)
    assert source == (SERVER4, 3478) and plain(answer.get(MAPPED_ADDRESS)) == sock.getsockname()[:2]
    answer, _ = ask(sock, (SERVER4, 3478), port, (PADDING, bytes(8)))
    assert answer.code == 400, answer


def discovers(lab, *options):
    """The output of turnutils_natdiscovery."""
    return lab.cli.run("turnutils_natdiscovery", *options, SERVER4, check=False)


def client_of_coturn(lab):
    """There is no NAT, so no mapping and no filtering."""
    out = discovers(lab, "-m", "-f")
    print(out)
    assert "NAT with Endpoint Independent Mapping" in out or "No NAT" in out, out
    assert "NAT with Endpoint Independent Filtering!" in out, out
    out = discovers(lab, "-m", "-f", "-P")
    assert "NAT with Endpoint Independent Filtering!" in out, out
    out = discovers(lab, "-t", "-T", "1")
    print(out)


def taken_away(lab, server):
    line = reload(server, {"nat-discovery": {"addresses": []}})
    assert "change is in use" in line, line
    sock = lab.cli.udp(CLIENT4)
    answer, _ = ask(sock, (SERVER4, 3478), (CHANGE_REQUEST, struct.pack("!I", 6)))
    assert answer.code == 420, answer
    answer, _ = ask(sock, (SERVER4, 3478))
    assert answer.get(OTHER_ADDRESS) is None and answer.get(MAPPED_ADDRESS) is None, answer


def main(lab):
    labs.need_own_server()
    if not shutil.which("turnutils_natdiscovery"):
        raise labs.Skip("turnutils_natdiscovery is not installed")
    listeners = [{"transport": "udp", "address": a, "port": p}
                 for a, _ in OWN for p in PORTS]  # fmt: skip
    port = {**CONFIG["ports"][0], "addresses": [f"{a}/{n}" for a, n in OWN]}
    server = lab.server({
        "ports": [port],
        "listeners": listeners,
        "nat-discovery": {"addresses": [a for a, _ in OWN]},
    })  # fmt: skip
    table_1(lab, CLIENT4, (SERVER4, OTHER4))
    table_1(lab, CLIENT6, (SERVER6, OTHER6))
    long_and_aside(lab)
    client_of_coturn(lab)
    taken_away(lab, server)


if __name__ == "__main__":
    labs.run(main)
