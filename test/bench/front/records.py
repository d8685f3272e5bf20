# SPDX-License-Identifier: BSD-3-Clause
"""Talking to record_core, which seals and opens DTLS records in a thread on each of its CPUs."""

import contextlib
import json
import subprocess

from dialogue import Dialogue

BINARY = "test/bench/record_core"
LOADS = (("aes128", 124), ("aes256", 124), ("aes256", 1204), ("chacha", 124))  # bytes of a message


def name(load):
    cipher, size = load
    return f"{cipher}/{size}"


class Driver:
    """A record_core that waits for a command to run."""

    def __init__(self, process, binary):
        self.dialogue = Dialogue(process, binary)

    def start(self, load, seconds):
        """Begins a run of a cipher and a size; finish() waits for its end."""
        self.dialogue.send(f"run {name(load)} {seconds}")

    def finish(self, seconds):
        return json.loads(self.dialogue.until(b"\n", seconds + 30))

    def run(self, load, seconds):
        self.start(load, seconds)
        return self.finish(seconds)


@contextlib.contextmanager
def driver(machine, *cpus):
    binary, pipe = machine.binary(BINARY), subprocess.PIPE
    argv = [binary, *map(str, cpus)]
    with machine.process(argv, stdin=pipe, stdout=pipe, bufsize=0) as process:
        yield Driver(process, binary)
