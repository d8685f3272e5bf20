# SPDX-License-Identifier: BSD-3-Clause
"""The compared servers on a Road: slipring, and turnserver on the kernel's network."""

import contextlib
import functools
import json
import os
import re
import shutil
import subprocess

from labparts import Telemetry
from machine import BenchError, run, wait_until
from roads.veths import PEER_NET, RELAY, SERVER

REALM, USER, PASSWORD = "turn.bench", "bench", "pw"
READY_S = 20
FILES_MAX = 1 << 20
BEST_FLAGS = ("--multiplex-peer", "--udp-gso")  # of coturn 4.14 and later


class Server:
    """A server process at its end of the road; pid is set once it is started."""

    patience = 5  # seconds that it may take to end

    def __init__(self, bench, road):
        self.bench, self.road = bench, road
        self.log_path = bench.machine.path("server.log")
        self.child = None

    @property
    def pid(self):
        return self.child.pid

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()[-2000:]

    def running(self):
        if self.child.poll() is not None:
            raise BenchError(f"{self.name} ended with {self.child.returncode}:\n{self.log()}")
        return True

    def inside(self, *argv):
        """A command to run in the server's namespace."""
        return self.road.srv.argv(*argv)

    @contextlib.contextmanager
    def spawned(self, argv):
        argv = self.inside("taskset", "-c", str(self.bench.rest_cpu), *argv)
        with open(self.log_path, "ab") as out:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": subprocess.STDOUT}
            start = self.bench.machine.process(argv, self.patience, **pipes)
            with start as self.child:
                yield

    def parameters(self):
        """Members of a result line that name it."""
        return {"server": self.kind}


class Slipring(Server):
    """One worker, which sleeps when it has nothing to do, and the management lcore: on one CPU."""

    kind = name = "slipring"
    device = "net_af_packet{0},iface=s{0}"

    idle = "adaptive"

    def __init__(self, bench, road, *, binary=None, relays=1, quarantine=120, allocations=100000):
        super().__init__(bench, road)
        self.binary = binary or bench.machine.binary("app/slipring/slipring")
        self.prefix = f"bench{os.getpid()}-{os.path.basename(self.log_path).split('-')[0]}"
        self.relays, self.quarantine, self.allocations = relays, quarantine, allocations

    def config(self):
        cpu = self.bench.rest_cpu
        relay = RELAY
        if self.relays > 1:
            relay += f"-{PEER_NET}.{self.relays}"
            assert self.relays < 100, "peers begin at .100"
        return {
            "eal": {"file-prefix": self.prefix, "lcores": f"0@{cpu},1@{cpu}"},
            "workers": {"count": 1, "idle": self.idle},
            "ports": [
                {"name": "clients", "device": self.device.format(0), "addresses": [SERVER + "/24"]},
                {"name": "peers", "device": self.device.format(1), "addresses": [relay + "/24"]},
            ],
            "listeners": [{"address": SERVER}],
            "relay": {"addresses": [relay]},
            "test-constants": {"relay.quarantine": self.quarantine},
            "auth": {"realm": REALM, "users": [{"name": USER, "password": PASSWORD}]},
            "limits": {
                "allocations": self.allocations,
                "unauthenticated": {"rate": 0},
                "binding": {"rate": 0},
            },
            "peers": {"allow": [PEER_NET + ".0/24"]},
            "log": {"to": "stderr", "level": "notice"},
        }

    def prepare(self):
        self.road.to_dpdk()

    @contextlib.contextmanager
    def started(self):
        self.prepare()
        path = self.bench.machine.path("slipring.yaml")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            json.dump(self.config(), file)  # YAML is a superset
        try:
            with self.spawned([self.binary, "-c", path]):
                wait_until(self.ready, READY_S, "slipring is ready")
                self.settled()
                yield self
        finally:
            shutil.rmtree(f"/var/run/dpdk/{self.prefix}", ignore_errors=True)

    def settled(self):
        """Waits until it has read its ports' addresses."""
        self.road.aside()

    def ready(self):
        self.running()
        telemetry = Telemetry(self.prefix)
        with contextlib.suppress(OSError, ValueError):
            info = telemetry.ask("/slipring/info")
            return info and info["ready"]
        telemetry.close()
        return False


