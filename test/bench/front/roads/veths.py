# SPDX-License-Identifier: BSD-3-Clause
"""The road between the load generator and a server: two veth pairs in two network namespaces.

    gen: c0 (clients 10.77.1.2-) ── s0 10.77.1.1 :srv     The generator's lane is on the last CPU,
         p0 (peers   10.77.2.2-) ── s1 10.77.2.1          the server on the first.

Each end's receive work runs on its owner's CPU, so that the server's CPU does everything that a
server's host would do, and nothing for the generator. Segmentation and checksum offloads are off:
every datagram is a frame of its own, with correct checksums as on a cable.
"""

import contextlib
import os
import time
from dataclasses import dataclass

from labparts import Namespace, command, reap_stale
from machine import BenchError

CLIENT_NET, PEER_NET = "10.77.1", "10.77.2"
SERVER, RELAY = CLIENT_NET + ".1", PEER_NET + ".1"
TICK = os.sysconf("SC_CLK_TCK")
MAC = "02:77:00:00:{:02x}:{:02x}"
ENDS = (("gen", "c0", 2), ("srv", "s0", 1), ("gen", "p0", 4), ("srv", "s1", 3))


class Road:
    """The namespaces and their interfaces. Use as a context manager."""

    port_ends = ("s0", "s1")  # for a server without the kernel
    begun = 400  # sent frames, in addition to the set-up, that show that the traffic has begun

    def __init__(self, server_cpu, generator_cpu):
        self.server_cpu, self.generator_cpu = server_cpu, generator_cpu
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            reap_stale()
            self.gen, self.srv = (self.namespace(stack, role) for role in ("gen", "srv"))
            self.make()
            self.stack = stack.pop_all()
        return self

    def make(self):
        for near, far in (("c0", "s0"), ("p0", "s1")):
            self.gen.ip(*f"link add {near} type veth peer name {far}".split(),
                "netns", self.srv.name)  # fmt: skip
        for role, interface, number in ENDS:
            self.prepare(getattr(self, role), interface, number)

    def __exit__(self, *_):
        self.stack.close()

    @staticmethod
    def namespace(stack, role):
        ns = Namespace(f"lab{os.getpid()}-{role}")
        stack.callback(command, "ip", "netns", "del", ns.name, check=False)
        return ns

    def prepare(self, ns, interface, number):
        ns.run("sysctl", "-qw", f"net.ipv6.conf.{interface}.disable_ipv6=1")
        ns.ip("link", "set", interface, "address", MAC.format(0, number), "arp", "off",
            "txqueuelen", "10000", "up")  # fmt: skip
        ns.run("ethtool", "-K", interface, *"tx off tso off gso off gro off".split())
        ns.run("ethtool", "-K", interface, "tx-udp-segmentation", "off", check=False)
        self.steer(ns, interface, self.generator_cpu if ns is self.gen else self.server_cpu)

    @staticmethod
    def steer(ns, interface, cpu):
        """Gives the receive work of an interface to one CPU."""
        mask = f"{1 << cpu:x}"
        ns.run("sh", "-c",
            f'for q in /sys/class/net/{interface}/queues/rx-*/rps_cpus; do echo {mask} >"$q"; done')

    def ports(self):
        """The generator's ports, as its options."""
        return ["--client-port", "net_af_packet0,iface=c0", "--peer-port",
            "net_af_packet1,iface=p0"]  # fmt: skip

    def plugged(self):
        """True if the ports of a newly started generator are on the road."""
        return True

    def to_kernel(self):
        """The server's end belongs to its kernel."""
        self.aside(False)
        for interface, address in (("s0", SERVER), ("s1", RELAY)):
            self.srv.ip("addr", "replace", address + "/24", "dev", interface)
            self.srv.ip("link", "set", interface, "arp", "on")

    def to_dpdk(self):
        """Silences the server's kernel."""
        self.aside(False)
        for interface in ("s0", "s1"):
            self.srv.ip("link", "set", interface, "arp", "off")
            self.srv.ip("addr", "flush", "dev", interface)

    def aside(self, yes=True):
        """Makes the kernel see frames for the ports of a running server as frames for another host. It
        then drops them at once, not after a route look-up: a cost that no NIC has.
        """
        for _, interface, number in ENDS:
            if interface in self.port_ends:
                self.srv.ip("link", "set", interface, "address", MAC.format(int(yes), number))

    def sent(self):
        """Number of frames that the generator has sent."""
        with self.gen.enter(), open("/proc/thread-self/net/dev") as file:
            seen = parse_counters(file.read())
        return seen["c0"][1] + seen["p0"][1]


def thread_seconds(pid):
    """[(name, CPU time)] of the threads of a process."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        path = f"/proc/{pid}/task/{task}/"
        with contextlib.suppress(OSError):
            with open(path + "schedstat") as times, open(path + "comm") as name:
                found.append((name.read().strip(), int(times.read().split()[0]) / 1e9))
    return found


def run_seconds(pid):
    """CPU time of all threads of a process."""
    return sum(seconds for _, seconds in thread_seconds(pid))


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise BenchError(f"process {pid} has no memory")


def anonymous_bytes(pid):
    """Private memory of a process: heap and stacks. PSS depends on other users of the same libraries, and
    RSS on first uses of a pool's buffers.
    """
    with open(f"/proc/{pid}/smaps_rollup") as file:
        for line in file:
            if line.startswith("Anonymous:"):
                return int(line.split()[1]) * 1024
    raise BenchError(f"process {pid} has no memory")


def idle_seconds():
    """{cpu: idle time}."""
    idle = {}
    with open("/proc/stat") as file:
        for line in file:
            name, *rest = line.split()
            if name.startswith("cpu") and name != "cpu":
                idle[int(name[3:])] = (int(rest[3]) + int(rest[4])) / TICK
    return idle


def parse_counters(text):
    """{interface: (received, sent) packets} from the text of /proc/net/dev."""
    found = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        fields = rest.split()
        found[name.strip()] = (int(fields[1]), int(fields[9]))
    return found


@dataclass(frozen=True)
class Cost:
    """CPUs in use while something ran."""

    cpu: float  # the server's CPU: its process and softirqs
    machine: float  # all CPUs, without the generator's threads
    server: float  # the server's threads


class Meter:
    """CPU time of the machine between begin() and end()."""

    def __init__(self, server_cpu, server_pid, generator_pid):
        self.server_cpu = server_cpu
        self.pids = server_pid, generator_pid
        self.first = self.read()

    def read(self):
        server, generator = (run_seconds(pid) for pid in self.pids)
        return time.monotonic(), idle_seconds(), server, generator

    def cost(self):
        """Cost since begin()."""
        (t0, idle0, server0, gen0), (t1, idle1, server1, gen1) = self.first, self.read()
        elapsed = t1 - t0
        busy = {cpu: max(0.0, elapsed - (idle1[cpu] - idle0[cpu])) for cpu in idle1}
        return Cost(
            busy[self.server_cpu] / elapsed,
            max(0.0, sum(busy.values()) - (gen1 - gen0)) / elapsed,
            (server1 - server0) / elapsed,
        )
