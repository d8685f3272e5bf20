#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A thread makes a forbidden system call on order. With `kill` the process ends, with `log` the
call fails and nothing else happens, and without filters it succeeds.
"""

import signal

import lab as labs
import watch
from lab import SLOW, until
from turnlib import SUCCESS

WORKER, MANAGEMENT = {"worker": 0}, {}


def start(lab, how):
    more = {"process": {"seccomp": how}, "workers": {"count": 1}}
    return lab.server(watch.config(lab, **more), allow=["no-allocation"])


def ends(lab, how, thread, number):
    server = start(lab, how)
    watch.order(server, "call", **thread)
    watch.ended(server, number)
    print(f"{how}, {'worker' if thread else 'management'}: {number.name}", flush=True)
    return server


def relays(lab, echo):
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    client.send_channel(0x4000, b"media")
    assert client.wait("channel", timeout=2 * SLOW) == ("channel", 0x4000, b"media")
    client.close()


def goes_round(server):
    """Waits until the management loop has begun two rounds, so that it has handled earlier orders."""
    for _ in range(2):
        before = server.log().count("reload by SIGHUP")
        server.process.send_signal(signal.SIGHUP)
        until(lambda n=before: server.log().count("reload by SIGHUP") > n, 10, "a reload")


def goes_on(lab):
    """The worker handles an order before any later request."""
    server, echo = start(lab, "log"), lab.echo()
    for thread in (WORKER, MANAGEMENT):
        watch.order(server, "call", **thread)
        goes_round(server)
        relays(lab, echo)
    assert "crash report" not in server.log()
    server.stop()


def main(lab):
    labs.need_own_server()
    for thread in (WORKER, MANAGEMENT):
        server = ends(lab, "kill", thread, signal.SIGSYS)
        assert "crash report" not in server.log(), "the process ends at once"
    goes_on(lab)
    ends(lab, "off", WORKER, signal.SIGABRT)


if __name__ == "__main__":
    labs.run(main)
