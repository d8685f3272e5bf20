# SPDX-License-Identifier: BSD-3-Clause
"""slipring-loadgen with clients over TCP, TLS and DTLS, whose sockets belong to the kernel."""

import streams
from loadgen import IVAN, PEERS4, PEERS6

CLIENTS = {4: "10.99.0.30", 6: "fd99::30"}


def join(lab, gen):
    """Puts the generator's kernel on the segment."""
    lab.attach(gen.ns, "g0", 0x30)
    gen.ns.run("sysctl", "-qw", "net.ipv6.conf.g0.accept_dad=0")
    for address in CLIENTS.values():
        lab.add_address(gen.ns, "g0", address)
    gen.ns.ip("link", "set", "g0", "up")


def over(transport, port, *options, family=4, server=None, user=IVAN):
    """Options of a run over a transport."""
    server = server or (streams.V4 if family == 4 else streams.V6)
    host = f"[{server}]:{port}" if family == 6 else f"{server}:{port}"
    return (
        "--transport", transport, "--server", host, "--client-addr", CLIENTS[family],
        "--peer-port", "net_af_packet1,iface=l1", "--peer-addr",
        PEERS4 if family == 4 else PEERS6, "--warmup", "0", "--drain", "0.25", *user, *options,
    )  # fmt: skip


def alone(transport, port, *options):
    """Options of a run over a transport without peers."""
    return (
        "--transport", transport, "--server", f"{streams.V4}:{port}", "--client-addr", CLIENTS[4],
        "--warmup", "0", "--drain", "0.25", *options,
    )  # fmt: skip


def check_links(result, transport, count):
    links = result["links"]
    assert result["transport"] == transport and links["up"] == links["opened"] == count, links
    assert links["failed"] == links["broken"] == links["held_back"] == 0, links
    word = {"tcp": None, "tls": "TLSv1", "dtls": "DTLSv1"}[transport]
    assert links["cipher"] is None if word is None else links["cipher"].startswith(word), links
