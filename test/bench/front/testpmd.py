# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-testpmd as the measure of the cost of moving packets, driven by its prompt."""

import contextlib
import re
import subprocess
import time

from machine import BenchError
from dialogue import Dialogue

PROMPT = b"testpmd> "
SETTLE_S = 0.1  # from the start of forwarding to the first reading
MEMORY_MB = 64  # its needs in addition to the pool of the headline, in 2 MB pages


class Testpmd:
    """A testpmd at its prompt."""

    def __init__(self, process):
        self.dialogue = Dialogue(process, "dpdk-testpmd")
        boot = self.dialogue.until(PROMPT, 30)
        if "Port 0:" not in boot:
            raise BenchError(f"dpdk-testpmd has no port: {boot.strip()[-1000:]}")

    def command(self, line, timeout=10):
        self.dialogue.send(line)
        return self.dialogue.until(PROMPT, timeout)

    def received(self):
        """(packets received by port 0, time)."""
        begin = time.monotonic()
        text = self.command("show port stats 0")
        end = time.monotonic()
        found = re.search(r"RX-packets:\s*(\d+)", text)
        if not found:
            raise BenchError(f"dpdk-testpmd shows no counters: {text.strip()[-500:]}")
        return int(found[1]), (begin + end) / 2

    def rate(self, seconds):
        """Packets per second that it receives and forwards; forwards for this time only."""
        self.command("start")
        try:
            time.sleep(SETTLE_S)
            first, begin = self.received()
            time.sleep(seconds)
            last, end = self.received()
        finally:
            self.command("stop")
        if last == first:
            raise BenchError("dpdk-testpmd forwards nothing")
        return (last - first) / (end - begin)


def eal_memory():
    return ["--in-memory", "--single-file-segments", "--iova-mode=va", "--no-pci", "--no-telemetry"]


@contextlib.contextmanager
def started(machine, lcores, vdev, *, mbufs, netns=(), more=()):
    """A testpmd that is ready and idle. lcores: in EAL's syntax; the first runs the prompt."""
    argv = [
        *netns, "stdbuf", "-o0", "dpdk-testpmd", "--lcores", lcores, *eal_memory(),
        "--vdev", vdev, "--", "-i", "--nb-cores=1", "--forward-mode=5tswap", "--burst=32",
        f"--total-num-mbufs={mbufs}", "--mbcache=256", "--no-lsc-interrupt", *more,
    ]  # fmt: skip
    pipe = subprocess.PIPE
    with machine.process(
        argv, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, bufsize=0
    ) as process:
        yield Testpmd(process)
