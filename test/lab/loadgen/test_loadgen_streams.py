#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: two tests that start programs while lcores poll wait minutes instead of half a minute for the kernel
# long: many runs; under ASan it is the generator's pace that is tested, loadgen_transports the rest
# full: loadgen_transports has each transport once
"""The load generator over TCP, TLS and DTLS: every datagram is accounted for, with either server.

        gen: g0 10.99.0.30, fd99::30 (clients: its kernel)   dut: k0 (slipring's TCP and TLS, coturn)
             l1 (peers: the generator's own)                      d0 (slipring's relay)
"""

import contextlib
import os
import socket
import struct
import threading
import time

import lab as labs
import loadgen
import server as servers
import streams
from lab import CLIENT4, SLOW, until
from links import alone, check_links, join, over
from loadgen import IVAN

COTURN = {"tcp": 4478, "tls": 6349, "dtls": 6349}
PACE = "--clients 4 --pps 2k --duration 0.4 --direction both".split()
PROXIES = (5000, 5001)
STALL = 1.0  # seconds


SIZES = ("--size", "28,29,30,31,160,1200")  # of all padding lengths
CHANNELS = ((*PACE, *SIZES), ("up", "down"))
INDICATIONS = ((*PACE, *SIZES, "--mode", "send"), ("up", "down"))
ECHO = ("--clients 3 --direction echo --pps 2k --duration 0.3 --burst 8".split(), ("up", "echo"))
MIXED = (CHANNELS, INDICATIONS)


def check_media(gen, transport, port, *kinds):
    for options, ways in kinds:
        result = gen.run(*over(transport, port, *options))
        loadgen.check_clean(result, *ways)
        loadgen.check_sums(result)
        check_links(result, transport, result["clients"])
        assert result["retransmissions"] == 0 or transport == "dtls", result


def check_handshakes(gen, transport, port):
    options = "--mode handshake --clients 20 --pps 60 --duration 0.4".split()
    result = gen.run(*alone(transport, port, *options))
    flow, links = result["ways"]["echo"], result["links"]
    assert flow["delivered"] == flow["sent"] == result["answered"] == links["up"] >= 5, result
    assert links["failed"] == links["broken"] == result["stray"] == flow["lost"] == 0, result
    assert flow["latency_us"]["min"] > 0, flow


def check_slipring(lab, gen, server):
    for transport, kinds in (("tcp", MIXED), ("tls", (CHANNELS, ECHO))):
        port = streams.PORTS[transport]
        check_media(gen, transport, port, *kinds)
        check_handshakes(gen, transport, port)
    result = gen.run(*over("tls", streams.PORTS["tls"], *PACE, family=6))
    loadgen.check_clean(result, "up", "down")
    held = gen.run(*alone("tls", streams.PORTS["tls"], *IVAN, *"--mode alloc-hold".split(),
        *"--clients 40 --duration 0.1".split()))  # fmt: skip
    assert held["clients_ready"] == held["links"]["up"] == 40, held
    loadgen.check_released(lab, server)
    until(lambda: streams.counters(server)["connections"] == 0, 3, "all connections are closed")
    print("ok     slipring")


def check_certificate(lab, gen, config):
    """The server's certificate is verified: the right CA passes, a wrong one fails."""
    port = streams.PORTS["tls"]
    options = alone("tls", port, *IVAN, *"--mode alloc-hold --duration 0.1".split())
    assert gen.run(*options, "--ca", config["tls"]["certificate"])["clients_ready"] == 1
    wrong, _ = streams.certificate(lab, "other", "other")
    run = gen.start(*options, "--ca", wrong).finish()
    assert run.code == 1 and "the connection to the server failed" in run.log(), run.log()
    run = gen.start(*options, "--ca", "/nonexistent.pem").finish()
    assert run.code == 1 and "--ca /nonexistent.pem" in run.log(), run.log()
    print("ok     certificates")


