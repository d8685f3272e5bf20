#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: fails if an answer takes a quarter of a second
"""1, 2 and 4 workers on 1 and 2 queues: they relay alike, whichever queue a packet arrives on."""

import lab as labs
import server as servers
from lab import CLIENT4, CLIENT6, PEER4, PEER6
from turnlib import EVEN_PORT, REQUESTED_ADDRESS_FAMILY, RESERVATION_TOKEN, SUCCESS

CLIENTS, ROUNDS, BURST = 16, 10, 8
PAIRS = 8  # reservations
MESSAGES = ROUNDS * BURST
RELAYS = ["10.99.0.5", "10.99.0.6", "fd99::5", "fd99::6"]


def family(ip):
    return (REQUESTED_ADDRESS_FAMILY, bytes([2 if ":" in ip else 1, 0, 0, 0]))


def relay(lab, server, echoes):
    """Clients of all family pairs at once, in bursts. Every datagram comes back, in order."""
    clients = []
    for i in range(CLIENTS):
        client_ip = (CLIENT4, CLIENT6)[i % 2]
        peer = echoes[i // 2 % 2].address
        client = lab.client(ip=client_ip)
        assert client.allocate([family(peer[0])]).cls == SUCCESS
        assert client.bind(0x4000, peer).cls == SUCCESS
        # A single one first: until the peer's MAC is known at most 16 packets are held.
        client.send_channel(0x4000, b"first")
        assert client.wait("channel") == ("channel", 0x4000, b"first")
        clients.append((client, peer))
    for number in range(0, MESSAGES, BURST):
        payloads = [b"%d" % (number + i) for i in range(BURST)]
        for payload in payloads:
            for i, (client, peer) in enumerate(clients):
                if i % 3:
                    client.send_channel(0x4000, payload)
                else:
                    client.send(peer, payload)
        for client, _ in clients:
            got = [client.wait("channel") for _ in payloads]
            # af_packet may change the queue of a flow; the order holds within a worker.
            assert None not in got and sorted(got) == sorted(
                ("channel", 0x4000, p) for p in payloads
            ), got
    shares = [w["allocations"] for w in server.workers()]
    for client, _ in clients:
        assert client.refresh(0).cls == SUCCESS or client.retransmissions
        assert client.unanswered() == 0
        client.close()
    return shares


def reservations(lab, echo):
    """A reserved port belongs to the worker that reserved it, its client to any other."""
    for i in range(PAIRS):
        first = lab.client(ip=(CLIENT4, CLIENT6)[i % 2])
        assert first.allocate([(EVEN_PORT, b"\x80")]).cls == SUCCESS
        second = lab.client(ip=(CLIENT4, CLIENT6)[i // 2 % 2])
        assert second.allocate([(RESERVATION_TOKEN, first.token)]).cls == SUCCESS
        assert second.relayed[1] == first.relayed[1] + 1, (first.relayed, second.relayed)
        for client in (first, second):
            assert client.bind(0x4000, echo.address).cls == SUCCESS
            for number in range(5):
                client.send_channel(0x4000, b"%d" % number)
                assert client.wait("channel") == ("channel", 0x4000, b"%d" % number)
            assert client.refresh().cls == SUCCESS and client.refresh(0).cls == SUCCESS
            assert client.refresh().code == 437
            client.close()


def whole_addresses(lab):
    """A relay address of each family for each worker, separate from the listeners' addresses: rules
    by address."""
    port = servers.CONFIG["ports"][0]
    more = [f"{address}/{64 if ':' in address else 24}" for address in RELAYS]
    ports = [{**port, "addresses": [*port["addresses"], *more]}]
    config = {"workers": {"count": 2}, "relay": {"addresses": RELAYS}, "ports": ports}
    server = lab.server(config, queues=2)
    relay(lab, server, (lab.echo(PEER4), lab.echo(PEER6)))
    (steps,) = {row["step"] for row in server.telemetry.ask("/slipring/steering")}
    moved = sum(w["handed_in"] for w in server.workers())
    assert (steps, moved) == ("address", 0), (steps, moved)
    server.finish()


def check(lab, workers, queues):
    config = {"workers": {"count": workers}}
    server = lab.server(config, queues=queues)
    echoes = lab.echo(PEER4), lab.echo(PEER6)
    shares = relay(lab, server, echoes)
    counters = server.workers()
    moved = sum(w["handed_in"] for w in counters)
    assert len(counters) == workers and sum(shares) == CLIENTS, shares
    home = lab.vtap and queues == workers  # the kernel's program distributes by home worker, like a NIC
    if home:
        (steps,) = {row["step"] for row in server.telemetry.ask("/slipring/steering")}
        assert steps == ("none" if workers == 1 else "port-bits"), steps
    if workers == 1 or home:
        assert moved == 0, f"{moved} handed over"
        assert workers == 1 or sum(s > 0 for s in shares) > 1, shares
    else:
        # with a probability of 2^-15 all 16 random 5-tuples have one home worker
        assert moved > 0 and sum(s > 0 for s in shares) > 1, (moved, shares)
    assert sum(len(e.seen) for e in echoes) == CLIENTS * (MESSAGES + 1)
    reservations(lab, echoes[0])
    labs.until(lambda: server.stats()["allocations"] == 0, 2, "no allocation is left")
    print(f"{workers} workers, {queues} queues: {CLIENTS * MESSAGES} datagrams echoed, none lost; "
        f"allocations {shares}, handed over {moved}", flush=True)  # fmt: skip
    for echo in echoes:
        echo.close()
    server.finish()


def main(lab):
    labs.need_own_server()
    for workers in (1, 2, 4):
        for queues in (1, 2):
            check(lab, workers, queues)
    if lab.vtap:
        whole_addresses(lab)


if __name__ == "__main__":
    labs.run(main)
