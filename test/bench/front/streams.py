# SPDX-License-Identifier: BSD-3-Clause
"""streams: clients over TCP, TLS and DTLS, next to coturn: work per second of CPU.

The paced loads are such that both servers carry them. An unpaced flood over TCP measures which
server stops reading first. The clients are connections of the generator's kernel, the peers are the
generator's own, and both directions are loaded at the same time. For TCP and TLS the servers' end
of the clients' veth belongs to their kernel, like a kernel NIC next to slipring's
(conf/streams.yaml); for DTLS it belongs to slipring. The end of the peers' veth is slipring's port,
or belongs to coturn's kernel.

slipring runs twice: with idle: adaptive, its default, and with idle: saving and sleeps of 1 ms, for
boxes where CPU time matters more than delay. The time that its workers spend on looking at empty
queues is counted like all other time; worker_busy is the share of the CPU in which a worker had
work.

Three questions for each transport: datagrams and payload bytes per second of CPU; handshakes per
second of CPU (connect, handshake, one Binding, close); and the memory of an idle client with an
allocation. There are two denominators: the time that all threads of the server ran, workers' looks
at empty queues included, and the time that its CPU was busy, softirqs included. The one
that is less favourable for slipring is marked as the one to quote.
"""

import contextlib
import glob
import json
import subprocess
import time
from dataclasses import dataclass

import generator
import servers
import stats
from roads import veths
from machine import BenchError, run
from rounds import Alternation, each_part
from servers import Coturn, Slipring, Telemetry
from roads.veths import CLIENT_NET, PEER_NET, SERVER, Road

NAME = "streams"
PORTS = {"tcp": 3478, "tls": 5349, "dtls": 5349}
SIZE = 120
LOSSY = 0.001  # a load with more lost or held back is not carried
HANDSHAKE_CLIENTS = 16
HELD = 1000
CONNECTIONS = 4000
SAVING = {"idle": "saving"}
SLEEP = 1000  # microseconds: the least CPU, a millisecond later
DENOMINATORS = ("process", "cpu0")
SECONDS = 240  # seconds for the rounds of one load
FETCH_NS = 100_000
ALWAYS = 0x7FFFFFFF  # empty polls before interrupts are enabled again


@dataclass(frozen=True)
class Way:
    """Transport of clients. tls: the latest version that they speak, if it can be chosen."""

    transport: str
    tls: str = ""

    @property
    def name(self):
        return f"{self.transport} {self.tls}".strip()

    def parameters(self):
        return {"transport": self.transport, **({"tls": self.tls} if self.tls else {})}

    def options(self):
        return [
            *(("--tls-max", self.tls) if self.tls else ()), "--transport", self.transport,
            "--server", f"{SERVER}:{PORTS[self.transport]}", "--client-addr",
            f"{CLIENT_NET}.2/24", "--user", servers.USER, "--password", servers.PASSWORD,
        ]  # fmt: skip


WAYS = (Way("tcp"), Way("tls", "1.2"), Way("tls", "1.3"), Way("dtls"))


@dataclass(frozen=True)
class Load:
    """A number of clients at a rate, both directions together."""

    name: str
    clients: int
    pps: int

    def options(self, duration):
        return [
            "--mode", "channel", "--direction", "both", "--clients", str(self.clients), "--pps",
            str(self.pps), "--size", str(SIZE), "--duration", str(duration), "--warmup", "0",
            "--drain", "0.5",
        ]  # fmt: skip


LOADS = (
    Load("10 x 1000 pps", 10, 20_000),
    Load("10 x 2000 pps", 10, 40_000),
    Load("10 x 4000 pps", 10, 80_000),
    Load("200 calls", 200, 20_000),
)


# --- the road -------------------------------------------------------------------------------------


