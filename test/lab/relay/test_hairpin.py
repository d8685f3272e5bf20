#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two clients of one server reach each other by their relayed addresses, in process."""

import itertools

import lab as labs
from capture import Capture, from_server
from lab import CLIENT4, CLIENT6, SERVER4, SERVER6
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

ROUNDS = 20


def relay(lab, client_ip, is_v6):
    client = lab.client(ip=client_ip)
    family = bytes([2 if is_v6 else 1, 0, 0, 0])
    assert client.allocate([(REQUESTED_ADDRESS_FAMILY, family)]).cls == SUCCESS
    return client


def talk(one, second):
    """Both directions by indication, then by channel, then mixed: no loss and no reordering."""
    for client, peer in ((one, second), (second, one)):
        assert client.permit(peer.relayed).cls == SUCCESS
    for i in range(ROUNDS):
        for client, peer in ((one, second), (second, one)):
            payload = b"indication %d" % i
            client.send(peer.relayed, payload)
            assert peer.wait("data") == ("data", client.relayed, payload)
    assert one.bind(0x4000, second.relayed).cls == SUCCESS
    for i in range(ROUNDS):
        one.send_channel(0x4000, b"there %d" % i)
        assert second.wait("data") == ("data", one.relayed, b"there %d" % i)
        second.send(one.relayed, b"back %d" % i)
        assert one.wait("channel") == ("channel", 0x4000, b"back %d" % i)
    assert second.bind(0x4FFF, one.relayed).cls == SUCCESS
    for i in range(ROUNDS):
        one.send_channel(0x4000, b"there %d" % i)
        assert second.wait("channel") == ("channel", 0x4FFF, b"there %d" % i)
    assert not one.drain() and not second.drain()


def usage(server, client):
    """The losses in a client's allocation listing, without zero counters."""
    rows = [r for r in server.allocations() if r["relay"].endswith(f":{client.relayed[1]}")]
    assert len(rows) == 1, rows
    row = rows[0]
    losses = {k[5:]: n for k, n in row.items() if k.startswith("lost_") and n != 0}
    return row["rx"], row["rx_bytes"], row["tx"], row["tx_bytes"], losses


def refused(lab, server):
    """Released relayed addresses, and receivers that have not permitted the sender."""
    one, second = relay(lab, CLIENT4, False), relay(lab, CLIENT4, False)
    dead = relay(lab, CLIENT4, False)
    gone = dead.relayed
    assert dead.refresh(0).cls == SUCCESS
    assert one.permit(second.relayed).cls == SUCCESS  # same address: permits the released one, too
    before = server.drops()
    one.send(second.relayed, b"not permitted there")
    one.send(gone, b"nobody there")
    one.send((SERVER4, 3478), b"not to a listener")

    def dropped():
        drops = server.drops()
        names = ("peer-no-permission", "hairpin-no-allocation", "peer-own")
        return tuple(drops.get(name, 0) - before.get(name, 0) for name in names)

    labs.until(lambda: sum(dropped()) >= 3, 3, "all three are dropped")
    assert dropped() == (1, 1, 1), dropped()
    # Data to a relay port counts as relayed, and the second client lost one datagram.
    assert usage(server, one) == (2, 19 + 12, 0, 0, {"permission": 1}), usage(server, one)
    assert usage(server, second) == (0, 0, 0, 0, {"permission": 1}), usage(server, second)
    assert not one.fence() and not second.fence()
    # To itself: a client may have its own relayed address as a peer.
    one.send(one.relayed, b"to myself")
    assert one.wait("data") == ("data", one.relayed, b"to myself")


def main(lab):
    labs.need_own_server()
    expected = ("peer-no-permission", "hairpin-no-allocation", "peer-own")
    server = lab.server(allow=expected)
    with Capture(lab, lab.sw, "d0") as capture:
        for is_v6 in (False, True):
            for one_ip, other_ip in itertools.product((CLIENT4, CLIENT6), repeat=2):
                talk(relay(lab, one_ip, is_v6), relay(lab, other_ip, is_v6))
                print(f"{one_ip} <-> {other_ip} over {'IPv6' if is_v6 else 'IPv4'}: ok")
        for _ in range(8):  # ports are random: some of these pairs use two workers
            talk(relay(lab, CLIENT4, False), relay(lab, CLIENT4, False))
    stray = [f for f in from_server(capture.frames) if f.sport and f.sport != 3478]
    assert not stray, f"hairpin frames on the wire: {stray[:3]}"
    refused(lab, server)
    server.finish()

    lab.server({"peers": {"hairpin": False}})
    client = relay(lab, CLIENT4, False)
    for ip in (SERVER4,):
        assert (
            client.permit((ip, 50000)).code == 403 and client.bind(0x4000, (ip, 50000)).code == 403
        )
    assert relay(lab, CLIENT4, True).permit((SERVER6, 50000)).code == 403


if __name__ == "__main__":
    labs.run(main)
