# SPDX-License-Identifier: BSD-3-Clause
"""Servers under test: slipring, and coturn to check the tests themselves."""

import contextlib
import copy
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import lab as labs
from constants import document
from lab import SERVER4, SERVER6, SLOW, until

BINARY = os.path.join(labs.BUILD, "app/slipring/slipring")

# Frames that kernels send by themselves (neighbour discovery, MLD, IGMP) and that need no answer.
BACKGROUND = {"arp", "icmp", "not-for-us", "ip-header", "ip-protocol", "martian-destination"}
BACKGROUND |= {"ip-options"}
# Drops of answers from kernels for sockets that a test has closed.
BACKGROUND |= {"icmp-quote", "icmp-no-allocation", "icmp-no-permission", "icmp-error-rate"}
BACKGROUND |= {"icmp-untold"}

# The configuration of most tests. YAML is a superset of JSON, so it is written as JSON.
CONFIG = {
    "eal": {"file-prefix": None},
    "drivers": os.path.join(labs.TOP, "drivers-config"),
    "workers": {"count": 2, "idle": "adaptive"},
    "ports": [
        {
            "name": "wan",
            "device": "vtap:d0,queues=2",  # or the device that Lab.device() sets
            "addresses": [SERVER4 + "/24", SERVER6 + "/64"],
            "gateway": ["10.99.0.254"],
        }
    ],
    "listeners": [
        {"transport": "udp", "address": SERVER4, "port": 3478},
        {"transport": "udp", "address": SERVER6, "port": 3478},
    ],
    "relay": {"addresses": [SERVER4, SERVER6], "ports": "49152-65535", "quarantine": 120},
    "auth": {
        "realm": "turn.test",
        "users": [{"name": "ivan", "password": "pw"}, {"name": "olga", "password": "geheim"}],
        "secrets": ["s3cret", "older"],
    },
    "limits": {"unauthenticated": {"rate": 0}},
    "peers": {"allow": ["10.99.0.0/24", "fd99::/64"]},
    "log": {"to": "stderr", "level": "info"},
    "control": {"socket": ""},
    "crash": {"directory": ""},  # reports go to the log
    "process": {"seccomp": "kill"},  # a system call that no thread needs is a failure
}


