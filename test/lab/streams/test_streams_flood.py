#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TLS handshakes at the maximum rate of a CPU, during calls over UDP and a client over TLS, while
the certificate changes repeatedly: no datagram is lost, no session ends, no handshake fails.

The worker has its own CPU. The stream thread, the flooding and the calling clients share the other
one.
"""

import os
import re
import shutil
import signal
import ssl
import subprocess
import time

import lab as labs
import loadgen
import streams
from lab import PEER4, until
from turnlib import SUCCESS

SECONDS = 4
RELOADS = 5 if labs.SLOW == 1 else 2  # at least
CALLS = f"--clients 8 --pps 1k --direction both --duration {SECONDS} --size 160".split()
FLOODERS = 2


def flood(lab, cpu):
    """openssl s_time: new connections with full handshakes, repeatedly."""
    return lab.popen(
        lab.cli, "taskset", "-c", str(cpu), "openssl", "s_time", "-new", "-time", str(SECONDS),
        "-connect", f"{streams.V4}:5349", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip


def shown(lab):
    """The certificate that a new connection sees."""
    with streams.over_tls(streams.connect(lab, "tls")) as sock:
        return sock.getpeercert(True)


def der(path):
    with open(path) as file:
        return ssl.PEM_cert_to_DER_cert(file.read())


def renew(lab, server, number, talker, worst):
    """Changes the certificate for new connections. The open session continues at any moment."""
    pair = streams.certificate(lab, f"number-{number}", "next")
    certificate = der(pair[0])
    for path, name in zip(pair, ("cert.pem", "cert.key")):
        shutil.move(path, os.path.join(lab.dir, name))
    server.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 10 * labs.SLOW
    while True:
        begin = time.monotonic()
        talker.send_channel(0x4000, b"%f" % begin)
        assert talker.wait("channel", 5 * labs.SLOW)[2] == b"%f" % begin
        worst = max(worst, time.monotonic() - begin)
        if shown(lab) == certificate:
            return worst
        assert begin < end, f"certificate {number} is not shown"


def main(lab):
    labs.need_own_server()
    cpus = sorted(os.sched_getaffinity(0))
    here, there = cpus[0], cpus[-1]
    streams.join(lab)
    config = streams.config(lab, ("tls",), **{"per-source": 0})
    config |= {"eal": {"lcores": f"0@{here},1@{there}"}, "workers": {"count": 1}}
    server = lab.server(config, queues=1)
    gen = loadgen.Generator(lab)
    echo, talker = lab.echo(PEER4), streams.client(lab, "tls")
    assert talker.allocate().cls == SUCCESS and talker.bind(0x4000, echo.address).cls == SUCCESS
    before = streams.counters(server)
    run = gen.start(*loadgen.media(*loadgen.IVAN, *CALLS))
    until(lambda: server.stats()["allocations"] > 1, 5, "the calls begin")
    flooders = [flood(lab, here) for _ in range(FLOODERS)]
    number = worst = 0
    while run.process.poll() is None:
        worst = renew(lab, server, number, talker, worst)
        number += 1
    assert number >= RELOADS, number
    result = run.result()
    loadgen.check_clean(result, "up", "down")
    missed = sum(port["rx_missed"] for port in server.telemetry.ask("/slipring/ports"))
    assert missed == 0, f"{missed} frames never reached the worker"
    done = 0
    for flooder in flooders:
        said = flooder.communicate(timeout=30 * labs.SLOW)[0]
        assert flooder.returncode == 0, said
        done += int(re.search(r"(\d+) connections in [\d.]+ real seconds", said)[1])
    # with TLS 1.3 a client finishes its handshake before the server
    handshakes = lambda: streams.counters(server)["handshakes"] - before["handshakes"]
    until(lambda: handshakes() >= done, 5, f"{done} handshakes are counted")
    after, seen = streams.counters(server), handshakes()
    assert done > 100 / labs.SLOW, (seen, done)
    # s_time exits without reading its tickets, which causes a reset: counted as failed
    for name in ("handshake_failed", "slow", "idle", "refused_total", "refused_source", "queue_full"):
        assert after[name] == before[name], (name, after)
    assert talker.refresh().cls == SUCCESS
    print(f"{seen / SECONDS:.0f} handshakes a second and {number} certificates beside "
          f"{result['total_recv']} datagrams, none lost; the slowest echo over TLS "
          f"{worst * 1e3:.0f} ms")  # fmt: skip


if __name__ == "__main__":
    labs.run(main)
