# SPDX-License-Identifier: BSD-3-Clause
"""coturn's names for what slipring counts too (--coturn-names). coturn gives its counters no _total,
so all of them are untyped here. doc/coturn.md says which names there cannot be, and why.
"""

from prometheus_client.core import Metric


def traffic(realms):
    """What was relayed, by realm and in all. coturn adds a session's when it has ended, and counts
    headers of TURN too.
    """
    for way, field, what in (
        ("rcv", "rx", "received from clients"), ("sent", "tx", "sent to clients"),
        ("peer_rcv", "tx", "received from peers"), ("peer_sent", "rx", "sent to peers"),
    ):  # fmt: skip
        for unit, of, word in (("p", field, "Datagrams"), ("b", field + "_bytes", "Bytes")):
            text = f"{word} {what}."
            counts = {str(row.get("realm", ""))[:160]: row.get(of) for row in realms}
            counts = {realm: count for realm, count in counts.items() if isinstance(count, int)}
            for realm, count in counts.items():
                yield f"turn_traffic_{way}{unit}", text, count, {"realm": realm}
            if counts:
                yield f"turn_total_traffic_{way}{unit}", text, sum(counts.values()), {}


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
            "Requests without credentials that were asked for them.",
            refusals.get("challenge"),
            {},
        ),
        (
            "turn_unauthenticated_401_dropped_responses",
            "Such answers that a limit has held back.",
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