def merge(base, changes):
    """base with changes applied: mappings are merged, everything else is replaced."""
    out = copy.deepcopy(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merge(out[key], value) if both else value
    return out


def make(lab, config=None, **kwargs):
    kind = os.environ.get("LAB_SERVER", "slipring")
    return {"slipring": Slipring, "coturn": Coturn}[kind](lab, config, **kwargs)


class Telemetry:
    """A client of the DPDK telemetry socket (one SOCK_SEQPACKET exchange per question)."""

    def __init__(self, prefix):
        self.path = f"/var/run/dpdk/{prefix}/dpdk_telemetry.v2"
        self.sock = None

    def ask(self, command):
        """The value of the answer; OSError if nothing listens."""
        if self.sock is None:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.sock.settimeout(5 * SLOW)
            try:
                self.sock.connect(self.path)
                self.sock.recv(16384)  # version, pid, max_output_len
            except OSError:
                self.close()
                raise
        self.sock.send(command.encode())
        answer = self.sock.recv(65536)
        if not answer:
            self.close()
            raise ConnectionError("telemetry closed the connection")
        (value,) = json.loads(answer).values()
        return value

    def close(self):
        if self.sock is not None:
            self.sock.close()
            self.sock = None


class Process:
    """Common to both servers: a process in the dut namespace with a log file."""

    def __init__(self, lab):
        self.lab, self.process = lab, None
        self.log_path = os.path.join(lab.dir, f"{self.name}-{len(lab.servers)}.log")

    def spawn(self, *args, env=None):
        with open(self.log_path, "ab") as out:
            self.process = subprocess.Popen(
                self.lab.dut.argv(*args),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={"ASAN_OPTIONS": "detect_leaks=1", **os.environ, **(env or {})},
            )

    def log(self):
        with contextlib.suppress(FileNotFoundError), open(self.log_path) as file:
            return file.read()
        return ""

    def kill(self):
        """Kills the process if it still runs."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.remove_leftovers()

    def remove_leftovers(self):
        """Files that outlive the process."""

    def running(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} exited with {self.process.returncode}")
        return True


class Slipring(Process):
    name = "slipring"

    def __init__(self, lab, config=None, text=None, args=(), allow=(), more=(), queues=2, under=()):
        """config: changes to CONFIG; text: a complete file instead; allow: expected drops; more:
        further addresses with a listener each, but without relay addresses; under: a command that
        starts the server.
        """
        super().__init__(lab)
        self.prefix = f"{lab.prefix}n{len(lab.servers)}"
        self.config = merge(CONFIG, config or {})
        self.config["eal"]["file-prefix"] = self.prefix
        port = self.config["ports"][0]
        if "device" in port:  # not a bond
            port["device"] = port["device"].replace("queues=2", f"queues={queues}")
        for address in more:
            port["addresses"].append(address)
            self.config["listeners"].append({"address": address.split("/")[0]})
        self.text = lab.device(text or document(self.config))
        if text:
            found = re.search(r"file-prefix: *([\w-]+)", text)
            self.prefix = found[1] if found else "slipring"
        self.args, self.under = args, under
        self.allow = set(allow)
        self.path = os.path.join(lab.dir, f"{self.prefix}.yaml")
        self.binary = BINARY
        self.telemetry = Telemetry(self.prefix)

    def start(self):
        if not os.path.exists(BINARY):
            raise labs.Skip(f"{BINARY} is not built")
        with open(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(self.text)
        self.spawn(*self.argv())
        if "vtap:d0" in self.text:
            until(lambda: self.running() and self.lab.plugged(), 15, "the port is there")
        until(self.ready, 60, "the server is ready")

    def argv(self):
        return (*self.under, self.binary, "-c", self.path, *self.args)

    def ready(self):
        self.running()
        with contextlib.suppress(OSError):
            info = self.telemetry.ask("/slipring/info")  # the answer is None until the command is registered
            return info and info["ready"]
        return False

    def remove_leftovers(self):
        shutil.rmtree(f"/var/run/dpdk/{self.prefix}", ignore_errors=True)  # EAL leaves an empty directory
        for path in glob.glob(f"/run/slipring/{self.prefix}.sock*"):  # the lock of a control socket stays
            os.unlink(path)

    # -- telemetry

    def published(self):
        """Waits until every worker has published its counters since this call.

        A worker counts in its own memory and publishes at the end of a round, at most a millisecond
        later. So anything seen of a round before this call, like an answer or another counter, is
        included in everything read after it.
        """
        cycles = lambda worker: self.telemetry.ask(f"/slipring/worker,{worker}")["total_cycles"]
        before = [(worker, cycles(worker)) for worker in self.telemetry.ask("/slipring/workers")]
        for worker, old in before:  # each round takes some time
            changed = lambda worker=worker, old=old: cycles(worker) != old
            until(changed, 5, f"worker {worker} publishes", pause=0.0005)

    def counters(self, command):
        """The answer to a query about the workers' counters, never older than the query."""
        self.published()
        return self.telemetry.ask(command)

    def stats(self):
        return self.counters("/slipring/stats")

    def reasons(self, command):
        """Reasons counted at least once, by name (telemetry keys cannot contain a hyphen)."""
        counts = self.counters(command)
        return {name.replace("_", "-"): count for name, count in counts.items() if count}

    def drops(self):
        return self.reasons("/slipring/drops")

    def refusals(self):
        return self.reasons("/slipring/refusals")

    def workers(self):
        """Counters of every worker; each snapshot must balance."""
        self.published()
        out = []
        for worker in self.telemetry.ask("/slipring/workers"):
            w = self.telemetry.ask(f"/slipring/worker,{worker}")
            left = w["rx"] + w["made"] + w["handed_in"]
            right = w["tx"] + w["drops"] + w["handed_out"] + w["consumed"] + w["held"]
            assert left == right, f"worker {worker} does not balance: {left} != {right}: {w}"
            out.append(w)
        return out

    def allocations(self):
        """All rows of /slipring/allocations. The server queries its workers, so no row is old."""

        def page(worker, number):
            rows = self.telemetry.ask(f"/slipring/allocations,{worker},{number}")
            return isinstance(rows, list) and (rows,)  # {"error": "busy"} after 100 ms

        out = []
        for worker in self.telemetry.ask("/slipring/workers"):
            number, rows = 0, None
            while rows is None or rows:
                rows = until(lambda w=worker, n=number: page(w, n), 5, "the worker answers")[0]
                out += rows
                number += 1
        return out

    def settled(self):
        """True if no datagram is between workers or held."""
        workers = self.workers()
        moved_in = sum(w["handed_in"] for w in workers)
        moved_out = sum(w["handed_out"] for w in workers)
        return moved_in == moved_out and not any(w["held"] for w in workers)

    def check(self, allow=()):
        """Nothing is lost or unexplained: the counters balance and only the named drops occurred."""
        until(self.settled, 3, "hand-overs settle and nothing is held")
        drops = self.drops()
        extra = set(drops) - BACKGROUND - self.allow - set(allow)
        assert not extra, f"unexplained drops: { {k: drops[k] for k in extra} }"

    # -- stopping

    def stop(self, sig=signal.SIGTERM):
        """A clean stop: exit code 0, no sanitizer report. Returns its duration in seconds."""
        self.telemetry.close()
        begin = time.monotonic()
        self.process.send_signal(sig)
        code = self.process.wait(20 * SLOW)
        took = time.monotonic() - begin
        assert code == 0, f"exit code {code}"
        for word in ("runtime error:", "Sanitizer"):
            assert word not in self.log(), f"{word} in the log"
        return took

    def finish(self):
        """Runs at the end of every test."""
        if self.process.poll() is None:
            self.check()
            self.stop()


class Coturn(Process):
    """coturn of Debian instead of slipring. Its kernel owns the addresses."""

    name = "coturn"

    def __init__(self, lab, config=None, text=None, args=(), allow=()):
        super().__init__(lab)
        self.config = merge(CONFIG, config or {})
        self.rest = "rest" in args

    def start(self):
        dut = self.lab.dut
        dut.run("sysctl", "-qw", "net.ipv6.conf.d0.disable_ipv6=0", "net.ipv6.conf.d0.accept_dad=0")
        dut.ip("link", "set", "d0", "arp", "on")
        if not self.lab.servers[1:]:
            for address in (SERVER4, SERVER6):
                self.lab.add_address(dut, "d0", address)
        auth, lifetime = self.config["auth"], self.config["limits"].get("lifetime", {})
        users = [f"--user={u['name']}:{u['password']}" for u in auth["users"]]
        if self.rest:  # coturn takes either users or secrets
            users = ["--use-auth-secret"] + [f"--static-auth-secret={s}" for s in auth["secrets"]]
        self.spawn(
            "turnserver", "-n", "--lt-cred-mech", *users,
            f"--realm={auth['realm']}", "--no-tls", "--no-dtls", "--no-tcp", "--no-cli",
            f"--listening-ip={SERVER4}", f"--listening-ip={SERVER6}",
            f"--relay-ip={SERVER4}", f"--relay-ip={SERVER6}",
            f"--max-allocate-lifetime={lifetime.get('max', 3600)}",
            "--log-file=stdout", "--simple-log", f"--pidfile={self.lab.dir}/coturn.pid",
            f"--userdb={self.lab.dir}/coturn.db", "-v",
        )  # fmt: skip
        with self.lab.client() as probe:
            until(lambda: self.running() and answers(probe), 15, "coturn answers")

    def check(self, allow=()):
        pass

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        self.process.wait(20)

    def finish(self):
        if self.process.poll() is None:
            self.stop()


def answers(probe):
    import turnlib

    try:
        return probe.binding(waits=(0.2,)).cls == turnlib.SUCCESS
    except turnlib.Silence:
        return False
