# SPDX-License-Identifier: BSD-3-Clause
"""relay-wire: end to end over a wire of shared memory (memif), next to testpmd on the same wire.

slipring-loadgen floods from one CPU. On the other, slipring relays received datagrams to the loadgen's
peers, or testpmd swaps addresses and returns it (5tswap). With either, every datagram crosses the
wire twice. Such rates vary by large factors between two virtual CPUs that share no cache, without
any cause in the programs. So there are many short rounds, the spread is printed, and only the ratio
means much.
"""

import contextlib

import generator
import testpmd
from machine import wait_until
from rounds import Alternation
from servers import PASSWORD, USER, Slipring
from roads.veths import CLIENT_NET, SERVER

NAME = "relay-wire"
SIZE = 120
CLIENTS = 64
ROUNDS = 15
MBUFS = 16384
MEMORY_MB = 2048  # both processes
WARMUP_S = 1.5  # testpmd changes from answering ARP to swapping meanwhile
QUEUE = "socket-abstract=no,rsize=10,bsize=2048"
FULL = 0.01  # share of the due datagrams: how often the ring was full
SEEN = 100  # packets after which neighbours have been resolved


class WireSlipring(Slipring):
    """slipring with one port on the wire, polling without pause."""

    def __init__(self, bench, device):
        super().__init__(bench, None)
        self.device = device

    def inside(self, *argv):
        return list(argv)

    def prepare(self):
        pass

    def settled(self):
        pass

    def config(self):
        config = super().config()
        config["workers"]["idle"] = "busy"
        addresses = [SERVER + "/24"]
        config["ports"] = [{"name": "wire", "device": self.device, "addresses": addresses}]
        config["relay"]["addresses"] = [SERVER]
        config["peers"] = {"allow": [CLIENT_NET + ".0/24"]}
        return config


def device(role, socket):
    return f"net_memif0,role={role},socket={socket},{QUEUE}"


def wire_run(bench, socket, *options):
    """A flood from the last CPU."""
    cpu = bench.work_cpu
    eal = ["--lcores", f"0@{cpu},1@{cpu}", *testpmd.eal_memory()]
    addresses = ["--client-addr", f"{CLIENT_NET}.2/24", "--peer-addr", f"{CLIENT_NET}.200/24"]
    return generator.Run(
        bench, "--client-port", device("client", socket), *addresses, "--clients", str(CLIENTS),
        "--size", str(SIZE), "--pps", "flood", "--burst", "1", "--duration", str(bench.window),
        "--warmup", str(WARMUP_S), "--drain", "0.2", *options,
        eal_args=[*eal, "--log-level=error"],
    )  # fmt: skip


def figures(result):
    """A flood that fills the ring is held back by the far end, else the generator is the limit."""
    health = result["generator"]
    full = health["tx_full"] > FULL * health["due"]
    return {"recv_pps": result["recv_pps"], "bound": float(health["bound"] and not full)}


def over_slipring(bench):
    socket = bench.machine.path("wire.sock")
    credentials = ["--server", SERVER, "--user", USER, "--password", PASSWORD]
    run = wire_run(bench, socket, *credentials, "--mode", "channel", "--direction", "up")
    with WireSlipring(bench, device("server", socket)).started():
        return figures(generator.plain(bench, run, bench.window + WARMUP_S))


def over_testpmd(bench):
    """5tswap answers no ARP: icmpecho does until the first packets of the warm-up arrive."""
    socket = bench.machine.path("wire.sock")
    run = wire_run(bench, socket, "--role", "client", "--mode", "direct", "--direction", "echo")
    cpu = bench.rest_cpu
    vdev = device("server", socket)
    with contextlib.ExitStack() as stack:
        swapper = stack.enter_context(
            testpmd.started(
                bench.machine, f"0@{cpu},1@{cpu}", vdev, mbufs=MBUFS, more=["--disable-link-check"]
            )
        )
        swapper.command("set fwd icmpecho")
        swapper.command("start")
        stack.enter_context(run.started())
        wait_until(lambda: run.alive() and swapper.received()[0] > SEEN, 15, "packets at testpmd")
        swapper.command("stop")
        swapper.command("set fwd 5tswap")
        swapper.command("start")
        return figures(run.result(bench.window + WARMUP_S + generator.SETUP_S))


def report(bench, series):
    common = {"size": SIZE, "direction": "up", "mode": "channel", "clients": CLIENTS}
    common["wire"] = "memif"
    if series.noisy:
        common["noisy"] = True
    if any(series.values("slipring", "bound") + series.values("testpmd", "bound")):
        common["generator_bound"] = True  # in some rounds at least
    for name in ("slipring", "testpmd"):
        values = series.values(name, "recv_pps")
        bench.results.add(NAME, "recv_pps", values, "1/s", server=name, **common)
    ratios = series.ratios("slipring", "testpmd", "recv_pps")
    bench.results.add(NAME, "ratio_testpmd", ratios, "ratio", server="slipring", **common)
    round_trips = bench.gate.seen
    if round_trips:
        bench.say(
            f"core-to-core round trip meanwhile: {min(round_trips):.0f} to "
            f"{max(round_trips):.0f} ns"
        )


def main(bench):
    bench.machine.hugepages.need(MEMORY_MB)
    cases = {"slipring": lambda: over_slipring(bench), "testpmd": lambda: over_testpmd(bench)}
    plan = bench.plan(seconds=400, keep=bench.rounds or ROUNDS)
    found = Alternation({"memif": cases}, bench.gate, plan, bench.say).run()
    report(bench, found["memif"])
