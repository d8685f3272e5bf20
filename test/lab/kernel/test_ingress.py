#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of other owners at the ingress of the interface that server and kernel share, like those
of a container network. A program that passes every frame does not expose the server's frames to the
kernel, neither if it is older than the server's program nor if it comes while media flow. A program
that insists on the first place is reported.
"""

import contextlib
import os
import subprocess

import frames
import lab as labs
import server as servers
import tcx
from capture import Capture
from control import Control
from lab import PEER4, SERVER4, until
from turnlib import SUCCESS

OURS = "slipring_packet"
AGAIN = "ours is the first again"


def order(lab):
    return tcx.programs(lab.dut, "d0")


def unreachable(capture):
    """ICMP errors that the kernel has sent about ports of the server."""
    return [f for f in capture.frames if f.data[12:14] == b"\x08\x00" and f.data[23] == 1
            and f.data[26:30] == frames.packed(SERVER4) and f.data[34] == 3]  # fmt: skip


def relayed(lab, client, number=20):
    """Datagrams in both directions, without any ICMP error of the kernel."""
    with Capture(lab, lab.sw, "d0") as capture:
        for i in range(number):
            payload = os.urandom(40 + i)
            client.send_channel(0x4001, payload)
            assert client.wait("channel") == ("channel", 0x4001, payload)
    assert not unreachable(capture), len(unreachable(capture))


def client_of(lab):
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4001, lab.echo(PEER4).address).cls == SUCCESS
    return client


def port(server):
    return server.telemetry.ask("/slipring/ports")[0]


def warned(server):
    control = Control(server.config["control"]["socket"])
    with contextlib.closing(control.sock):
        return [w for w in control.ask("status")["warnings"] if "ingress" in w]


def before(lab):
    """An older program comes after the server's."""
    with tcx.Other(lab.dut, "d0"):
        server = lab.server()
        assert order(lab) == [OURS, "other"], order(lab)
        relayed(lab, client_of(lab))
        done = subprocess.run(lab.dut.argv(servers.BINARY, "--check", "-c", server.path),
            capture_output=True, text=True, check=True)  # fmt: skip
        assert "at the ingress of d0 (other)" in done.stderr, done.stderr
        server.finish()


def meanwhile(lab):
    """A program that is put first is soon second again, and one that leaves makes no difference."""
    path = os.path.join(lab.dir, "control.sock")
    server = lab.server({"control": {"socket": path}})
    client = client_of(lab)
    assert order(lab) == [OURS]
    with tcx.Other(lab.dut, "d0", first=True):
        until(lambda: order(lab) == [OURS, "other"], 3, "ours is the first again")
        relayed(lab, client)
        until(lambda: AGAIN in server.log(), 1, "the log says so")
        with tcx.Other(lab.dut, "d0", "third", first=True):
            until(lambda: order(lab) == [OURS, "third", "other"], 3, "before both")
            relayed(lab, client)
    until(lambda: order(lab) == [OURS], 1, "the others have left")
    relayed(lab, client)
    assert not port(server)["trouble"] and not warned(server)
    insists(lab, server, client)
    server.check()
    server.stop()


def insists(lab, server, client):
    """Two programs that compete for the first place: the server stops competing, and is first in
    the end."""
    held = []
    try:

        def displaced():
            if order(lab)[0] == OURS:
                held.append(tcx.Other(lab.dut, "d0", first=True))
                if len(held) > 1:
                    held.pop(0).close()
            return port(server)["trouble"]

        until(displaced, 40, "status reports the programs in front", pause=0.1)
        assert server.log().count("ours cannot stay the first") == 1
        (warning,) = warned(server)
        assert "bpftool net" in warning, warning
    finally:
        for holder in held:
            holder.close()
    until(lambda: not port(server)["trouble"], 30, "the server's is first, and status says so")
    assert not warned(server)
    relayed(lab, client)


def main(lab):
    labs.need_own_server()
    try:
        assert order(lab) == []
    except OSError:
        raise labs.Skip("this kernel has no TCX") from None
    before(lab)
    meanwhile(lab)


if __name__ == "__main__":
    labs.run(main, port="packet")
