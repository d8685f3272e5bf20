#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames that found the port's ring full were never read, but are counted."""

import signal

import lab as labs
from lab import SERVER4, until

FRAMES = 4000  # more than the rings of two queues hold


def received(lab):
    """Frames that the kernel has put on the wire to the port, by its own counters."""
    if lab.vtap:  # frames that it delivered, and that it dropped
        ns, counters = lab.sw, ("tx_packets", "tx_dropped")
    else:
        ns, counters = lab.dut, ("rx_packets",)
    return sum(int(ns.run("cat", f"/sys/class/net/d0/statistics/{name}")) for name in counters)


def counted(server):
    (port,) = server.telemetry.ask("/slipring/ports")
    return server.stats()["rx"], port["rx_missed"]


def steady(lab, server):
    """(frames of the interface, frames read, frames missed) once they are stable: every worker has
    polled its queues between two readings and found nothing."""

    def read():
        before = received(lab), *counted(server)
        return before == (received(lab), *counted(server)) and before

    return until(read, 10, "no frame moves")


def trickle(lab):
    """A frame to the port every millisecond during the start: some arrive between the opening of
    the driver's sockets and the rest of the start, and a queue holds them."""
    sock = lab.cli.raw("c0")
    lab.cleanup.callback(sock.close)
    frame = bytes.fromhex("029900000001 029900000002 88b5") + bytes(50)
    return labs.meanwhile(lambda: sock.send(frame), 0.001 * labs.SLOW)


def main(lab):
    with trickle(lab):
        server = lab.server(allow=["ethertype"])
    lab.client().binding()  # resolves the neighbour
    frames, read, missed = steady(lab, server)
    assert missed == 0, f"{missed} missed before anything was lost"
    server.process.send_signal(signal.SIGSTOP)
    try:
        sock = lab.cli.udp("10.99.0.2")
        for _ in range(FRAMES):
            sock.sendto(b"\xff", (SERVER4, 3478))
    finally:
        server.process.send_signal(signal.SIGCONT)
    after = steady(lab, server)
    got, lost = after[1] - read, after[2] - missed
    assert lost > 0, "a ring that holds everything tests nothing"
    assert got + lost == after[0] - frames, f"{got} read + {lost} missed of {after[0] - frames}"
    print(f"{after[0] - frames} frames to a stopped server: {got} read, {lost} missed")
    server.allow |= {"not-turn", "handover-full"}  # the other worker may wait for a CPU


if __name__ == "__main__":
    for port in ("vtap", "af_packet"):
        labs.run(main, port=port)