def fetchers(interface):
    """Kernel threads that poll an interface of that name, in any namespace."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(OSError), open(path) as file:
            if file.read().startswith(f"napi/{interface}-"):
                found.add(int(path.split("/")[2]))
    return found


class StreamRoad(Road):
    """The clients' end of the road belongs to the generator's kernel."""

    begun = 1500  # number of frames with acknowledgements and records before any media

    def steer(self, ns, interface, cpu):
        """On a veth, the sender of a frame does the kernel's receive work, or interrupts the other
        CPU for each frame, for 2 to 6 us in a virtual machine. A server with a NIC has neither cost.
        So a thread on the generator's CPU polls for the server's frames at intervals, like a NIC
        that moderates its interrupts. The generator's CPU also receives for the server; that spares
        both servers.
        """
        if ns is not self.gen:
            return
        before = fetchers(interface)
        ns.run("ethtool", "-K", interface, "gro", "on")  # without it a veth has no such thread
        settings = {"threaded": 1, "gro_flush_timeout": FETCH_NS, "napi_defer_hard_irqs": ALWAYS}
        for name, value in settings.items():
            ns.run("sh", "-c", f"echo {value} >/sys/class/net/{interface}/{name}")
        for thread in fetchers(interface) - before:
            run("taskset", "-pc", str(cpu), str(thread))
            run("chrt", "-f", "-p", "1", str(thread))  # without the generator's own work

    def make(self):
        super().make()
        self.gen.ip("addr", "replace", f"{CLIENT_NET}.2/24", "dev", "c0")
        self.gen.ip("link", "set", "c0", "arp", "on")

    def to_dpdk(self):
        super().to_dpdk()
        self.port_ends = Road.port_ends

    def to_both(self):
        """Clients reach the server's kernel, peers its port."""
        self.to_dpdk()
        self.port_ends = ("s1",)
        self.srv.ip("addr", "replace", SERVER + "/24", "dev", "s0")
        self.srv.ip("link", "set", "s0", "arp", "on")


# --- the servers ----------------------------------------------------------------------------------


class StreamSlipring(Slipring):
    """slipring with TCP and TLS on its kernel's address, or with DTLS on a port."""

    def __init__(self, bench, road, transport, certificate, saving=False):
        super().__init__(bench, road)
        self.transport, self.saving = transport, saving
        self.cert, self.key = certificate
        if saving:
            self.name = "slipring-saving"

    def config(self):
        config = super().config()
        listener = {"transport": self.transport, "address": SERVER, "port": PORTS[self.transport]}
        config["listeners"] = [listener]
        if self.transport != "dtls":
            del config["ports"][0]
            config["streams"] = {"connections": CONNECTIONS, "per-source": CONNECTIONS}
        else:
            config["dtls"] = {"sessions": CONNECTIONS, "per-source": CONNECTIONS}
        config["test-constants"]["limits.handshakes.rate"] = 0  # all clients have one address
        if self.saving:
            config["workers"].update(SAVING)
            config["test-constants"]["workers.idle-sleep"] = SLEEP
        if self.transport != "tcp":
            config["tls"] = {"certificate": self.cert, "key": self.key}
        return config

    def prepare(self):
        if self.transport == "dtls":
            self.road.to_dpdk()
        else:
            self.road.to_both()

    def parameters(self):
        return {"server": self.kind, "idle": "saving" if self.saving else "adaptive"}

    def refused(self):
        """The reason why slipring has no such listener; None if it has one."""
        path = self.bench.machine.path("check.yaml")
        with open(path, "w") as file:
            json.dump(self.config(), file)
        argv = [self.binary, "--check", "-c", path]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
        return done.stderr.strip() if done.returncode else None

    def cycles(self):
        """(busy, all) cycles counted by the worker."""
        telemetry = Telemetry(self.prefix)
        try:
            worker = telemetry.ask("/slipring/worker,0")
        finally:
            telemetry.close()
        return worker["busy_cycles"], worker["total_cycles"]


