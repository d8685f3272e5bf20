#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it measures milliseconds
# long: rounds of two seconds; under ASan handshakes are too slow
# full: unit test stream_handshake has the priorities, and the limit
"""1,000 incomplete TLS handshakes a second, during the media of 100 TLS clients: nothing is lost,
and it is not much later than in the rounds without handshakes. Then the limit per source.
"""

import contextlib
import glob
import os
import ssl
import subprocess
import sys

import lab as labs
import loadgen
import streams
from lab import until
from links import join, over

CLIENTS, SECONDS, ROUNDS = 100, 2 if labs.LONG else 1, 3
PPS = 5000 // labs.SLOW
MEDIA = f"--clients {CLIENTS} --direction echo --pps {PPS} --size 160 --duration {SECONDS}".split()
# Late data is not lost: on a busy machine a thread may wait half a second for its turn.
DRAIN = ("--drain", str(labs.SLOW))
RATE = 1000
LATER_US = 20000
SPARE_US = 5000  # p99 of the media alone, on a machine with CPU time to spare
QUEUE = 1000  # packets that a tap queues for its reader
TRIES = 5
BUSY_S = 0.05  # seconds of waiting caused by other processes, in half a second of demand on every CPU
SPINNER = """
import time
end = time.monotonic() + 0.5
while time.monotonic() < end:
    pass
with open("/proc/self/schedstat") as stat:
    print(stat.read().split()[1])
"""

# Connects, sends a ClientHello, waits for the server's flight, which is the expensive part, and
# resets. It does not wait for one before it begins the next.
FLOODER = """
import select, socket, struct, sys, time
host, port, rate, hello = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), bytes.fromhex(sys.argv[4])
poller, open_, begun, answered, start = select.poll(), {}, 0, 0, time.monotonic()
while not select.select([0], [], [], 0)[0]:
    due = int((time.monotonic() - start) * rate)
    while begun < due and len(open_) < 500:
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            s.connect((host, port))
            s.send(hello)
        except OSError:
            pass
        open_[s.fileno()] = s
        poller.register(s, select.POLLIN)
        begun += 1
    begun = max(begun, due - 500)
    for fd, _ in poller.poll(1):
        try:
            answered += bool(open_[fd].recv(65536))
        except OSError:
            pass
        poller.unregister(fd)
        open_.pop(fd).close()
print(answered, time.monotonic() - start)
"""


def client_hello():
    out = ssl.MemoryBIO()
    tls = streams.context().wrap_bio(ssl.MemoryBIO(), out)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        return out.read().hex()


class Flood:
    """Runs until it is stopped. Returns the rate of handshakes."""

    def __init__(self, lab):
        argv = (sys.executable, "-c", FLOODER, streams.V4, str(streams.PORTS["tls"]), str(RATE), client_hello())
        self.process = lab.popen(lab.cli, *argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self):
        answered, seconds = self.process.communicate("\n", timeout=30 * labs.SLOW)[0].split()
        assert self.process.returncode == 0
        return int(answered) / float(seconds)


def waits(server):
    """Seconds that each thread of a server has waited for a CPU."""
    seconds = {}
    for task in glob.glob(f"/proc/{server.process.pid}/task/*"):
        with contextlib.suppress(OSError), open(task + "/schedstat") as stat:
            seconds[task] = int(stat.read().split()[1]) / 1e9
    return seconds


class Media:
    """A run: its result, and the longest time that a thread waited for a CPU."""

    def __init__(self, gen, server, handshakes):
        before = waits(server)
        self.result = gen.run(*over("tls", streams.PORTS["tls"], *MEDIA, *DRAIN))
        self.waited = max(seconds - before.get(task, 0) for task, seconds in waits(server).items())
        self.p99 = self.result["ways"]["echo"]["latency_us"]["p99"]
        print(f"{handshakes}: p99 {self.p99 / 1000:.1f} ms, waited {self.waited * 1000:.0f} ms for a CPU")

    def lost(self):
        """The failed check, or None."""
        try:
            loadgen.check_clean(self.result, "up", "echo")
        except AssertionError as error:
            return error
        return None


def is_busy():
    """True if other processes use the CPUs, measured without media and handshakes."""
    count = len(os.sched_getaffinity(0))
    spinning = [subprocess.Popen([sys.executable, "-c", SPINNER], stdout=subprocess.PIPE) for _ in range(count)]
    return max(int(spinner.communicate()[0]) for spinner in spinning) / 1e9 > BUSY_S


def judged(run):
    """Runs of media without loss, and the rate of handshakes. A thread that waits for the CPU
    longer than a queue lasts loses packets: such runs are repeated.
    """
    for _ in range(TRIES):
        runs, rate = run()
        lost = [media for media in runs if media.lost()]
        if not lost:
            return runs, rate
        if any(media.waited < QUEUE / PPS for media in lost) or not is_busy():
            raise lost[0].lost()
        print("the machine is busy: again")
    print("the machine is too busy to measure losses")
    return runs, rate


def beside_media(lab, gen, server):
    quiet, storm, rates = [], [], []

    def pair():
        alone = Media(gen, server, "alone")
        flood = Flood(lab)
        return (alone, Media(gen, server, "beside handshakes")), flood.end()

    for _ in range(ROUNDS):
        (alone, beside), rate = judged(pair)
        quiet.append(alone.p99)
        storm.append(beside.p99)
        rates.append(rate)
    print(f"{min(rates):.0f} to {max(rates):.0f} handshakes a second beside {CLIENTS} clients")
    assert streams.counters(server)["queue_full"] == 0
    # Other load of this machine is in one round or the other. If the media alone is late,
    # everything else takes as many times longer.
    busy = max(1, min(quiet) / (SPARE_US * labs.SLOW))
    late = min(storm) - min(quiet)
    assert late < LATER_US * labs.SLOW * busy or is_busy(), (quiet, storm)
    assert max(rates) > RATE / 2 / labs.SLOW or is_busy(), rates


def limited(lab, gen):
    """Handshakes above the limit of a source: it is limited, and other addresses are not."""
    config = streams.config(lab, ("tls",), **{"per-source": 0})
    config["limits"] = {"handshakes": {"rate": 5, "burst": CLIENTS + 20}}
    server = lab.server(config)

    def beside():
        refused = streams.counters(server)["refused_rate"]
        flood = Flood(lab)
        until(lambda: streams.counters(server)["refused_rate"] > refused + 500, 10, "it is refused")
        return (Media(gen, server, "beside refused handshakes"),), flood.end()

    _, rate = judged(beside)
    seen = streams.counters(server)
    print(f"{rate:.0f} handshakes a second of one source, {seen['refused_rate']} refused")
    assert rate < RATE / 4, rate


def main(lab):
    labs.need_own_server()
    gen = loadgen.Generator(lab)
    join(lab, gen)
    streams.join(lab)
    config = streams.config(lab, ("tls",), **{"per-source": 0})
    config["limits"] = {"handshakes": {"rate": 0}}
    server = lab.server(config)
    beside_media(lab, gen, server)
    server.finish()
    limited(lab, gen)


if __name__ == "__main__":
    labs.run(main)
