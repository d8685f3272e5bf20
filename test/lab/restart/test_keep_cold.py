#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: every kind of damage to an area
"""A restart with another configuration ends only the allocations that it excludes. An invalid state
area, or one in use by another process, is refused with a reason."""

import os
import subprocess

import keep
import lab as labs
import server as servers
import turnlib
from lab import SERVER4, SERVER6, until
from turnlib import REQUESTED_ADDRESS_FAMILY, SUCCESS

IPV6 = [(REQUESTED_ADDRESS_FAMILY, bytes([2, 0, 0, 0]))]


def of_olga(lab, calls):
    """A client over IPv4 with an IPv6 relayed address, of another user."""
    client = lab.client(turnlib.Auth("olga", "geheim"))
    assert client.allocate(keep.LONG_LIFE + IPV6).cls == SUCCESS
    client.family, client.channel = 6, True
    assert client.bind(0x4000, calls.echo[6].address).cls == SUCCESS
    assert calls.relays(client)
    return client


def places(lab, server, calls):
    """The configuration loses a listener, then a relay address, then a user."""
    clients_of = lambda family: [client for client in calls.clients if client.family == family]
    keep.change(server, {"listeners": [{"address": SERVER4, "port": 3478}]})
    keep.restart(server)
    assert keep.told(server)["lost_listener"] == len(clients_of(6)), keep.told(server)
    # their thread writes records when it gets its turn
    until(lambda: keep.ended(server) == ["restart"] * len(clients_of(6)), 5, "the records are written")
    calls.check(clients_of(4))
    olga = of_olga(lab, calls)
    keep.change(server, {"relay": {"addresses": [SERVER4]}})
    keep.restart(server)
    assert keep.told(server)["lost_relay"] == 1, keep.told(server)
    assert "1 not restored: relay: " in server.log()
    calls.check(clients_of(4))
    assert olga.refresh().code == 437
    keep.change(server, {"auth": {"users": [{"name": "olga", "password": "geheim"}]}})
    keep.restart(server)
    assert keep.told(server)["lost_user"] == len(clients_of(4)), keep.told(server)
    until(lambda: keep.ended(server).count("user-gone") == len(clients_of(4)), 5, "the records are written")
    assert not server.allocations()
    keep.change(server, {})


def truncate(path):
    os.truncate(path, os.path.getsize(path) // 2)


def foreign(path):
    os.truncate(path, 0)
    with open(path, "r+b") as file:
        file.write(b"what somebody else has put there\n" * 1000)


def flip(offset):
    """Flips a bit in the header: at 8 is the number of the layout, later bytes break the checksum."""

    def change(path):
        with open(path, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 1]))

    return change


def refused(lab, server):
    """The server starts empty, logs the reason, and keeps the old file aside."""
    ways = (
        (truncate, "it is shorter than its header says"),
        (flip(8), "it was written by a version with another layout"),
        (lambda path: os.chmod(path, 0o640), "others may open it"),
        (foreign, "it is not a state area of this program"),
        (flip(60), "its header does not match its checksum"),
    )
    for spoil, reason in ways if labs.LONG else ways[:2]:
        with lab.client() as client:
            assert client.allocate().cls == SUCCESS
            server.stop()
            spoil(server.area)
            before = len(server.log())
            server.start()
            assert keep.told(server)["why"] == reason, keep.told(server)
            assert keep.told(server)["start"] == "refused"
            log = server.log()[before:]
            assert "warn  start: state: " in log and reason in log, log
            assert not server.allocations()
            assert os.path.exists(server.area + ".refused")
            assert client.refresh().code == 437


def locked(lab, server):
    """Two processes never share an area: the second one does not start."""
    config = servers.merge(server.config, {"eal": {"file-prefix": server.prefix + "x"}})
    path = os.path.join(lab.dir, "second.yaml")
    with open(path, "w") as file:
        file.write(lab.device(servers.document(config)))
    done = subprocess.run(lab.dut.argv(servers.BINARY, "-c", path), capture_output=True, text=True,
        timeout=60, check=False)  # fmt: skip
    assert done.returncode == 1, done
    assert f"state.file: {server.area} is in use by pid {keep.pid(server)}" in done.stderr, done.stderr
    servers.shutil.rmtree(f"/var/run/dpdk/{server.prefix}x", ignore_errors=True)


def main(lab):
    labs.need_own_server()
    keep.need_memory()
    server = keep.start(lab)
    calls = keep.Calls(lab, 4)
    places(lab, server, calls)
    keep.restart(server)
    locked(lab, server)
    refused(lab, server)


if __name__ == "__main__":
    labs.run(main)
