# SPDX-License-Identifier: BSD-3-Clause
"""coturn's names for what slipring counts too (--coturn-names). coturn gives its counters no _total,
so all of them are untyped here. doc/coturn.md says which names there cannot be, and why.
"""

from prometheus_client.core import Metric


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
    for name, text, value, labels in found:
        if isinstance(value, int):
            metric = Metric(name, text, "unknown")
            metric.add_sample(name, labels, value)
            yield metric