def check_nobody(gen):
    """If nothing listens, no client becomes ready, and the generator reports it at once."""
    run = gen.start(*alone("tcp", 9, *IVAN, *"--mode alloc-hold --duration 0.1".split())).finish(10)
    assert run.code == 1 and "the connection to the server failed" in run.log(), run.log()
    handshakes = gen.run(*alone("tcp", 9, *"--mode handshake --pps 20 --duration 0.3".split()))
    assert handshakes["links"]["failed"] > 0 == handshakes["answered"] == handshakes["links"]["up"], handshakes


def check_impaired(gen):
    """Faults that the peers inject are detected through a byte stream, too."""
    result = gen.run(*over("tls", streams.PORTS["tls"], *"--direction echo --clients 3".split(),
        *"--pps 5k --duration 0.8".split()),
        "--impair", "loss=2%,duplicate=1%,reorder=1%,corrupt=1%")  # fmt: skip
    flow, injected = result["ways"]["echo"], result["injected"]
    # Shares of the datagrams that were sent: a generator without CPU time sends fewer.
    share = {key: 100 * number / flow["sent"] for key, number in injected.items()}
    assert flow["sent"] > 1000 and 1.8 <= share["loss"] <= 2.2, (flow, injected)
    assert 0.8 <= share["corrupt"] <= 1.1, (flow, injected)
    assert flow["lost"] == injected["loss"] + injected["corrupt"], (flow, injected)
    assert flow["corrupted"] == injected["corrupt"], (flow, injected)
    assert flow["duplicated"] == injected["duplicate"], (flow, injected)
    assert flow["reordered"] == injected["reorder"], (flow, injected)
    print(f"ok     injected and found: {injected}")