class SlipringSaving(Slipring):
    """slipring in its mode that saves CPU time at the price of latency."""

    kind = name = "slipring-saving"
    idle = "saving"


class SlipringBeside(Slipring):
    """slipring on interfaces that remain with the kernel, with the addresses on them."""

    kind = name = "slipring-packet"
    device = "packet:s{0}"

    def prepare(self):
        self.road.to_kernel()
        self.road.srv.run("sysctl", "-qw", "net.ipv4.ip_local_reserved_ports=49152-65535")

    def settled(self):
        """The kernel drops frames for slipring at once."""


class Coturn(Server):
    """turnserver with one relay thread, and the fastest flags that it knows."""

    kind = "coturn"
    patience = 0.5  # it takes some seconds, and prints nothing
    tls = ("--no-tls", "--no-dtls")

    def __init__(self, bench, road):
        super().__init__(bench, road)
        self.binary = turnserver()
        self.version = version_of(self.binary)
        self.name = f"coturn-{self.version}"
        self.missing = missing_flags(help_of(self.binary))
        self.flags = [] if self.missing else [*BEST_FLAGS, "--multiplex-peer-port=40000"]

    @contextlib.contextmanager
    def started(self):
        self.road.to_kernel()
        scratch = self.bench.machine.path("coturn")
        argv = [
            "prlimit", f"--nofile={files_limit()}", self.binary, "-n", "--lt-cred-mech",
            f"--user={USER}:{PASSWORD}", f"--realm={REALM}", f"--listening-ip={SERVER}",
            f"--relay-ip={RELAY}", "--min-port=49152", "--max-port=65535", "--relay-threads=1",
            *self.tls, "--no-cli", "--log-file=stdout", "--simple-log", f"--userdb={scratch}.db",
            f"--pidfile={scratch}.pid", *self.flags,
        ]  # fmt: skip
        with self.spawned(argv):
            wait_until(self.ready, READY_S, f"{self.name} listens")
            yield self

    def ready(self):
        self.running()
        listening = self.road.srv.run("ss", "-lnuH", "sport = 3478")
        return SERVER in listening

    def parameters(self):
        more = {"flags": "best"} if self.flags else {}
        if self.missing:
            more["missing"] = " ".join(self.missing)
        return {"server": self.kind, "version": self.version, **more}


@functools.cache
def help_of(binary):
    told = subprocess.run([binary, "-h"], capture_output=True, text=True, check=False)
    return told.stdout + told.stderr


def flags_of(text):
    """The fast flags in a turnserver's help."""
    return set(re.findall(r"--[a-z0-9-]+", text))


def missing_flags(text):
    """The fast flags missing from a turnserver's help."""
    return [flag for flag in BEST_FLAGS if flag not in flags_of(text)]


@functools.cache
def version_of(binary):
    try:
        done = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (FileNotFoundError, PermissionError, subprocess.TimeoutExpired):
        raise BenchError(f"{binary}: no turnserver to run (apt install coturn)") from None
    found = re.search(r"\d+\.\d+\.\d+\S*", done.stdout + done.stderr)
    return found[0] if found else "unknown"


def files_limit():
    """Raises the limit of open files to the maximum."""
    hard = int(run("sh", "-c", "ulimit -Hn | sed 's/unlimited/1048576/'").stdout)
    return min(hard, FILES_MAX)


def turnserver():
    """The turnserver to compare with: from the environment, else the system's."""
    return os.environ.get("COTURN") or "turnserver"


def able(bench, makers, look=lambda server: None):
    """The servers that start and pass a check. Others are reported and left out; slipring must pass."""
    found = {}
    for name, make in makers.items():
        server = None
        try:
            server = make()
            with server.started():
                look(server)
            found[name] = make
        except BenchError as error:
            if server.kind == Slipring.kind if server else name != Coturn.kind:
                raise
            bench.say(f"{name}: left out: {error}")
            continue
        if getattr(server, "missing", None):
            bench.say(f"{server.name} does not know {' '.join(server.missing)}")
    return found


def all_servers(bench, road):
    """Every server to compare: {name: function that makes one}."""
    return {
        "slipring": lambda: Slipring(bench, road),
        "coturn": lambda: Coturn(bench, road),
    }
