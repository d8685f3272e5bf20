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
    """One turnutils_uclient process and its own counters."""

    process: subprocess.Popen
    label: str
    expected: int  # messages to send
    said: IO[str]  # a file: a pipe without a reader is full after some minutes
    again: Callable[[], "Run"]  # starts an identical run
    output: str = ""
    sent: int = 0
    received: int = 0

    def finish(self, timeout):
        """Waits until it exits and reads its summary."""
        killed = ""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            killed = "\n(killed: it did not finish)"
        self.said.seek(0)
        self.output = self.said.read() + killed
        counted = re.findall(r"tot_send_msgs=(\d+), tot_recv_msgs=(\d+)", self.output)
        if counted:
            self.sent, self.received = map(int, counted[-1])
        return self

    @property
    def complete(self):
        """True if all was sent, all came back, and the client reports no error."""
        return (
            self.process.returncode == 0
            and self.sent == self.expected == self.received
            and "Total lost packets 0 " in self.output
        )

    @property
    def drew_twice(self):
        """A client picks the numbers of its two channels at random. With a probability of 1 in
        16,384 both are equal: the second bind gets 400 (RFC 8656 12.2), and the client gives up."""
        return "channel bind: error 400" in self.output


USER = ("-u", "ivan", "-w", "pw")


def start(lab, label, server, peer, *options, clients=1, messages=50, interval=20, size=100,
          user=USER, ns=None):  # fmt: skip
    """Starts a process of several clients that each send messages to the peer, which echoes them.

    Without -c each client is a pair of RTP and RTCP, of which the first carries the messages.
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
    """Waits for runs and prints each result. Returns the incomplete runs, with the end of their
    output."""
    bad = []
    for run in runs:
        run.finish(60 * labs.SLOW)
        if run.drew_twice:
            print(f"{run.label}: picked one number for two channels, runs again")
            run = run.again().finish(60 * labs.SLOW)
        verdict = "ok" if run.complete else "NOT COMPLETE"
        print(f"{run.label}: sent {run.sent}, received {run.received}: {verdict}", flush=True)
        if not run.complete:
            print(run.output[-2000:])
            bad.append(f"{run.label}: {run.output[-300:]}")
    return bad


def start_peer(lab, port=3480):
    """The echo host that uclient sends to, in both families."""
    lab.popen(
        lab.peer,
        *("turnutils_peer", "-p", str(port), "-L", PEER4, "-L", PEER6),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    listening = lambda: len(lab.peer.run("ss", "-lnuH", f"sport = {port}").splitlines()) == 2
    labs.until(listening, 5, "turnutils_peer listens")


def check(lab, rows):
    """Runs all rows at once against an echo host; each must be complete. A row: label, server,
    peer, options, clients, messages."""
    start_peer(lab)
    runs = [
        start(lab, label, server, peer, *options, clients=clients, messages=messages)
        for label, server, peer, options, clients, messages in rows
    ]
    bad = finish(runs)
    assert not bad, bad
