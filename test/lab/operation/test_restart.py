#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Start and stop: within a second, under traffic, immediately again, without remains; signals."""

import os
import signal
import subprocess

import lab as labs
import server as servers
from lab import until
from turnlib import SUCCESS

FLEET = {"auth": {"nonce": {"secret": "shared by the fleet"}}}
RUN = "/var/run/dpdk"


def relaying(lab):
    echo = lab.echo()
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    client.send_channel(0x4000, b"x")
    assert client.wait("channel") == ("channel", 0x4000, b"x")
    return client, echo


def left_behind(server):
    """The remains of a stopped server."""
    left = [name for name in os.listdir(RUN) if name == server.prefix]
    sockets = server.lab.dut.run("cat", "/proc/net/packet").splitlines()[1:]
    return [f"{RUN}/{name}/{f}" for name in left for f in os.listdir(f"{RUN}/{name}")
            if f.endswith(".v2")] + sockets  # fmt: skip


def stop_and_start(lab):
    """Five times: stops within a second under traffic, and starts again at once."""
    nonce, took = None, []
    for _ in range(5):
        server = lab.server(FLEET)
        client, echo = relaying(lab)
        if nonce:  # with a shared secret nonces stay valid over a restart (same client address)
            again = lab.client(port=40000)
            again.auth.realm, again.auth.nonce = "turn.test", nonce
            answer = again.exchange(again.signed(3, [(0x0019, b"\x11\0\0\0")]))
            assert answer.cls == SUCCESS, answer
            assert again.refresh(0).cls == SUCCESS
            again.close()
        with lab.client(port=40000) as first:
            first.challenge()
            nonce = first.auth.nonce
        for i in range(200):
            client.send_channel(0x4000, b"%d" % i)
        took.append(server.stop())
        assert not left_behind(server), left_behind(server)
        client.close()
        echo.close()
    print("stopped in", " ".join(f"{t:.2f}" for t in took), "s")
    # One of five may meet a busy machine; the limit is for the fastest.
    assert sorted(took)[2] < (10 if labs.SANITIZED else 1), took


def signals(lab):
    """SIGHUP, SIGUSR1 and SIGUSR2 are logged; SIGINT stops. test_reload has the changes of SIGHUP."""
    server = lab.server()
    client, _ = relaying(lab)
    for sig in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        before = len(server.log())
        server.process.send_signal(sig)
        until(lambda: len(server.log()) > before, 2, f"{sig.name} is logged")
        client.send_channel(0x4000, b"still")
        assert client.wait("channel") == ("channel", 0x4000, b"still")
    until(lambda: "reload by SIGHUP: the file matches the running configuration" in server.log(), 5, "no change")
    until(lambda: "SIGUSR2: no listener has a certificate" in server.log(), 5, "no certificates")
    server.check()
    server.stop(signal.SIGINT)


def early(lab, *signals):
    """A server that gets signals while it reads its file, which is a pipe until then."""
    server = servers.make(lab)
    lab.servers.append(server)
    lab.cleanup.callback(server.kill)
    os.mkfifo(server.path)
    server.spawn(*server.argv())
    with open(server.path, "w") as pipe:  # opens once the server reads
        with open(os.open(server.path + ".new", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(server.text)
        os.rename(server.path + ".new", server.path)
        for sig in signals:
            server.process.send_signal(sig)
        pipe.write(server.text)
    return server


def early_signals(lab):
    """Signals during the read of the file are handled after it."""
    server = early(lab, signal.SIGHUP, signal.SIGUSR2)
    until(lambda: server.running() and lab.plugged(), 15, "the port is there")
    until(server.ready, 60, "it is ready")
    until(lambda: "reload by SIGHUP: the file matches the running configuration" in server.log(), 5, "no change")
    until(lambda: "SIGUSR2: no listener has a certificate" in server.log(), 5, "no certificates")
    server.finish()
    for sig, said in (signal.SIGUSR1, "drain by SIGUSR1"), (signal.SIGTERM, "stopped before the start"):
        server = early(lab, sig)
        assert server.process.wait(30 * labs.SLOW) == 0, server.log()
        assert said in server.log(), server.log()
        server.remove_leftovers()


def second_instance(lab):
    """Two servers with one file prefix: the second one exits with a reason, the first continues."""
    server = lab.server()
    client, _ = relaying(lab)
    done = subprocess.run(lab.dut.argv(servers.BINARY, "-c", server.path), capture_output=True,
        text=True, timeout=30, check=False)  # fmt: skip
    assert done.returncode == 1 and done.stderr.strip(), done
    print("second instance:", done.stderr.strip().splitlines()[-1])
    client.send_channel(0x4000, b"still")
    assert client.wait("channel") == ("channel", 0x4000, b"still")
    assert server.ready(), "telemetry of the first one answers"
    server.finish()


def no_such_interface(lab):
    """A port that cannot be opened: a clear error, exit code 1, nothing left."""
    try:
        lab.server({"ports": [{**servers.CONFIG["ports"][0],
            "device": "net_af_packet0,iface=nowhere,qpairs=2"}]})  # fmt: skip
    except AssertionError as error:
        assert "exited with 1" in str(error), error
    else:
        raise AssertionError("started without its interface")
    log = lab.servers[-1].log()
    assert "nowhere" in log, log
    print("no interface:", log.strip().splitlines()[-1])


def main(lab):
    labs.need_own_server()
    stop_and_start(lab)
    signals(lab)
    early_signals(lab)
    second_instance(lab)
    no_such_interface(lab)


if __name__ == "__main__":
    labs.run(main)
