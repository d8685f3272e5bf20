#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it paces datagrams, and none may be lost or late
# long: processes one after another; under ASan it is the generator's pace that is tested
# full: loadgen_transports has both halves in one process
"""Clients and peers of the load generator in two processes, stopped by signals; uclient with the
peer."""

import re
import signal

import lab as labs
import loadgen
import uclient
from lab import SERVER4
from loadgen import IVAN, PEERS4, probes

REFLECTOR = "10.99.0.40"


def start_peer(gen, *options):
    """A reflector that answers."""
    run = gen.start(
        "--role", "peer", "--peer-port", "net_af_packet0,iface=l1", "--peer-addr", PEERS4, *options
    )  # fmt: skip
    ping = lambda: "1 received" in gen.lab.cli.run("ping", "-c1", "-W1", REFLECTOR, check=False)
    labs.until(ping, 10, "the reflector is there")
    return run


def interrupt(run, sig=signal.SIGINT):
    """Signals it and reads the summary that it prints. It is waited for later, after the other
    process has stopped polling: some kernels need long to reap a process while another one yields."""
    run.process.send_signal(sig)
    words = ("send_pps=", "recv_pps=", "total_sent=", "total_recv=")
    labs.until(lambda: all(word in run.log() for word in words), 10, "the summary is printed")


def end(run, sig=signal.SIGINT):
    interrupt(run, sig)
    return run.result(10)


def check_echo(lab, gen, server):
    """Media goes up through the server and back from the other process. The client is interrupted."""
    peer = start_peer(gen)
    options = probes(*IVAN, "--role", "client", "--peer-addr", PEERS4, *"--clients 6".split())
    client = gen.start(*options, *"--voip --duration 60".split())
    labs.until(lambda: server.stats()["channels"] == 6, 10, "the clients are set up")
    rx = server.stats()["rx"]
    labs.until(lambda: server.stats()["rx"] > rx + 200, 10, "media flows")
    interrupt(client)
    loadgen.check_released(lab, server)
    seen = end(peer, signal.SIGTERM)
    result = client.result()
    loadgen.check_clean(result, "echo")
    assert result["role"] == "client" and result["direction"] == "echo", result
    due = result["generator"]["due"]  # late datagrams are not sent, and are reported
    assert result["total_sent"] == due - result["generator"]["missed"], result
    assert abs(due / result["seconds"] / 300 - 1) < 0.05, result
    assert seen["role"] == "peer" and seen["ways"]["up"]["received"] == result["total_sent"], seen
    print(f"ok     two processes: {result['total_recv']} echoes")


def check_interrupted_setup(lab, gen, server):
    """Interrupted during set-up, it releases all allocations and exits with 0."""
    options = probes(*IVAN, *"--mode alloc-hold --clients 5000 --setup-rate 200".split())
    run = gen.start(*options)
    labs.until(lambda: server.stats()["allocations"] > 50, 10, "the set-up is under way")
    result = end(run)
    assert result["clients"] == 5000 and 50 < result["requests"] < 10000, result
    loadgen.check_released(lab, server)
    print("ok     an interrupted set-up is cleaned up")


def check_uclient(lab, gen):
    """uclient counts as many losses as the reflector injects."""
    for impair, options in ((None, ("-s",)), ("loss=4%", ())):
        peer = start_peer(gen, *(("--impair", impair) if impair else ()))
        run = uclient.start(
            lab, "reflector", SERVER4, REFLECTOR, "-c", "-r", "10000", *options, clients=2
        ).finish(60 * labs.SLOW)
        seen = end(peer)
        found = re.search(r"Total lost packets (\d+)", run.output)
        assert found, run.output[-2000:]
        flow = seen["ways"]["up"]
        assert run.sent == run.expected == flow["received"], (run, seen)
        assert flow["corrupted"] == 0 and flow["received_bytes"] == 100 * run.sent, seen
        assert int(found[1]) == seen["injected"]["loss"], (found[0], seen)
        assert bool(impair) == (seen["injected"]["loss"] > 0), seen
        print(f"ok     turnutils_uclient: {run.sent} sent, {found[0]}")


def main(lab):
    labs.need_own_server()
    server = lab.server()
    gen = loadgen.Generator(lab)
    check_echo(lab, gen, server)
    check_interrupted_setup(lab, gen, server)
    if labs.LONG:
        check_uclient(lab, gen)


if __name__ == "__main__":
    labs.run(main)
