# SPDX-License-Identifier: BSD-3-Clause
"""Restarts that keep calls: a server with a state area, calls through it, and ways to stop a
process."""

import contextlib
import glob
import os
import shutil
import signal
import tempfile
import threading
import time

from constants import document
import lab as labs
import server as servers
import turnlib
from lab import CLIENT6, PEER4, PEER6, SLOW, until
from turnlib import LIFETIME, REFRESH, SUCCESS, u32

PLANNED, CRASH = 1.0, 3.0  # most seconds from the end of a process until media flows again
LONG_LIFE = [(LIFETIME, u32(600))]


def folder(lab):
    """A directory in a memory file system, for the state area."""
    path = tempfile.mkdtemp(prefix="lab-", dir="/dev/shm")
    lab.cleanup.callback(shutil.rmtree, path, ignore_errors=True)
    return path


def start(lab, config=None, **kwargs):
    """A server with a state area, a control socket and a records file."""
    path = folder(lab)
    defaults = {
        "state": {"file": os.path.join(path, "state")},
        "control": {"socket": os.path.join(lab.dir, "control.sock")},
        "records": {"file": os.path.join(lab.dir, "records.json")},
    }
    server = lab.server(servers.merge(defaults, config or {}), **kwargs)
    server.area = defaults["state"]["file"]
    server.control = defaults["control"]["socket"]
    server.records_path = defaults["records"]["file"]
    # A new process knows no neighbours, and all media waits for them.
    server.allow |= {"no-allocation", "peer-no-allocation", "neighbour-hold-full"}
    return server


def change(server, changes):
    """Writes the configuration of the next process."""
    config = servers.merge(server.config, changes)
    server.text = server.lab.device(document(config))


def die(server):
    """kill -9."""
    server.telemetry.close()
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()


def stop(server):
    """Stops the server. Returns the time when the process had ended."""
    server.check()
    server.stop()
    return time.monotonic()


def kill(server):
    """Sends SIGKILL and waits the unit's RestartSec=. Returns the time when the process had ended."""
    die(server)
    ended = time.monotonic()
    time.sleep(0.1)
    return ended


def restart(server, end=stop):
    """Starts the next process after the previous one ended. Returns the time when that had ended."""
    ended = end(server)
    server.start()
    return ended


def told(server):
    """The telemetry of the state area."""
    return server.telemetry.ask("/slipring/state")


def ended(server):
    """Reasons in the records of ended allocations."""
    return [row["why"] for row in labs.records(server.records_path) if row["event"] == "ended"]


def first(client, method=REFRESH, attrs=()):
    """The answer to a request, without a retry that learns from a challenge."""
    return client.exchange(client.signed(method, attrs))


class Calls:
    """Clients with allocations of both families, some with channels and some with permissions only."""

    def __init__(self, lab, number=8):
        self.lab = lab
        self.echo = {4: lab.echo(), 6: lab.echo(PEER6)}
        self.stranger = {4: lab.peer.udp(PEER4), 6: lab.peer.udp(PEER6)}
        self.clients = [self.make(6 if i % 4 == 3 else 4, i % 2 == 0) for i in range(number)]
        self.number = 0

    def make(self, family, channel):
        client = self.lab.client(ip=CLIENT6) if family == 6 else self.lab.client()
        attrs = [(turnlib.REQUESTED_ADDRESS_FAMILY, bytes([2, 0, 0, 0]))] if family == 6 else []
        assert client.allocate(LONG_LIFE + attrs).cls == SUCCESS
        client.family, client.channel = family, channel
        echo = self.echo[family].address
        assert client.permit(echo).cls == SUCCESS
        assert not channel or client.bind(0x4000, echo).cls == SUCCESS
        return client

    def relays(self, client):
        """Media to the peer and back, and media that the peer starts. Datagrams may be lost while a
        port is attached and neighbours are resolved."""
        return any(self.relays_once(client) for _ in range(5))

    def relays_once(self, client):
        self.number += 1
        text, echo = b"media %d" % self.number, self.echo[client.family].address
        kind = "channel" if client.channel else "data"
        if client.channel:
            client.send_channel(0x4000, text)
        else:
            client.send(echo, text)
        back = client.wait(kind, 3 * SLOW, lambda item: item[2] == text)
        stranger = self.stranger[client.family]
        stranger.sendto(b"from the " + text, client.relayed)
        data = client.wait("data", 3 * SLOW, lambda item: item[2] == b"from the " + text)
        return back is not None and data is not None and data[1] == stranger.getsockname()[:2]

    def check(self, clients=None):
        """All calls continue without interruption: media flows, and no request is challenged."""
        for client in self.clients if clients is None else clients:
            assert self.relays(client), f"no media through {client.relayed}"
            answer = first(client, attrs=LONG_LIFE)
            assert answer.cls == SUCCESS, answer
            assert self.relays(client)

    def relayed(self):
        return {client.relayed for client in self.clients}


def shown(server):
    """The relayed transport addresses of the server's allocations."""
    split = lambda text: (text.rsplit(":", 1)[0].strip("[]"), int(text.rsplit(":", 1)[1]))
    return {split(row["relay"]) for row in server.allocations()}


def waited(server):
    """Seconds that the main thread of a process and its slowest worker waited for a CPU: the start
    would be that much faster on an idle machine."""
    seconds = {}
    for task in glob.glob(f"/proc/{pid(server)}/task/*"):
        with contextlib.suppress(OSError), open(task + "/comm") as name, open(task + "/schedstat") as stat:
            kind = "worker" if "worker" in name.read() else task.rsplit("/", 1)[1]
            seconds[kind] = max(seconds.get(kind, 0), int(stat.read().split()[1]) / 1e9)
    return seconds[str(pid(server))] + seconds.get("worker", 0)


class Media:
    """A client that sends all the time and records when its datagrams come back."""

    def __init__(self, calls, pause=0.002):
        self.client, self.pause = calls.make(4, True), pause
        self.back, self.stopping = [], False
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()
        calls.lab.cleanup.callback(self.close)

    def loop(self):
        while not self.stopping:
            with contextlib.suppress(OSError):  # errors that the kernel received by ICMP
                self.client.send_channel(0x4000, b"media")
            item = self.client.receive(self.pause)
            while item is not None:
                if item[0] == "channel":
                    self.back.append(time.monotonic())
                item = self.client.receive(0)
            time.sleep(self.pause)

    def again(self, server, after):
        """Seconds from `after` to the first datagram that came back, without the time that the
        server waited for a CPU."""
        there = lambda: next((when for when in reversed(self.back) if when > after), None)
        until(there, 20, "media flows again")
        took = min(when for when in self.back if when > after) - after
        return max(took - waited(server), 0.0)

    def close(self):
        self.stopping = True
        self.thread.join()


def in_time(server, calls, took, end):
    """Media must flow again in time after the process ended. A busy machine gets more attempts."""
    most = {stop: PLANNED, kill: CRASH}[end] * SLOW
    for _ in range(4):
        if took <= most:
            break
        media = Media(calls)
        took = media.again(server, restart(server, end))
        media.close()
        assert media.client.refresh(0).cls == SUCCESS
    assert took <= most, f"media after {took:.2f} s, at most {most} s"


def need_memory():
    if not os.path.isdir("/dev/shm"):
        raise labs.Skip("no /dev/shm")


def pid(server):
    return server.telemetry.ask("/slipring/info")["pid"]
