#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: one process each; under ASan loadgen_transports runs the program
"""Bad arguments of the load generator: one clear line and exit code 1, before anything starts."""

import subprocess
import time

import lab as labs
import loadgen
from lab import SERVER4, SERVER6, SLOW
from loadgen import BINARY, CLIENTS4, CLIENTS6, IVAN, PEERS4, PEERS6, probes

PORTS = ("--client-port", "net_null0", "--client-addr", CLIENTS4)
MEDIA = (*PORTS, "--peer-addr", PEERS4)
GOOD = (*MEDIA, "--server", SERVER4, *IVAN)

# Options, words of the error.
BAD = (
    ((), ("--client-addr", "needed")),
    (MEDIA, ("--server", "needed")),
    ((*MEDIA, "--server", "turn.example.org"), ("--server", "not an IP address")),
    ((*MEDIA, "--server", "10.99.0.1:0"), ("--server", "port")),
    ((*MEDIA, "--server", SERVER6), ("--server", "family")),
    ((*MEDIA, "--server", "10.98.0.1"), ("--server", "--client-gateway")),
    ((*MEDIA, "--server", "10.99.0.20"), ("--server", "clients")),
    ((*PORTS, "--server", SERVER4), ("--peer-addr", "needed")),
    ((*PORTS, "--server", SERVER4, "--peer-addr", "10.99.0.40"), ("--peer-addr", "prefix length")),
    ((*GOOD, "--client-addr", "10.99.0.20"), ("--client-addr", "prefix length")),
    ((*GOOD, "--client-addr", "10.99.0.20-10.99.0.10/24"), ("--client-addr", "in ascending order")),
    ((*GOOD, "--client-addr", "10.99.0.20/33"), ("--client-addr", "prefix length")),
    ((*GOOD, "--client-addr", "10.99.0.20-10.99.1.20/24"), ("--client-addr", "subnet")),
    ((*GOOD, "--client-gateway", "fd99::1"), ("--client-gateway", "family")),
    ((*GOOD, "--size", "27"), ("--size", "28 at least")),
    ((*GOOD, "--size", "1469"), ("--size", "1469", "1468 at most", "--mtu")),
    ((*GOOD, "--size", "120,,120"), ("--size", "list")),
    ((*GOOD, "--mode", "send", "--size", "1437"), ("--size", "MTU of 1500", "1436 at most")),
    ((*GOOD, "--pps", "fast"), ("--pps", "fast")),
    ((*GOOD, "--pps", "-5"), ("--pps", "-5")),
    ((*GOOD, "--pps", "1k", "--mbps", "5"), ("--pps", "--mbps")),
    ((*GOOD, "--clients", "0"), ("--clients", "1 at least")),
    ((*GOOD, "--clients", "100", "--client-ports", "1-10"), ("--client-addr", "too few")),
    ((*GOOD, "--mode", "flood"), ("--mode", "flood")),
    ((*GOOD, "--direction", "sideways"), ("--direction", "sideways")),
    ((*GOOD, "--role", "client", "--direction", "up"), ("--direction", "--role both")),
    ((*GOOD, "--impair", "loss=200%"), ("--impair", "loss=200%")),
    ((*GOOD, "--impair", "loss=1%"), ("--impair", "echo")),
    ((*GOOD, "--secret", "s"), ("--password", "--secret")),
    ((*MEDIA, "--server", SERVER4, "--user", "ivan"), ("--user", "--password")),
    ((*GOOD, "--integrity", "md5"), ("--integrity", "md5")),
    ((*GOOD, "--search", "best"), ("--search", "best")),
    ((*GOOD, "--search", "pdr", "--pps", "1k"), ("--pps", "--from")),
    ((*GOOD, "--search", "pdr", "--from", "2k", "--to", "1k"), ("2000", "1000")),
    ((*GOOD, "--search", "pdr", "--repeats", "2"), ("--repeats", "odd")),
    ((*GOOD, "--loss", "1%"), ("--loss", "--search")),
    ((*GOOD, "--mode", "direct"), ("--server", "leave it out")),
    ((*MEDIA[:4], "--mode", "direct", "--peer-addr", PEERS6), ("--peer-addr", "family")),
    ((*GOOD, "--telemetry", "/var/run/dpdk"), ("--telemetry", "not a path")),
    ((*GOOD, "--colour", "red"), ("--colour",)),
    ((*GOOD, "--size"), ("--size",)),
    ((*GOOD, "surplus"), ("surplus",)),
)  # fmt: skip


def loadgen_run(*args):
    done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=30 * SLOW,
        check=False)  # fmt: skip
    for word in ("runtime error", "Sanitizer"):
        assert word not in done.stderr, done.stderr
    return done


def check_refused():
    for args, words in BAD:
        begin = time.monotonic()
        done = loadgen_run(*args)
        took = time.monotonic() - begin
        lines = done.stderr.splitlines()
        assert done.returncode == 1 and not done.stdout, (args, done)
        assert len(lines) <= 2 and lines[0].startswith("slipring-loadgen: "), (args, done.stderr)
        assert "EAL" not in done.stderr and took < 3 * SLOW, (args, took, done.stderr)
        for word in words:
            assert word in done.stderr, (args, word, done.stderr)
    for args in (("--help",), ("-h",), ("--version",)):
        done = loadgen_run(*args)
        assert done.returncode == 0 and "slipring-loadgen" in done.stdout, (args, done)
        assert not done.stderr, done.stderr
    print(f"ok     {len(BAD)} bad command lines")


def fails(gen, *words, options):
    """A run that starts and exits with a clear message."""
    run = gen.start(*options).finish(30)
    assert run.code == 1 and not run.output, (run.code, run.output, run.log())
    lines = [line for line in run.log().splitlines() if line.startswith("slipring-loadgen: ")]
    assert len(lines) == 1, run.log()
    for word in words:
        assert word in lines[0], (word, lines[0])
    print("ok    ", lines[0])


def check_failures(lab, gen):
    """Errors that are found only at run time: ports, servers, passwords."""
    hold = ("--mode", "alloc-hold", "--clients", "3", "--duration", "0.2")
    fails(gen, "nosuch", options=(*probes(*IVAN, *hold), "--client-port",
        "net_af_packet0,iface=nosuch"))  # fmt: skip
    fails(gen, "no answer from", "10.99.0.77", options=(*probes(*IVAN, *hold), "--server",
        "10.99.0.77"))  # fmt: skip
    fails(gen, "no answer from", "fd99::77", options=(*probes(*IVAN, *hold, family=6), "--server",
        "fd99::77"))  # fmt: skip
    lab.server(allow={"no-allocation", "auth"})
    wrong = probes("--user", "ivan", "--password", "wrong", *hold)
    fails(gen, "no client of 3", "401", "--password", options=wrong)
    fails(gen, "no client of 3", "401", options=probes(*hold))


def main(lab):
    gen = loadgen.Generator(lab)
    check_refused()
    labs.need_own_server()
    check_failures(lab, gen)


if __name__ == "__main__":
    labs.run(main)
