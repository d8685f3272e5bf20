#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages to systemd (sd_notify(3)), on the test's own socket: ready once it relays, reloading,
stopping, a longer start timeout, and the watchdog as long as the service works.
"""

import os
import signal
import socket
import time

from constants import document
import lab as labs
import watch
from lab import until

WATCHDOG_US = 600000


class Systemd:
    """The receiving socket, and the environment that points a service to it."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.settimeout(0.01)
        self.sock.bind(path)
        self.path, self.told = path, []  # (time, {name: value})

    def under(self, **more):
        variables = {"NOTIFY_SOCKET": self.path, **more}
        return ("env", *(f"{name}={value}" for name, value in variables.items()))

    def listen(self):
        """Reads the received messages. Returns all received messages."""
        try:
            while True:
                text = self.sock.recv(4096).decode()
                self.told.append((time.monotonic(), dict(line.split("=", 1) for line in text.split("\n"))))
        except TimeoutError:
            pass
        return self.told

    def has(self, name, after=0):
        """Messages with this name since a time."""
        return [row for when, row in self.listen() if name in row and when > after]

    def feeds(self):
        return [when for when, row in self.listen() if "WATCHDOG" in row]


def hungry(systemd, server, **fault):
    """A service that hangs sends nothing meanwhile, and resumes afterwards."""
    log_end = len(server.log())
    watch.order(server, "block", **fault)
    until(lambda: "makes no progress" in server.log()[log_end:], 10, "it hangs")
    alarm = time.monotonic()
    until(lambda: "makes progress again" in server.log()[log_end:], 10, "it goes on")
    goes_on = time.monotonic()
    fed = [when for when in systemd.feeds() if alarm + 0.1 < when < goes_on - 0.3]
    assert not fed, f"it is fed while it hangs: {fault}"
    until(lambda: any(when > goes_on for when in systemd.feeds()), 10, "it is fed again")


def feeding(systemd, server):
    """WATCHDOG=1 comes twice per interval, and not from a service that hangs."""
    begin = time.monotonic()
    until(lambda: len([when for when in systemd.feeds() if when > begin]) >= 6, 10, "it is fed")
    gaps = sorted(b - a for a, b in zip(systemd.feeds()[:-1], systemd.feeds()[1:]))
    print(f"WATCHDOG=1 each {gaps[len(gaps) // 2] * 1000:.0f} ms of {WATCHDOG_US / 1000:.0f}")
    assert gaps[len(gaps) // 2] <= WATCHDOG_US / 1e6 / 2 * (1 if not labs.SANITIZED else 2), gaps
    hungry(systemd, server, worker=0, ms=1500)
    hungry(systemd, server, ms=2500)


def reloading(systemd, server):
    for text in (document(server.config), "no: configuration\n"):
        begin = time.monotonic()
        with open(server.path, "w") as file:
            file.write(server.lab.device(text))
        server.process.send_signal(signal.SIGHUP)
        until(lambda t=begin: systemd.has("READY", t), 10, "the reload has ended")
        (row,) = systemd.has("RELOADING", begin)
        assert row["RELOADING"] == "1" and begin * 1e6 - 1e6 < int(row["MONOTONIC_USEC"]), row
        order = [next(iter(row)) for when, row in systemd.told if when > begin and "WATCHDOG" not in row]
        assert order.index("RELOADING") < order.index("READY"), order


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "notify")
    systemd = Systemd(path)
    server = lab.server(
        watch.config(lab, watchdog={"abort-ms": 0, "management-ms": 1000}),
        under=systemd.under(WATCHDOG_USEC=WATCHDOG_US),
    )
    until(lambda: systemd.has("READY"), 5, "it says that it is ready")
    client = lab.client()
    assert client.binding().cls == labs.turnlib.SUCCESS, "ready, and it does not answer"
    until(lambda: any("allocations" in row["STATUS"] for row in systemd.has("STATUS")), 10, "STATUS")
    feeding(systemd, server)
    reloading(systemd, server)
    begin = time.monotonic()
    server.stop()
    (row,) = systemd.has("STOPPING", begin)
    assert row["STOPPING"] == "1" and row["STATUS"] == "stopping"
    assert not systemd.has("READY", begin)


if __name__ == "__main__":
    labs.run(main)
