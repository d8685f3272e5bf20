#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it measures milliseconds
# long: rounds of two seconds; under ASan it is the slowness of handshakes that is seen
"""1,000 TLS handshakes a second that nobody completes, beside the media of 100 TLS clients: none of it
is lost, and it is not much later than in the rounds between without them. Then the limit of a source.
"""

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
# What is late is not lost: on a busy machine half a second passes before a thread has its turn.
DRAIN = ("--drain", str(labs.SLOW))
RATE = 1000
LATER_US = 20000
SPARE_US = 5000  # p99 of the media alone, on a machine with CPU time to spare

# Connects, says hello, waits for the server's flight, which is what costs, and resets. It does not
# wait for one before it begins the next.
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
    """Until it is ended; how many handshakes a second it has had."""

    def __init__(self, lab):
        argv = (sys.executable, "-c", FLOODER, streams.V4, str(streams.PORTS["tls"]), str(RATE), client_hello())
        self.process = lab.popen(lab.cli, *argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self):
        answered, seconds = self.process.communicate("\n", timeout=30 * labs.SLOW)[0].split()
        assert self.process.returncode == 0
        return int(answered) / float(seconds)


def media(gen, handshakes):
    """The media's p99 in microseconds; none of it may be lost."""
    result = gen.run(*over("tls", streams.PORTS["tls"], *MEDIA, *DRAIN))
    loadgen.check_clean(result, "up", "echo")
    p99 = result["ways"]["echo"]["latency_us"]["p99"]
    print(f"{handshakes}: p99 {p99 / 1000:.1f} ms")
    return p99


def beside_media(lab, gen, server):
    quiet, storm, rates = [], [], []
    for _ in range(ROUNDS):
        quiet.append(media(gen, "alone"))
        flood = Flood(lab)
        storm.append(media(gen, "beside handshakes"))
        rates.append(flood.end())
    print(f"{min(rates):.0f} to {max(rates):.0f} handshakes a second beside {CLIENTS} clients")
    assert streams.counters(server)["queue_full"] == 0
    # What else runs on this machine is in one round or the other. Where it takes so much that the
    # media alone is late, all that is done beside it takes as many times longer.
    busy = max(1, min(quiet) / (SPARE_US * labs.SLOW))
    assert min(storm) - min(quiet) < LATER_US * labs.SLOW * busy, (quiet, storm)
    assert max(rates) > RATE / 2 / labs.SLOW, rates


def limited(lab, gen):
    """The same with the limit of a source: it is held to that, and other addresses are not."""
    config = streams.config(lab, ("tls",), **{"per-source": 0})
    config["limits"] = {"handshakes": {"rate": 5, "burst": CLIENTS + 20}}
    server = lab.server(config)
    flood = Flood(lab)
    until(lambda: streams.counters(server)["refused_rate"] > 500, 10, "it is refused")
    media(gen, "beside refused handshakes")
    rate = flood.end()
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
