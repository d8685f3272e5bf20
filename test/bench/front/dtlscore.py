# SPDX-License-Identifier: BSD-3-Clause
"""dtls-core: the cost of a DTLS client's datagram for one worker, without any port of the kernel.

dtls_core has clients of libssl in its own process and a software port. It times a worker's rounds,
then the records alone with the same sessions, then the port alone. The clients' sealing and
checking are not timed. The port's time is subtracted; the records' time shows how much of the rest
is slipring's.
"""

import json

from machine import run
from rounds import Alternation

NAME = "dtls-core"
BINARY = "test/unit/dtls_core"
CLIENTS = (10, 60)
WAYS = ("up", "down", "mixed")
LINES = (  # metric, key of figures(), unit, server
    ("ns_per_datagram", "relay", "ns", "slipring"),
    ("ns_per_datagram", "records", "ns", "records"),
    ("ns_median_burst", "relay_median", "ns", "slipring"),
    ("ns_median_burst", "records_median", "ns", "records"),
    ("ns_beside_records", "ours", "ns", "slipring"),  # from median bursts, like the ratio
    ("ratio_records", "share", "ratio", "slipring"),
    ("ns_per_datagram", "port", "ns", "port"),
    ("datagrams_per_cpu_s", "rate", "1/s", "slipring"),
)


def figures(answer):
    """{direction: {key: value}} of the output of dtls_core, without the port."""
    found = {}
    for direction in WAYS:
        relay, records, port = (answer[direction][part] for part in ("relay", "records", "port"))
        ns, median = (relay[key] - port[key] for key in ("ns", "median"))
        found[direction] = {
            "relay": ns,
            "records": records["ns"],
            "relay_median": median,
            "records_median": records["median"],
            "ours": median - records["median"],
            "share": records["median"] / median,
            "port": port["ns"],
            "rate": 1e9 / ns,
        }
    return found


def core(bench, clients):
    """One run of dtls_core: its answer is the last line, after those of the tests' worlds."""
    done = run(
        "taskset", "-c", str(bench.work_cpu), bench.machine.binary(BINARY), str(clients),
        str(bench.window), timeout=120,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def report(bench, series, answer):
    more = {"transport": "dtls", **{key: answer[key] for key in ("clients", "size", "cipher")}}
    if series.noisy:
        more["noisy"] = True
    for direction in WAYS:
        for metric, key, unit, server in LINES:
            values = series.values(direction, key)
            bench.results.add(NAME, metric, values, unit, server=server, direction=direction, **more)


def main(bench):
    answers = {}

    def one(clients):
        answers[clients] = core(bench, clients)
        return figures(answers[clients])

    loads = CLIENTS if bench.full else CLIENTS[:1]
    groups = {count: lambda number, count=count: one(count) for count in loads}
    found = Alternation(groups, bench.gate, bench.plan(seconds=180), bench.say).run()
    for count in loads:
        report(bench, found[count], answers[count])
