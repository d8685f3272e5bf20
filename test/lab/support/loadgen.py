# SPDX-License-Identifier: BSD-3-Clause
"""slipring-loadgen on the segment: two ports of its own, and the counters of a run.

        gen: l0 (clients) ─┐
             l1 (peers)   ─┴─ br0     its kernel is silent, its addresses are the generator's
"""

import json
import os
import shutil
import subprocess

import lab as labs
import server as servers
from lab import SERVER4, SERVER6, SLOW

BINARY = os.path.join(labs.BUILD, "app/loadgen/slipring-loadgen")
CLIENTS4, CLIENTS6 = "10.99.0.20-10.99.0.23/24", "fd99::20-fd99::23/64"
PEERS4, PEERS6 = "10.99.0.40-10.99.0.43/24", "fd99::40-fd99::43/64"
IVAN = ("--user", "ivan", "--password", "pw")
MEDIA = ("channel", "send", "direct")
CLEAN = ("lost", "duplicated", "reordered", "corrupted")


class Generator:
    """The namespace of the generator. Every run is a process in it."""

    def __init__(self, lab):
        if not os.path.exists(BINARY):
            raise labs.Skip(f"{BINARY} is not built")
        self.lab, self.runs = lab, 0
        self.ns = lab.namespace(lab.cleanup, "gen")
        for interface, number in (("l0", 0x20), ("l1", 0x21)):
            lab.attach(self.ns, interface, number)
            lab.wire_checksums(lab.sw, interface)  # its driver accepts no super-frames
            lab.quiet(self.ns, interface)
            self.ns.ip("link", "set", interface, "arp", "off", "up")

    def start(self, *options, eal=(), binary=BINARY):
        """Starts a run in the background. eal: EAL arguments instead of the default ones."""
        self.runs += 1
        before = (*eal, "--") if eal else ()
        return Run(self.lab, self.ns, self.runs, (binary, *before, *options, "--json"))

    def run(self, *options, eal=()):
        """The result of a run that must succeed."""
        return self.start(*options, eal=eal).result()

    def lanes(self, count):
        """EAL arguments for this number of lanes, spread over all CPUs."""
        cpus = sorted(os.sched_getaffinity(0))
        lanes = [f"{i + 1}@{cpus[-1 - i % len(cpus)]}" for i in range(count)]
        everywhere = ",".join(map(str, cpus))
        prefix = f"{self.lab.prefix}g{self.runs}"  # EAL leaves an empty directory of this name
        self.lab.cleanup.callback(shutil.rmtree, f"/var/run/dpdk/{prefix}", ignore_errors=True)
        return (
            f"--lcores=0@({everywhere}),{','.join(lanes)}", "--no-huge", "--no-shconf", "-m",
            "512", "--iova-mode=va", "--no-pci", "--no-telemetry", "--log-level=*:warning",
            f"--file-prefix={prefix}",
        )  # fmt: skip


class Run:
    """One process. After finish(): its exit code, output and result."""

    def __init__(self, lab, ns, number, argv):
        self.log_path = os.path.join(lab.dir, f"loadgen-{number}.log")
        environment = {"ASAN_OPTIONS": "detect_leaks=1", **os.environ}
        with open(self.log_path, "wb") as log:
            self.process = lab.popen(
                ns, *argv, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
            )
        self.code, self.output, self.json, self.max_rss = None, "", None, 0

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def finish(self, timeout=120):
        """Waits until it exits with any status."""
        try:
            self.output, _ = self.process.communicate(timeout=timeout * SLOW)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"not done in {timeout * SLOW} s: {self.log()[-2000:]}") from None
        self.code = self.process.returncode
        for word in ("runtime error:", "Sanitizer"):
            assert word not in self.log(), self.log()[-6000:]
        if self.code == 0:
            (line,) = self.output.splitlines()  # exactly one object
            self.json = json.loads(line)
        return self

    def result(self, timeout=120):
        """Waits until it exits with success."""
        self.finish(timeout)
        assert self.code == 0, f"exit code {self.code}: {self.log()[-2000:]}"
        return self.json


def direct(*options, family=4):
    """Options for clients and peers on a port each, without a server."""
    clients, peers = (CLIENTS4, PEERS4) if family == 4 else (CLIENTS6, PEERS6)
    return (
        "--client-port", "net_af_packet0,iface=l0", "--peer-port", "net_af_packet1,iface=l1",
        "--mode", "direct", "--client-addr", clients, "--peer-addr", peers, "--warmup", "0",
        "--drain", "0.3", *options,
    )  # fmt: skip


def probes(*options, family=4, clients=None):
    """Options for clients only, to the server of the lab."""
    client_ips = clients or (CLIENTS4 if family == 4 else CLIENTS6)
    return (
        "--client-port", "net_af_packet0,iface=l0", "--client-addr", client_ips, "--server",
        SERVER4 if family == 4 else SERVER6, "--warmup", "0", "--drain", "0.3", *options,
    )  # fmt: skip


def media(*options, family=4, relay=None):
    """Options for clients and peers with the server of the lab between them. relay: family of the
    peers."""
    return (
        *probes(family=family), "--peer-port", "net_af_packet1,iface=l1", "--peer-addr",
        PEERS4 if (relay or family) == 4 else PEERS6, *options,
    )  # fmt: skip


def check_clean(result, *ways, ordered=True):
    """Checks that each sent datagram arrived once, in order and intact, in exactly these
    directions.

    If the kernel moves the server between CPUs, packets may overtake each other.
    """
    faults = [key for key in CLEAN if ordered or key != "reordered"]
    assert set(result["ways"]) == set(ways), result["ways"].keys()
    for name in ways:
        flow = result["ways"][name]
        assert flow["sent"] > 0 and flow["delivered"] == flow["received"] == flow["sent"], (name, flow)
        if result["mode"] in MEDIA:  # an answer does not have its request's length
            assert flow["received_bytes"] == flow["sent_bytes"], (name, flow)
        assert not any(flow[key] for key in faults), (name, flow)
    assert result["stray"] == 0 and result["generator"]["bad_frames"] == 0, result


def check_sums(result):
    """Checks that the counters of the lcores add up to the totals."""
    ways = [flow for name, flow in result["ways"].items() if name != "up" or not echoes(result)]
    assert result["total_sent"] == sum(flow["sent"] for flow in ways), result
    assert result["total_recv"] == sum(flow["delivered"] for flow in ways), result
    for key in ("sent", "received"):
        of_lcores = sum(lcore[key] for lcore in result["lcores"])
        of_ways = sum(w[key] for name, w in result["ways"].items() if key == "received" or w in ways)
        assert of_lcores == of_ways, (key, of_lcores, of_ways)


def echoes(result):
    return "echo" in result["ways"]


def check_released(lab, server):
    """Checks that the server has no allocation of the clients left."""
    if not isinstance(server, servers.Slipring):
        return
    live = lambda: [server.stats()[key] for key in ("allocations", "permissions", "channels")]
    labs.until(lambda: live() == [0, 0, 0], 2, "all clients are released")
