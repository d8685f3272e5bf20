# SPDX-License-Identifier: BSD-3-Clause
"""alloc: authenticated allocations per second of CPU, and the memory that an allocation takes.

An allocation here is Allocate and Refresh with lifetime 0 by a client that already has its nonce.
slipring-loadgen sends them to the servers. request_core sends them to a worker on a replay port,
from frame to frame. alloc_core gives them only to the state machine. The latter two sign their
requests beforehand. model_memory measures the memory of a million allocations.
"""

import json
import re

import generator
import servers
import stats
from machine import BenchError, run
from relaycore import callgrind
from rounds import Alternation, each_part, persistent
from servers import Slipring
from roads.veths import Road, resident_bytes

NAME = "alloc"
CLIENTS = 8192  # coturn keeps a client's address and port for a second after the release
WINDOW = 256  # clients in set-up at a time
TEARDOWN_S = 45  # all clients leave at once, and those without an answer wait up to 16 s
HELD = 10_000
CORE = "test/bench/alloc_core"
CORE_CYCLES = 40
WORKER = "test/bench/request_core"
WORKER_CYCLES = 24
WORKER_MB = 512
CORE_QUARANTINES = (0, 120)
COUNTED, COUNTED_CYCLES, COUNTED_IN = 200, (2, 6), "route_all"  # counted by callgrind
MEMORY = "test/model/model_memory"
RELAYS, RELAY_PORTS, QUARANTINE = 32, 16384, 120  # slipring: ports for a run, all of which rest
DENOMINATORS = ("process", "cpu0")


def alloc_case(bench, road, make):
    duration = bench.window * 1.5 + 1
    options = [
        "--mode", "alloc", "--clients", str(CLIENTS), "--window", str(WINDOW), "--setup-rate",
        "0", "--duration", str(duration), "--warmup", "0", "--drain", "0.3",
    ]  # fmt: skip

    def one():
        with make().started() as server:
            load = generator.on_road(bench, road, *options)
            load.late = TEARDOWN_S
            result, cost = generator.measured(bench, road, load, server, duration, 0)
        rate = result["allocations_per_s"]
        return {
            "rate": rate,
            "process": rate / max(cost.server, 1e-3),
            "cpu0": rate / max(cost.cpu, 1e-3),
        }

    return one


def held_bytes(bench, road, server):
    """Growth of a server's memory per allocation, with HELD allocations."""
    options = [
        "--mode", "alloc-hold", "--clients", str(HELD), "--setup-rate", "0", "--window",
        str(WINDOW), "--duration", "1", "--warmup", "0",
    ]  # fmt: skip
    before = most = resident_bytes(server.pid)
    load = generator.on_road(bench, road, *options)
    with load.started() as running:
        while running.child.poll() is None:
            most = max(most, resident_bytes(server.pid))
            bench.pause(0.05)
        result = running.result(5)
    ready = result["clients_ready"]
    if ready < HELD * 0.99:
        bench.say(f"{server.name}: only {ready:,} of {HELD:,} allocations were made")
    return (most - before) / ready


def report_held(bench, road, makers):
    for name, make in makers.items():
        if name == "slipring":
            continue

        def held(make=make):
            with make().started() as server:
                return held_bytes(bench, road, server)

        values = [persistent(held, bench.say)]
        bench.results.add(
            NAME, "bytes_per_allocation", values, "bytes", allocations=HELD, how="resident memory",
            **make().parameters(),
        )  # fmt: skip


def core(bench, quarantine):
    """The output of alloc_core."""
    cycles = 5 if bench.quick else CORE_CYCLES
    done = run(
        "taskset", "-c", str(bench.work_cpu), bench.machine.binary(CORE),
        "--quarantine", str(quarantine), "--cycles", str(cycles),
    )  # fmt: skip
    return json.loads(done.stdout)


def report_core(bench):
    cases = {q: lambda q=q: core(bench, q) for q in CORE_QUARANTINES}
    found = Alternation({"state machine": cases}, bench.gate, bench.plan(120), bench.say).run()
    series = found["state machine"]
    for quarantine in CORE_QUARANTINES:
        more = {
            "server": "slipring",
            "driver": "state machine alone",
            "relay_addresses": series.rounds[0][quarantine]["relay_addresses"],
            "quarantine": quarantine,
            "allocations": series.rounds[0][quarantine]["allocations"],
        }
        values = series.values(quarantine, "allocs_per_cpu_s")
        bench.results.add(NAME, "allocs_per_cpu_s", values, "1/s", **more)
    last = series.rounds[-1][CORE_QUARANTINES[-1]]
    bench.results.add(
        NAME, "bytes_per_allocation", [last["bytes_shard"]], "bytes",
        server="slipring", how="pools of fixed size, for each relay port",
    )  # fmt: skip


