# SPDX-License-Identifier: BSD-3-Clause
"""slipring-loadgen as the generator of load and the reflector: one process for each run."""

import contextlib
import json
import os
import shutil
import subprocess
import time

import servers
from roads import veths
from machine import BenchError, Disturbed, wait_until
from roads.veths import CLIENT_NET, PEER_NET, SERVER

BINARY = "app/loadgen/slipring-loadgen"
MARGIN_S = 0.3  # seconds at both ends of a run that the meter leaves out
SETUP_S = 15  # start, set-up and release together
PREFIX = f"bench{os.getpid()}-gen"  # its name among DPDK processes: one runs at a time
SETUP_FRAMES = 10  # for one client, generously


def eal(cpu):
    """EAL arguments: lanes on one CPU; no hugepages, which af_packet ports do not need."""
    return [
        "--lcores", f"0@{cpu},1@{cpu}", "--no-huge", "--no-shconf", "-m", "768",
        "--iova-mode=va", "--no-pci", "--no-telemetry", "--log-level=error",
    ]  # fmt: skip


def road_options(road):
    """Options for ports and addresses on a Road."""
    return [
        *road.ports(), "--client-addr", f"{CLIENT_NET}.2-{CLIENT_NET}.9/24", "--peer-addr",
        f"{PEER_NET}.100-{PEER_NET}.107/24", "--server", SERVER, "--user", servers.USER,
        "--password", servers.PASSWORD,
    ]  # fmt: skip


def parse_result(text):
    """The JSON object of a finished run."""
    try:
        result = json.loads(text)
    except json.JSONDecodeError:
        raise BenchError(f"slipring-loadgen left no JSON: {text[:200]!r}") from None
    if result.get("program") != "slipring-loadgen":
        raise BenchError(f"not a result of slipring-loadgen: {text[:200]!r}")
    return result


class Run:
    """One slipring-loadgen, from its start to its result."""

    late = 0  # seconds that it may take beyond the expected time

    def __init__(self, bench, *options, netns=(), eal_args=None, plugged=None):
        self.machine = bench.machine
        self.json_path = bench.machine.path("loadgen.json")
        self.log_path = bench.machine.path("loadgen.log")
        cpu = bench.work_cpu
        self.argv = [
            *netns, "taskset", "-c", str(cpu), bench.machine.binary(BINARY),
            *(eal_args or eal(cpu)), "--file-prefix", PREFIX, "--", *options, "--stats-period", "0", "--json",
            self.json_path,
        ]  # fmt: skip
        self.plugged = plugged
        self.child = None

    @contextlib.contextmanager
    def started(self):
        with open(self.log_path, "wb") as log:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            try:
                with self.machine.process(self.argv, **pipes) as self.child:
                    if self.plugged:
                        ready = lambda: self.alive() and self.plugged()
                        wait_until(ready, SETUP_S, "ports of slipring-loadgen")
                    yield self
            finally:
                shutil.rmtree(f"/var/run/dpdk/{PREFIX}", ignore_errors=True)  # EAL does not remove it

    def result(self, timeout):
        """Waits for its end."""
        try:
            code = self.child.wait(timeout + self.late)
        except subprocess.TimeoutExpired:
            text = f"slipring-loadgen is not done in {timeout + self.late:g} s"
            raise Disturbed(text) from None
        if code != 0:
            raise BenchError(f"slipring-loadgen ended with {code}: {self.said()}")
        with open(self.json_path) as file:
            return parse_result(file.read())

    def said(self):
        with open(self.log_path, errors="replace") as file:
            return file.read().strip()[-1500:]

    def alive(self):
        if self.child.poll() == 0:
            raise Disturbed("slipring-loadgen was done before its traffic was seen to begin")
        if self.child.poll() is not None:
            raise BenchError(f"slipring-loadgen ended early: {self.said()}")
        return True


def on_road(bench, road, *options):
    argv = (*road_options(road), *options)
    return Run(bench, *argv, netns=road.gen.argv(), plugged=road.plugged)


def measured(bench, road, run, server, duration, clients):
    """(result, Cost) of a run with traffic for `duration`; the cost is that of its middle.

    The traffic has begun when more frames go out than the set-up of all clients takes.
    """
    begun = road.sent() + road.begun + SETUP_FRAMES * clients
    with run.started():
        wait_until(
            lambda: run.alive() and road.sent() > begun, SETUP_S, "traffic of slipring-loadgen"
        )
        time.sleep(MARGIN_S)
        meter = veths.Meter(bench.rest_cpu, server.pid, run.child.pid)
        time.sleep(duration - 3 * MARGIN_S)
        cost = meter.cost()
        server.running()
        return run.result(duration + SETUP_S), cost


def latency(side, name):
    """A quantile of a direction of a result, us; None if nothing arrived."""
    found = side["latency_us"][name]
    if found is None:
        raise Disturbed("no datagram has come through")
    return found


def plain(bench, run, duration):
    """The result of a run whose cost is not measured."""
    with run.started():
        return run.result(duration + SETUP_S)
