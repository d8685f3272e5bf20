#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The watchdog: a worker that hangs causes an alarm with its stack, and continues or ends the
process. No alarm for a worker without CPU time or a stopped process. Without management datagrams
are still relayed, and management catches up afterwards.
"""
# long: management frozen for a minute

import os
import re
import signal
import threading
import time

import lab as labs
import watch
from lab import until
from turnlib import SUCCESS

FROZEN_S = 60 if labs.LONG else 2.5
STOPPED_S = 3 if labs.LONG else 1


def counters(server):
    return server.telemetry.ask("/slipring/watchdog")


def alarms(server):
    now = counters(server)
    return now["alarms_workers"], now["alarms_management"]


def relaying(lab, echo):
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    return client


def relays(client, text=b"x"):
    client.send_channel(0x4000, text)
    return client.wait("channel", timeout=2 * labs.SLOW) == ("channel", 0x4000, text)


def worker_hangs(lab, server, fault, ms):
    """For a while: the log has the worker, the place, and that it continues."""
    before = alarms(server)
    log_end = len(server.log())
    watch.order(server, fault, worker=0, ms=ms)
    told = lambda: server.log()[log_end:]
    until(lambda: "worker 0 " in told() and "makes progress again: it made none for" in told(), 10, "alarm")
    line = next(line for line in told().splitlines() if "makes no progress" in line)
    assert re.search(r"worker 0 \(lcore \d+\) makes no progress for \d+ ms, at stage tick; stack: ", line), line
    assert "dp_fault_now+" in line and "worker_run+" in line, line
    print(line)
    assert alarms(server) == (before[0] + 1, before[1])


def stopped(lab, server, client):
    """SIGSTOP of the whole process, like a paused machine: no thread hangs."""
    before = alarms(server)
    os.kill(server.process.pid, signal.SIGSTOP)
    time.sleep(STOPPED_S)
    os.kill(server.process.pid, signal.SIGCONT)
    until(lambda: relays(client), 5, "it relays again")
    ticks = counters(server)["ticks"]
    until(lambda: counters(server)["ticks"] > ticks + 20, 10, "the watchdog runs again")
    assert alarms(server) == before, "a stopped process causes no alarm"
    assert counters(server)["late_ticks"] > 0


def received(client, n, timeout=0.1):
    """The number of n datagrams that come back, each within a time: a busy machine delays them."""
    got = 0
    while got < n and client.wait("channel", timeout=timeout * labs.SLOW) is not None:
        got += 1
    return got


def frozen(lab, server, client, echo):
    """Management hangs: no datagram is lost, and later it has missed no event."""
    before = alarms(server)
    log_end = len(server.log())
    watch.order(server, "block", ms=int(FROZEN_S * 1000))
    told = lambda: server.log()[log_end:]
    until(lambda: "management makes no progress" in told(), 10, "management is frozen")
    assert "dp_fault_now+" in told()
    end = time.monotonic() + FROZEN_S - 1.5  # well before it continues
    sent, got = 0, 0
    with relaying(lab, echo) as short:  # made and ended meanwhile
        assert relays(short)
        assert short.refresh(0).cls == SUCCESS
    while time.monotonic() < end:
        for _ in range(20):
            client.send_channel(0x4000, b"%d" % sent)
            sent += 1
        got += received(client, sent - got)
        time.sleep(0.002)
    got += received(client, sent - got, 5)
    assert got == sent > 0, (sent, got, server.drops(), server.telemetry.ask("/slipring/ports"))
    assert relays(client) and client.refresh().cls == SUCCESS
    text = told()
    assert "sessions" not in text or "management makes progress again" in text, text
    until(lambda: "management makes progress again" in told(), 10, "management continues")
    until(lambda: "ended" in told() and "made" in told(), 10, "events of that time are logged")
    assert alarms(server) == (before[0], before[1] + 1)
    assert "worker" not in re.sub(r"fault by order.*", "", told()).replace("workers:", ""), told()
    print(f"management frozen for {FROZEN_S} s: {sent} datagrams, none lost")


def starved(lab, server):
    """Others use all CPUs: no alarm, and the process does not end."""
    before = alarms(server)
    stop = threading.Event()
    busy = [labs.subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * os.cpu_count())]
    time.sleep(1)
    stop.set()
    for process in busy:
        process.kill()
        process.wait()
    assert alarms(server) == before, (before, alarms(server))


def refused(lab, server):
    """Invalid orders, and any order while they are disabled."""
    with watch.control.Control(server.config["control"]["socket"]) as client:
        assert "must be one of" in client.refused("fault", **{"what": "dance"})
        assert "what: missing" in client.refused("fault", worker=0)
        assert "management" in client.refused("fault", **{"what": "segv"})
        assert "worker" in client.refused("fault", **{"what": "spin"}, worker=99)
        assert "such field" in client.refused("fault", **{"what": "spin"}, colour=1)


def not_allowed(lab):
    server = lab.server({**watch.config(lab), "debug": {"faults": False}})
    with watch.control.Control(server.config["control"]["socket"]) as client:
        assert "for tests alone" in client.refused("fault", **{"what": "segv"}, worker=0)
    server.finish()


def hangs_for_ever(lab, fault):
    """The process ends, and its last log lines name the cause."""
    server = lab.server(watch.config(lab, watchdog={"alarm-ms": 100, "abort-ms": 400}))
    begin = time.monotonic()
    watch.order(server, fault, worker=1)
    watch.ended(server, signal.SIGABRT)
    took = time.monotonic() - begin
    log = server.log()
    assert "watchdog: worker 1 " in log and "the process ends" in log, log
    report = watch.Report(log[log.index("slipring crash report") :])
    assert report.whole and "worker 1 " in report.rows["reason"], report.text
    assert "dp_fault_now" in report.stack() and "worker_run" in report.stack(), report.text
    print(f"{fault} without end: exited after {took:.2f} s")


def main(lab):
    labs.need_own_server()
    not_allowed(lab)
    server = lab.server(
        watch.config(lab, log={"areas": {"sessions": "debug"}}, watchdog={"alarm-ms": 100})
    )
    echo = lab.echo()
    client = relaying(lab, echo)
    assert relays(client)
    refused(lab, server)
    worker_hangs(lab, server, "spin", 300)
    worker_hangs(lab, server, "block", 1000)
    stopped(lab, server, client)
    frozen(lab, server, client, echo)
    starved(lab, server)
    assert relays(client)
    told = watch.control.ctl(server.config["control"]["socket"], "status")
    assert "alarms since the start: workers 2, management 1, other threads 0" in " ".join(told.split()), told
    server.finish()
    for fault in ("spin", "block"):
        hangs_for_ever(lab, fault)


if __name__ == "__main__":
    labs.run(main)