class StreamCoturn(Coturn):
    """turnserver with TLS and DTLS."""

    def __init__(self, bench, road, transport, certificate):
        super().__init__(bench, road)
        self.transport = transport
        cert, key = certificate
        port = PORTS["tls"]
        self.tls = (f"--cert={cert}", f"--pkey={key}", f"--tls-listening-port={port}")
        # 4.17.1 listens for DTLS only with this flag
        if transport == "dtls" and "--dtls" in servers.flags_of(servers.help_of(self.binary)):
            self.tls += ("--dtls",)

    def ready(self):
        self.running()
        kind = "u" if self.transport == "dtls" else "t"
        argv = ("ss", f"-ln{kind}H", f"sport = {PORTS[self.transport]}")
        return SERVER in self.road.srv.run(*argv)


@contextlib.contextmanager
def busy_share(server, figures):
    """Adds to figures the share of time in which slipring's worker had work, by its own count."""
    before = server.cycles() if server.kind == "slipring" else None
    yield
    if before:
        busy, whole = (b - a for a, b in zip(before, server.cycles()))
        figures["worker_busy"] = busy / max(whole, 1)


def make_certificate(bench):
    """(certificate, key): ECDSA with P-256, signed by itself."""
    cert, key = bench.machine.path("cert.pem"), bench.machine.path("key.pem")
    run(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
        "-nodes", "-days", "2", "-subj", "/CN=turn.bench", "-out", cert, "-keyout", key,
    )  # fmt: skip
    return cert, key


def all_servers(bench, road, transport, certificate):
    """{name: function that makes one}; only coturn if slipring has no such listener."""
    args = bench, road, transport, certificate
    return {
        "slipring": lambda: StreamSlipring(*args),
        "slipring-saving": lambda: StreamSlipring(*args, saving=True),
        "coturn": lambda: StreamCoturn(*args),
    }


# --- runs -----------------------------------------------------------------------------------------


def start(bench, road, variant, *options):
    """A run with peers."""
    peers = ("--peer-port", "net_af_packet0,iface=p0", "--peer-addr",
        f"{PEER_NET}.100-{PEER_NET}.107/24")  # fmt: skip
    argv = (*variant.options(), *peers, *options)
    return generator.Run(bench, *argv, netns=road.gen.argv(), plugged=road.plugged)


def alone(bench, road, variant, *options):
    """A run of clients without peers."""
    argv = (*variant.options(), *options)
    return generator.Run(bench, *argv, netns=road.gen.argv(), plugged=road.plugged)


def per_cpu(name, value, cost):
    process, cpu0 = max(cost.server, 1e-3), max(cost.cpu, 1e-3)
    return {(name, "process"): value / process, (name, "cpu0"): value / cpu0}


def unfit(result):
    """Share of the due datagrams that did not arrive: lost, or held back by a full connection."""
    held = result["links"]["held_back"]
    lost = sum(variant["lost"] for variant in result["ways"].values())
    return (held + lost) / max(result["total_sent"] + held, 1)


def relay_figures(result, cost):
    seconds = result["seconds"]
    payload = sum(variant["received_bytes"] for variant in result["ways"].values()) / seconds
    return {
        "relay_pps": result["recv_pps"],
        "unfit": unfit(result),
        "threads": cost.server,
        "busy": cost.cpu,
        "p99_us": generator.latency(result["ways"]["down"], "p99"),
        "bound": float(result["generator"]["bound"]),
        **per_cpu("relay_pps", result["recv_pps"], cost),
        **per_cpu("relay_bytes", payload, cost),
    }


def check_version(variant, cipher):
    """Servers are compared at the same version of TLS. cipher: "TLSv1.3 NAME", as negotiated."""
    if variant.tls and not (cipher or "").startswith(f"TLSv{variant.tls} "):
        raise BenchError(f"it speaks no TLS {variant.tls}, but {cipher}")


def looked_at(bench, road, variant, ciphers):
    """A function that checks a server that has just started, and stores its cipher."""

    def look(server):
        run = start(bench, road, variant, *LOADS[0].options(0.3))
        found = generator.plain(bench, run, 0.3)["links"]["cipher"]
        check_version(variant, found)
        ciphers[server.kind] = {"cipher": found} if found else {}

    return look


