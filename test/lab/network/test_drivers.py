#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Driver profiles: their effect on a port, their precedence, and the messages about them."""

import os
import re
import subprocess

import lab as labs
from control import ctl
from lab import PEER4, until
from server import BINARY, CONFIG
from turnlib import SUCCESS

FRAME = 2048  # bytes of a frame in af_packet's rings
DEVICE = "net_af_packet0,iface=d0,qpairs=2"


def ring_frames(server):
    """Frames of one ring of af_packet, from the memory that it shares with the kernel: two rings
    per socket, one socket per queue."""
    with open(f"/proc/{server.process.pid}/maps") as file:
        maps = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) .* socket:", file.read(), re.M)
    sizes = {int(end, 16) - int(begin, 16) for begin, end in maps}
    assert len(maps) == 2 and len(sizes) == 1, maps
    return sizes.pop() // 2 // FRAME


def relays(lab):
    client, echo = lab.client(), lab.echo(PEER4)
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    client.send_channel(0x4000, b"through")
    assert client.wait("channel") == ("channel", 0x4000, b"through")
    client.close()
    echo.close()


def check(lab, config, want):
    """A server with this configuration: (frames, rx ring, tx ring), and a line of its log."""
    server = lab.server(config)
    (port,) = server.telemetry.ask("/slipring/ports")
    found = (ring_frames(server), port["rx_ring"], port["tx_ring"])
    assert found == want[:3], (found, want)
    assert re.search(want[3], server.log()), (want[3], server.log())
    if not config:
        relays(lab)
    server.finish()
    print("ok    ", want[3])


def write(lab, name, text):
    path = os.path.join(lab.dir, "drivers", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return os.path.dirname(path)


def profiles(lab):
    """The port's settings with and without profiles."""
    shipped = r"port wan: rings rx 1024 tx 1024, profile \S+/drivers-config/af_packet.yaml \(in the lab"
    check(lab, {}, (1024, 1024, 1024, shipped))
    port = {**CONFIG["ports"][0], "device": DEVICE + ",framecnt=256"}
    rings = {"buffers": {"rx-ring": 128}}
    check(lab, {"ports": [port], **rings}, (256, 128, 1024, "rings rx 128 tx 1024, profile"))
    none = "driver profiles: none: ports use the values that they report(?s:.*)no profile of driver net_af"
    check(lab, {"drivers": ""}, (512, 1024, 1024, none))
    folder = write(lab, "own.yaml", "drivers: [net_af_packet]\ntested: here\nrx-ring: 256\n"
                "devargs: framecnt=2048\n")  # fmt: skip
    check(lab, {"drivers": folder}, (2048, 256, 1024, r"driver profiles: 1 in .*drivers\n"))
    # More than the pool has: rejected with a warning.
    write(lab, "own.yaml", "drivers: [net_af_packet]\ntested: here\nrx-ring: 32768\n")
    pool = {"buffers": {"mbufs": 16384}}
    check(lab, {"drivers": folder, **pool}, (512, 1024, 1024, "warn .* asks for rings of 32768 and 0: "))


def statistics(lab):
    """The driver's statistics are shown within 80 columns, and equal the workers' counters."""
    path = os.path.join(lab.dir, "control.sock")
    server = lab.server({"control": {"socket": path}})
    relays(lab)

    def same():
        before = server.stats()
        text = ctl(path, "ports", "--xstats")
        shown = dict(re.findall(r"^wan: ([rt]x)_good_packets (\d+)$", text, re.M))
        assert shown and all(len(line) <= 80 for line in text.splitlines()), text
        return shown == {direction: str(before[direction]) for direction in ("rx", "tx")}

    until(same, 5, "xstats equal the counters")
    assert "_good_packets" not in ctl(path, "ports")
    server.finish()


def slipring(*args):
    return subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=20, check=False)


def refusals(lab):
    """Errors in a profile are found before anything starts, and by --check."""
    config = os.path.join(labs.TOP, "conf/minimal.yaml")
    folder = write(lab, "own.yaml", "drivers: [net_x]\ntested: no\nrings: 7\n")
    for args in (("--check", "-c", config), ("-c", config), ("--show-driver", "net_x")):
        bad = 78 if args[0] == "-c" else 1  # a start, which the unit does not repeat
        done = slipring(*args, "--drivers", folder)
        assert done.returncode == bad and f"{folder}/own.yaml:3:1: rings: unknown key" in done.stderr, done
        done = slipring(*args, "--drivers", folder + "/nowhere")
        assert done.returncode == bad and "nowhere: driver profiles: No such" in done.stderr, done
    assert slipring("--check", "-c", config, "--drivers", "").returncode == 0
    done = slipring("--show-driver", "ice", "--drivers", os.path.join(labs.TOP, "drivers-config"))
    assert done.returncode == 0 and "\nsteering: address # " in done.stdout, done
    done = slipring("--show-driver", "net_new", "--drivers", "")
    assert done.returncode == 0 and done.stdout.startswith("# net_new: no profile"), done
    print("ok     refusals and --show-driver")


def vtap(lab):
    """A vtap's ring is the queue of its interface."""
    labs.need_own_server()
    folder = write(lab, "own.yaml", "drivers: [vtap]\ntested: here\nrx-ring: 300\n")
    rings = {"drivers": "", "buffers": {"rx-ring": 200}}
    for config, want in (({"drivers": ""}, 1024), ({}, 300), (rings, 200)):
        server = lab.server({"drivers": folder, **config})
        (port,) = server.telemetry.ask("/slipring/ports")
        assert (port["rx_ring"], port["tx_ring"]) == (want, 0), port
        assert f"qlen {want}" in lab.sw.ip("link", "show", "d0"), want
        relays(lab)
        server.finish()
    print("ok     vtap")


def main(lab):
    labs.need_own_server()
    refusals(lab)
    profiles(lab)
    statistics(lab)


if __name__ == "__main__":
    labs.run(main, port="af_packet")
    labs.run(vtap, port="vtap")
