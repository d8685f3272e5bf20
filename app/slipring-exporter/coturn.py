# SPDX-License-Identifier: BSD-3-Clause
"""Counters that coturn has, too, under its names (--coturn-names). coturn's counters have no _total, so
all of them are untyped here. doc/coturn.md lists the names that have no counterpart, and why.
"""

from prometheus_client.core import Metric


def traffic(realms):
    """Relayed datagrams, by realm and in total. coturn adds those of a session when it ends, and also
    counts TURN headers.
    """
    for direction, field, meaning in (
        ("rcv", "rx", "received from clients"), ("sent", "tx", "sent to clients"),
        ("peer_rcv", "tx", "received from peers"), ("peer_sent", "rx", "sent to peers"),
    ):  # fmt: skip
        for unit, counter, word in (("p", field, "Datagrams"), ("b", field + "_bytes", "Bytes")):
            text = f"{word} {meaning}."
            counts = {str(row.get("realm", ""))[:160]: row.get(counter) for row in realms}
            counts = {realm: count for realm, count in counts.items() if isinstance(count, int)}
            for realm, count in counts.items():
                yield f"turn_traffic_{direction}{unit}", text, count, {"realm": realm}
            if counts:
                yield f"turn_total_traffic_{direction}{unit}", text, sum(counts.values()), {}


def families(answers):
    stats = answers.get("/slipring/stats", {})
    drops, refusals = answers.get("drops", {}), answers.get("refusals", {})
    found = (
        ("turn_total_allocations", "Live allocations.", stats.get("allocations"), {"type": "all"}),
        ("turn_packet_processed", "Datagrams received.", stats.get("rx"), {}),
        ("turn_packet_dropped", "Datagrams dropped.", stats.get("drops"), {}),
        ("turn_udp_sendmmsg_datagrams", "Datagrams sent.", stats.get("tx"), {}),
        ("turn_udp_recvmmsg_packets", "Datagrams received.", stats.get("rx"), {}),
        (
            "turn_unauthenticated_401_responses",
            "Requests without credentials, answered with a challenge.",
            refusals.get("challenge"),
            {},
        ),
        (
            "turn_unauthenticated_401_dropped_responses",
            "Challenges not sent because of a limit.",
            drops.get("unauthenticated_rate"),
            {},
        ),
    )
    metrics = {}
    for name, text, value, labels in (*found, *traffic(answers.get("realms", ()))):
        if isinstance(value, int):
            metric = metrics.setdefault(name, Metric(name, text, "unknown"))
            metric.add_sample(name, labels, value)
    return list(metrics.values())