def relay_case(bench, road, make, variant, load):
    duration = bench.window * 1.5 + 1

    def one():
        with make().started() as server:
            warm = start(bench, road, variant, *load.options(0.3))
            generator.plain(bench, warm, 0.3)
            again = start(bench, road, variant, *load.options(duration))
            figures = {}
            with busy_share(server, figures):
                result, cost = generator.measured(
                    bench, road, again, server, duration, load.clients
                )
            return {**relay_figures(result, cost), **figures}

    return one


def handshake_case(bench, road, make, variant):
    duration = bench.window * 1.5 + 1
    options = [
        "--mode", "handshake", "--clients", str(HANDSHAKE_CLIENTS), "--duration", str(duration),
        "--warmup", "0", "--drain", "0.5",
    ]  # fmt: skip

    def one():
        with make().started() as server:
            handshakes = alone(bench, road, variant, *options)
            result, cost = generator.measured(bench, road, handshakes, server, duration, 0)
        return {
            "rate": result["recv_pps"],
            "failed": float(result["links"]["failed"] + result["links"]["broken"]),
            "threads": cost.server,
            **per_cpu("handshakes", result["recv_pps"], cost),
        }

    return one


def held_case(bench, road, make, variant, count):
    """Growth of a server's memory per idle client."""
    options = ["--mode", "alloc-hold", "--setup-rate", "500", "--warmup", "0"]

    def one():
        with make().started() as server:
            few = alone(bench, road, variant, *options, "--clients", "20", "--duration", "0.3")
            generator.plain(bench, few, 0.3)
            before = most = veths.anonymous_bytes(server.pid)
            many = alone(bench, road, variant, *options, "--clients", str(count),
                "--duration", "1.5")  # fmt: skip
            with many.started():
                while many.child.poll() is None:
                    most = max(most, veths.anonymous_bytes(server.pid))
                    time.sleep(0.1)
                result = many.result(count / 100)
        ready = result["clients_ready"]
        if ready < count:
            bench.say(f"{server.name}: only {ready} of {count} clients were let in")
        return {"bytes": (most - before) / ready, "clients": float(ready)}

    return one


# --- lines ----------------------------------------------------------------------------------------


def pairs(named):
    """Pairs of each slipring and each other server."""
    ours = [name for name in named if name.startswith("slipring")]
    return [(mine, rival) for mine in ours for rival in named if rival not in ours]


def report_costs(bench, series, named, metric, common):
    """Lines of the work per second of CPU, by both denominators, and the ratios to all others."""
    add = bench.results.add
    for name, server in named.items():
        for cpu in DENOMINATORS:
            values = series.values(name, (metric, cpu))
            add(NAME, f"{metric}_per_cpu_s", values, "1/s", cpu=cpu, **server, **common)
    for mine, rival in pairs(named):
        found = {c: series.ratios(mine, rival, (metric, c)) for c in DENOMINATORS}
        worst = min(DENOMINATORS, key=lambda cpu: stats.median(found[cpu]))
        more = {**named[rival], **named[mine], "against": named[rival]["server"], **common}
        for cpu in DENOMINATORS:
            mark = {"quoted": True} if cpu == worst else {}
            add(NAME, "ratio_coturn", found[cpu], "ratio", quantity=f"{metric}_per_cpu_s", cpu=cpu,
                **mark, **more)  # fmt: skip


def report_relay(bench, series, named, common):
    for name, server in named.items():
        more = {**server, **common}
        if stats.median(series.values(name, "bound")):
            more["generator_bound"] = True
        if stats.median(series.values(name, "unfit")) > LOSSY:
            more["lossy"] = True
        add = bench.results.add
        add(NAME, "relay_pps", series.values(name, "relay_pps"), "1/s", **more)
        add(NAME, "not_delivered", series.values(name, "unfit"), "share", **more)
        add(NAME, "latency_p99", series.values(name, "p99_us"), "us", direction="down", **more)
        for label, metric in (("process", "threads"), ("cpu0", "busy")):
            add(NAME, "cpu_in_use", series.values(name, metric), "share", cpu=label, **more)
        if server["server"] == "slipring":
            add(NAME, "worker_busy", series.values(name, "worker_busy"), "share", **more)
    for metric in ("relay_pps", "relay_bytes"):
        report_costs(bench, series, named, metric, common)
    for mine, rival in pairs(named):
        more = {**named[rival], **named[mine], "against": named[rival]["server"], **common}
        bench.results.add(NAME, "ratio_coturn", series.ratios(mine, rival, "p99_us"), "ratio",
            quantity="latency_p99", direction="down", **more)  # fmt: skip


