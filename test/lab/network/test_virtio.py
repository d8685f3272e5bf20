#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A virtio port, with clients and peers in virtual machines of the same host, which leave UDP
checksums to a NIC that does not exist. Relayed packets have complete checksums, which the kernels
at both ends verify.

    slipring net_virtio_user ── vhost-user ── net_vhost vtap_wire net_af_packet ── d0
"""

import json
import os
import subprocess

import lab as labs
from lab import CLIENT4, CLIENT6, PEER4, PEER6
from server import CONFIG
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

WIRE = os.path.join(labs.BUILD, "test/unit/vtap_wire")
FAMILY = {4: b"\x01\0\0\0", 6: b"\x02\0\0\0"}


def host(lab, path):
    """The other side of the virtio device. Its answer to a line lists the frames at both ends."""
    devices = (f"net_vhost0,iface={path},queues=1", "net_af_packet0,iface=d0,framecnt=1024")
    process = subprocess.Popen(
        lab.dut.argv(WIRE, lab.prefix + "w", *devices, "unfinished"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    lab.cleanup.callback(process.wait)
    lab.cleanup.callback(process.kill)
    labs.until(lambda: os.path.exists(path), 20, "the socket of the device's host")
    process.stdout.readline()
    return process


def relays(lab, ip, peer):
    client, echo = lab.client(ip=ip), lab.echo(peer)
    family = FAMILY[6 if ":" in peer else 4]
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    client.relay(echo, size=1001)


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "vhost")
    wire = host(lab, path)
    device = f"net_virtio_user0,path={path},queues=1,mac={labs.DUT_MAC}"
    port = {**CONFIG["ports"][0], "device": device}
    server = lab.server({"workers": {"count": 1}, "ports": [port]})
    for ip, peer in ((CLIENT4, PEER4), (CLIENT6, PEER6), (CLIENT4, PEER6), (CLIENT6, PEER4)):
        relays(lab, ip, peer)
    print("\n", file=wire.stdin, flush=True)
    left = json.loads(wire.stdout.readline())[1]["left"]
    assert left > 4 * 2 * 70, left
    assert not server.drops().get("udp-checksum"), server.drops()
    server.finish()


if __name__ == "__main__":
    labs.run(main, port="af_packet")