def report_ir(bench):
    """Instructions of the state machine for a request: the difference of two run lengths."""

    def counted(cycles):
        return callgrind(COUNTED_IN, bench.machine.binary(CORE), "--quarantine", "0",
            "--allocations", str(COUNTED), "--cycles", str(cycles))  # fmt: skip

    ends = [(2 * COUNTED * cycles, counted(cycles)) for cycles in COUNTED_CYCLES]
    bench.results.add(
        NAME, "ir_per_request", [stats.per_unit(*ends)], "instructions", server="slipring",
        driver="state machine alone",
    )  # fmt: skip


def memory_of(text):
    """({workers: bytes per allocation, of a million}, growth of the process)."""
    workers = re.search(r"^workers((?: +\d+)+)$", text, re.MULTILINE)
    sums = re.search(r"^together((?: +[\d.]+)+)$", text, re.MULTILINE)
    grown = re.search(r"grown by ([\d.]+) bytes each", text)
    if not (workers and sums and grown):
        raise BenchError(f"{MEMORY} said: {text[-500:]}")
    numbers = zip(map(int, workers[1].split()), map(float, sums[1].split()))
    return dict(numbers), float(grown[1])


def report_memory(bench):
    """Memory of a shard and of the quotas, with a million allocations."""
    sums, grown = memory_of(run(bench.machine.binary(MEMORY), timeout=300).stdout)
    add, more = bench.results.add, {"server": "slipring", "allocations": 1_000_000}
    for workers, value in sums.items():
        add(NAME, "bytes_per_allocation", [value], "bytes", how="all parts", workers=workers, **more)
    add(NAME, "bytes_per_allocation", [grown], "bytes", how="growth of the process", **more)


def worker(bench):
    """The output of request_core."""
    cycles = 4 if bench.quick else WORKER_CYCLES
    done = run(
        bench.machine.binary(WORKER), "--lcores", f"0@{bench.work_cpu}", "--no-huge",
        "-m", str(WORKER_MB), "--no-shconf", "--iova-mode=va", "--no-pci", "--no-telemetry",
        "--log-level=error", "--", "--cycles", str(cycles),
    )  # fmt: skip
    return json.loads(done.stdout)


def report_worker(bench):
    """One worker: its rate with a core of its own. It drops no request."""
    cases = {"one": lambda: worker(bench)}
    found = Alternation({"worker": cases}, bench.gate, bench.plan(60), bench.say).run()
    series = found["worker"]
    more = {"server": "slipring", "driver": "replay", "clients": series.rounds[0]["one"]["clients"]}
    add = bench.results.add
    values = series.values("one", "requests_per_cpu_s")
    add(NAME, "requests_per_second", values, "1/s", cpu="worker thread", **more)
    values = series.values("one", "allocates_per_cpu_s")
    add(NAME, "allocates_per_second", values, "1/s", cpu="worker thread", **more)


def maker_of_ours(bench, road):
    return lambda: Slipring(
        bench, road, relays=RELAYS, quarantine=QUARANTINE, allocations=RELAYS * RELAY_PORTS
    )


def report(bench, makers, series):
    """Lines of the servers, then the ratios."""
    add = bench.results.add
    named = {}
    for name, make in makers.items():
        named[name] = {**make().parameters(), "clients": CLIENTS, "relay_addresses": 1}
        if name == "slipring":
            named[name].update(relay_addresses=RELAYS, quarantine=QUARANTINE)
        for cpu in DENOMINATORS:
            values = series.values(name, cpu)
            add(NAME, "allocs_per_cpu_s", values, "1/s", cpu=cpu, **named[name])
    for name, make in makers.items():
        if name != "slipring":
            rival = make().parameters()
            more = {**rival, "server": "slipring", "against": rival["server"], "clients": CLIENTS}
            for cpu in DENOMINATORS:
                values = series.ratios("slipring", name, cpu)
                add(NAME, "ratio_coturn", values, "ratio", quantity="allocs_per_cpu_s", cpu=cpu, **more)


def report_servers(bench):
    with Road(bench.rest_cpu, bench.work_cpu) as road:
        makers = {**servers.all_servers(bench, road), "slipring": maker_of_ours(bench, road)}
        makers = servers.able(bench, makers)
        cases = {name: alloc_case(bench, road, make) for name, make in makers.items()}
        found = Alternation({"alloc": cases}, bench.gate, bench.plan(300), bench.say).run()
        report(bench, makers, found["alloc"])
        report_held(bench, road, makers)


def main(bench):
    parts = {
        "servers": report_servers, "worker": report_worker, "state machine": report_core,
        "instructions": report_ir, "memory": report_memory,
    }  # fmt: skip
    each_part({name: lambda part=part: part(bench) for name, part in parts.items()}, bench.say)