def report_handshakes(bench, series, named, common):
    for name, server in named.items():
        add = bench.results.add
        add(NAME, "handshakes", series.values(name, "rate"), "1/s", **server, **common)
        add(NAME, "failed", series.values(name, "failed"), "number", **server, **common)
    report_costs(bench, series, named, "handshakes", common)


def report_held(bench, series, named, common):
    add = bench.results.add
    for name, server in named.items():
        values = series.values(name, "bytes")
        add(NAME, "bytes_per_client", values, "bytes", how="anonymous memory", **server, **common)


# --- the whole benchmark --------------------------------------------------------------------------


def loads(bench):
    return LOADS if bench.full else LOADS[1:2] if bench.quick else LOADS[1:3]


def rounds_of(bench, name, cases, plan):
    return Alternation({name: cases}, bench.gate, plan, bench.say).run()[name]


@dataclass(frozen=True)
class Compared:
    """The compared servers, on a road and with a transport."""

    bench: object
    road: Road
    variant: Way
    makers: dict
    named: dict

    def rounds(self, label, case, plan, *more):
        cases = {
            name: case(self.bench, self.road, make, self.variant, *more)
            for name, make in self.makers.items()
        }
        return rounds_of(self.bench, f"{self.variant.name}: {label}", cases, plan)

    def relay(self, load):
        series = self.rounds(load.name, relay_case, self.bench.plan(SECONDS), load)
        more = {"load": load.name, "pps": load.pps, "size": SIZE, "clients": load.clients}
        report_relay(self.bench, series, self.named, parameters(self.variant, series, **more))

    def handshakes(self):
        series = self.rounds("handshakes", handshake_case, self.bench.plan(SECONDS))
        common = parameters(self.variant, series, clients=HANDSHAKE_CLIENTS)
        report_handshakes(self.bench, series, self.named, common)

    def held(self):
        count = HELD // 5 if self.bench.quick else HELD
        plan = self.bench.plan(SECONDS, keep=3, least=3)
        series = self.rounds("memory", held_case, plan, count)
        report_held(self.bench, series, self.named, parameters(self.variant, series, clients=count))


def parameters(variant, series, **more):
    return {**variant.parameters(), **more, **({"noisy": True} if series.noisy else {})}


def measure(bench, road, variant, certificate):
    """All measurements of one transport."""
    makers = all_servers(bench, road, variant.transport, certificate)
    refusal = makers["slipring"]().refused()
    if refusal:
        bench.say(f"{variant.name}: left out, slipring has no such listener: {refusal}")
        return
    ciphers = {}
    makers = servers.able(bench, makers, looked_at(bench, road, variant, ciphers))
    named = {name: make().parameters() for name, make in makers.items()}
    named = {name: {**found, **ciphers[found["server"]]} for name, found in named.items()}
    compared = Compared(bench, road, variant, makers, named)
    parts = {load.name: lambda load=load: compared.relay(load) for load in loads(bench)}
    parts |= {"handshakes": compared.handshakes, "memory": compared.held}
    each_part({f"{variant.name}: {name}": part for name, part in parts.items()}, bench.say)


def main(bench):
    certificate = make_certificate(bench)
    with StreamRoad(bench.rest_cpu, bench.work_cpu) as road:
        each_part(
            {v.name: lambda v=v: measure(bench, road, v, certificate) for v in WAYS},
            bench.say,
        )
