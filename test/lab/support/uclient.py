# SPDX-License-Identifier: BSD-3-Clause
"""coturn's turnutils_uclient and turnutils_peer: unmodified clients and peers in the kernel."""

import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

import lab as labs
from lab import PEER4, PEER6


@dataclass
class Run:
    """One turnutils_uclient process and what it counted itself."""

    process: subprocess.Popen
    label: str
    expected: int  # messages to send
    said: IO[str]  # a file: a pipe that nobody reads is full after some minutes
    again: Callable[[], "Run"]  # starts the same once more
    output: str = ""
    sent: int = 0
    received: int = 0

    def finish(self, timeout):
        """Waits for its end and reads its summary."""
        killed = ""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            killed = "\n(killed: it did not come to an end)"
        self.said.seek(0)
        self.output = self.said.read() + killed
        counted = re.findall(r"tot_send_msgs=(\d+), tot_recv_msgs=(\d+)", self.output)
        if counted:
            self.sent, self.received = map(int, counted[-1])
        return self

    @property
    def complete(self):
        """All was sent, all came back, and the client is content."""
        return (
            self.process.returncode == 0
            and self.sent == self.expected == self.received
            and "Total lost packets 0 " in self.output
        )

    @property
    def drew_twice(self):
        """A client draws the numbers of its two channels at random, and one in 16,384 the same number
        for both: the second one gets 400, as RFC 8656 12.2 has it, and the client gives up."""
        return "channel bind: error 400" in self.output


USER = ("-u", "ivan", "-w", "pw")


def start(lab, label, server, peer, *options, clients=1, messages=50, interval=20, size=100,
          user=USER, ns=None):  # fmt: skip
    """Starts a process of several clients that each send messages to the peer and get them back.

    Without -c each client is a pair, RTP and RTCP, of which the first carries the messages.
    """
    said = tempfile.TemporaryFile("w+", errors="replace")
    process = lab.popen(
        ns or lab.cli,
        *("turnutils_uclient", *user, "-e", peer, "-m", str(clients)),
        *("-n", str(messages), "-z", str(interval), "-l", str(size), *options, server),
        stdout=said,
        stderr=subprocess.STDOUT,
    )
    again = lambda: start(lab, label, server, peer, *options, clients=clients, messages=messages,
                          interval=interval, size=size, user=user, ns=ns)  # fmt: skip
    return Run(process, label, clients * messages, said, again)


def finish(runs):
    """Waits for runs and tells of each; those that are not complete, with the end of their output."""
    bad = []
    for run in runs:
        run.finish(60 * labs.SLOW)
        if run.drew_twice:
            print(f"{run.label}: drew one number for two channels, once more")
            run = run.again().finish(60 * labs.SLOW)
        verdict = "ok" if run.complete else "NOT COMPLETE"
        print(f"{run.label}: sent {run.sent}, received {run.received}: {verdict}", flush=True)
        if not run.complete:
            print(run.output[-2000:])
            bad.append(f"{run.label}: {run.output[-300:]}")
    return bad


def start_peer(lab, port=3480):
    """The echo host that uclient talks to, on both families."""
    lab.popen(
        lab.peer,
        *("turnutils_peer", "-p", str(port), "-L", PEER4, "-L", PEER6),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    listening = lambda: len(lab.peer.run("ss", "-lnuH", f"sport = {port}").splitlines()) == 2
    labs.until(listening, 5, "turnutils_peer listens")


def check(lab, rows):
    """All of them at once, towards an echo host; every one is complete. A row: label, server, peer,
    options, clients, messages."""
    start_peer(lab)
    runs = [
        start(lab, label, server, peer, *options, clients=clients, messages=messages)
        for label, server, peer, options, clients, messages in rows
    ]
    bad = finish(runs)
    assert not bad, bad
