# SPDX-License-Identifier: BSD-3-Clause
"""Talking to a child over its stdin and stdout, with time limits."""

import os
import select
import time

from machine import BenchError


class Dialogue:
    """A child that answers lines; its stdin and stdout are unbuffered pipes."""

    def __init__(self, process, name):
        self.process, self.name = process, name
        self.pending = b""

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise BenchError(f"{self.name} has ended before it was told: {line}") from None

    def until(self, end, timeout):
        """Its output up to and including the bytes `end`."""
        limit = time.monotonic() + timeout
        file = self.process.stdout.fileno()
        while end not in self.pending:
            left = limit - time.monotonic()
            if left <= 0 or not select.select([file], [], [], left)[0]:
                raise BenchError(f"{self.name} has said nothing for {timeout:g} s")
            data = os.read(file, 65536)
            if not data:
                raise BenchError(self.obituary())
            self.pending += data
        said, _, self.pending = self.pending.partition(end)
        return said.decode(errors="replace")

    def obituary(self):
        """The reason why it does not answer any more."""
        code = self.process.wait(10)
        last = self.pending.decode(errors="replace").strip()[-1000:]
        return f"{self.name} ended with status {code}" + (f": {last}" if last else "")
