#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client whose datagram crashes every process that restores its call: after three crashes the
next process starts without the state, logs the reason, and serves all others."""

import contextlib
import os
import signal
import time

import control
import keep
import lab as labs
import watch
from turnlib import SUCCESS


def poison(server, client):
    """A datagram of the client ends the process."""
    watch.order(server, "segv", worker=0, burst=True)
    while server.process.poll() is None:
        with contextlib.suppress(OSError):
            client.send_channel(0x4000, b"poison")
        time.sleep(0.002)
    watch.ended(server, signal.SIGSEGV)


def three(server, calls):
    """The first three crashes lose nothing."""
    for deaths in range(1, 4):
        poison(server, calls.clients[0])
        before = len(server.log())
        server.start()
        told = keep.told(server)
        assert told["deaths"] == deaths, told
        if deaths < 3:
            assert told["start"] == "taken" and told["allocations"] == len(calls.clients), told
            assert calls.relays(calls.clients[0])
    return told, server.log()[before:]


def fourth(server, calls, told, log):
    """The area is put aside, and the server is empty and serves."""
    assert told["start"] == "crashed" and not server.allocations(), told
    assert "error start: state: " in log and "3 processes in a row have died" in log, log
    assert f"{server.area}.crashed" in log and "slipringctl crash" in log, log
    assert os.path.exists(server.area + ".crashed")
    assert "3 processes in a row have died" in control.ctl(server.control, "status")
    assert calls.clients[1].refresh().code == 437


def main(lab):
    labs.need_own_server()
    keep.need_memory()
    config = {"debug": {"faults": True}, "crash": {"directory": ""}, "workers": {"count": 1}}
    server = keep.start(lab, config)
    calls = keep.Calls(lab, 2)
    fourth(server, calls, *three(server, calls))
    calls = keep.Calls(lab, 2)
    poison(server, calls.clients[0])  # the count starts again
    server.start()
    told = keep.told(server)
    assert told["start"] == "taken" and told["deaths"] == 1, told
    keep.restart(server)  # and an ordinary stop resets it
    told = keep.told(server)
    assert told["start"] == "taken" and told["deaths"] == 0, told
    calls.check()
    client = calls.clients[0]
    assert client.refresh(0).cls == SUCCESS


if __name__ == "__main__":
    labs.run(main)