class Proxy:
    """A proxy between clients and the server over TCP. It drops, repeats or corrupts ChannelData."""

    def __init__(self, lab, port, stall=None):
        self.stall = stall  # number of the connection that is not read for some time
        self.lost = self.duplicated = self.corrupted = self.seen = 0
        self.lab, self.lock = lab, threading.Lock()
        with lab.cli.enter():
            self.listener = socket.create_server((CLIENT4, port))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        lab.cleanup.callback(self.listener.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        number = 0
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                with self.lab.cli.enter():
                    far = socket.create_connection((streams.V4, streams.PORTS["tcp"]))
                for args in ((near, far, number), (far, near, None)):
                    threading.Thread(target=self.carry, args=args, daemon=True).start()
                number += 1

    def carry(self, source, target, number):
        """One direction of a connection; number: its number if the data comes from a client."""
        data, channels = b"", 0
        with contextlib.suppress(OSError):
            while more := source.recv(65536):
                data += more
                while (size := length(data)) and len(data) >= size:
                    message, data = data[:size], data[size:]
                    if number is not None and message[0] >= 0x40:
                        channels += 1
                        if number == self.stall and channels == 5:
                            time.sleep(STALL)
                        message = self.treat(message)
                    target.sendall(message)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def treat(self, message):
        if self.stall is not None:
            return message
        with self.lock:
            self.seen += 1
            if self.seen % 50 == 0:
                self.lost += 1
                return b""
            if self.seen % 70 == 1:
                self.duplicated += 1
                return message * 2
            if self.seen % 90 == 2:
                self.corrupted += 1
                return message[:40] + bytes([message[40] ^ 1]) + message[41:]
        return message


def length(data):
    """The length of the message at the start of data with padding, or 0 if it is not known yet."""
    if len(data) < 4:
        return 0
    size = struct.unpack_from("!H", data, 2)[0] + (20 if data[0] < 4 else 4)
    return size + -size % 4


def check_proxy(lab, gen):
    """Losses, duplicates and corruption on the route to the server are detected and counted
    exactly."""
    proxy = Proxy(lab, PROXIES[0])
    result = gen.run(*over("tcp", PROXIES[0], *"--clients 3 --pps 2k --duration 0.7".split(),
        server=CLIENT4))  # fmt: skip
    flow = result["ways"]["up"]
    assert proxy.lost > 10 and proxy.duplicated > 10 and proxy.corrupted > 5, vars(proxy)
    assert flow["lost"] == proxy.lost + proxy.corrupted, (flow, vars(proxy))
    assert flow["duplicated"] == proxy.duplicated, (flow, vars(proxy))
    assert flow["corrupted"] == proxy.corrupted, (flow, vars(proxy))
    proxy.listener.close()
    print(f"ok     proxy: {flow['lost']} lost, {flow['duplicated']} twice, {flow['corrupted']} corrupt")


def check_stalled(lab, gen):
    """A connection that is not read delays only its own media, which is counted as held back."""
    proxy = Proxy(lab, PROXIES[1], stall=1)
    result = gen.run(*over("tcp", PROXIES[1], *"--clients 4 --pps 6k --size 1200".split(),
        *f"--duration {STALL} --drain 1.5".split(), server=CLIENT4))  # fmt: skip
    flow, held, health = result["ways"]["up"], result["links"]["held_back"], result["generator"]
    due = health["due"] - health["missed"]
    assert held > 0 and flow["sent"] + held == due, (flow, held, health)
    assert flow["delivered"] == flow["sent"] > 0.75 * due, "the held media arrives, and that of all others"
    proxy.listener.close()
    print(f"ok     one of four stalled: {held} of {due} held back")


def running(run):
    assert run.process.poll() is None, run.log()
    return True


def check_ended(lab, gen, server):
    """A server that stops ends the clients, but not the generator."""
    run = gen.start(*over("tls", streams.PORTS["tls"], *"--clients 5 --duration 300".split()))
    until(lambda: running(run) and server.stats()["channels"] == 5, 10, "clients are there")
    until(lambda n=server.stats()["rx"]: server.stats()["rx"] > n + 100, 10, "media flows")
    server.finish()
    hung_up = lambda: not gen.ns.run("ss", "-tnH", f"dport = :{streams.PORTS['tls']}")
    until(lambda: running(run) and hung_up(), 5, "it runs on without them")
    run.process.send_signal(2)
    result = run.result()
    assert result["links"]["broken"] == 5 and result["clients_failed"] == 5, result
    assert result["faults"]["connection"] == 5, result["faults"]
    print("ok     a server that ends")


def start_coturn(lab):
    """coturn with TLS and DTLS on the kernel's address in the server's namespace."""
    cert, key = streams.certificate(lab, "coturn", "coturn")
    log = open(os.path.join(lab.dir, "coturn-streams.log"), "wb")
    lab.cleanup.callback(log.close)
    process = lab.popen(
        lab.dut, "turnserver", "-n", "--lt-cred-mech", "--user=ivan:pw", "--realm=turn.test",
        f"--listening-ip={streams.V4}", f"--relay-ip={streams.V4}", f"--cert={cert}",
        f"--pkey={key}", f"--listening-port={COTURN['tcp']}", f"--tls-listening-port={COTURN['tls']}",
        "--no-cli", "--log-file=stdout", "--simple-log", f"--pidfile={lab.dir}/coturn-streams.pid",
        f"--userdb={lab.dir}/coturn-streams.db", stdout=log, stderr=log,
    )  # fmt: skip
    bound = lambda kind: str(COTURN["tls"]) in lab.dut.run("ss", f"-ln{kind}H")
    until(lambda: process.poll() is None and bound("t") and bound("u"), 15, "coturn listens")


def check_coturn(lab, gen):
    start_coturn(lab)
    for transport, port in COTURN.items():
        check_media(gen, transport, port, INDICATIONS if transport == "tls" else CHANNELS)
        check_handshakes(gen, transport, port)
        print(f"ok     coturn, {transport}")


def main(lab):
    gen = loadgen.Generator(lab)
    join(lab, gen)
    streams.join(lab)
    config = streams.config(lab, ("tcp", "tls"))
    server = lab.server(config)
    check_slipring(lab, gen, server)
    check_certificate(lab, gen, config)
    check_nobody(gen)
    check_impaired(gen)
    check_proxy(lab, gen)
    check_stalled(lab, gen)
    check_ended(lab, gen, server)
    if labs.LONG:
        check_coturn(lab, gen)


if __name__ == "__main__":
    labs.run(main)
