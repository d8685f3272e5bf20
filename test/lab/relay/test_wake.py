#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it measures times
# full: idle has workers that sleep without losses
"""Each datagram wakes a waiting worker, and workers use almost no CPU time while nothing arrives.

If a wake is lost, the datagram waits for the next timer, up to 100 ms. A datagram at a random time
would wait 50 ms on average, and usually more than 20. A busy machine delays some datagrams, too. To
see by how much, a thread on the workers' CPUs echoes datagrams without the server in between. If
even these are late, the times say nothing, and the test checks the server's counters of wakes
instead.
"""

import os
import random
import statistics
import subprocess
import time

import lab as labs
from lab import CLIENT4, PEER4
from server import CONFIG
from turnlib import SUCCESS

WIRE = os.path.join(labs.BUILD, "test/unit/vtap_wire")
LATE = 0.02 * labs.SLOW  # seconds
QUIET = 0.001  # seconds in which a datagram comes back without the server on an idle machine
ROUNDS = 60 if labs.LONG else 8
GOES = 3  # a machine that is busy now and then delays some
CLIENTS = 3
TICKS = os.sysconf("SC_CLK_TCK")


def cpu(pid):
    """Seconds of CPU time of a process, including kernel time."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def woken(server):
    """Counters of all workers' waits."""
    sums = {}
    for number in server.telemetry.ask("/slipring/workers"):
        answer = server.telemetry.ask(f"/slipring/worker,{number}")
        for name in ("waits", "woken_by_port", "woken_by_kick", "woken_by_time"):
            sums[name] = sums.get(name, 0) + answer[name]
    return sums


def relayed(client, payload):
    client.send_channel(0x4001, payload)
    item = client.wait("channel", timeout=30)
    assert item == ("channel", 0x4001, payload), item


def direct(sock, address, payload):
    sock.sendto(payload, address)
    sock.settimeout(30)
    assert sock.recv(2000) == payload


class PinnedEcho(labs.EchoPeer):
    """An echo that must run on a worker's CPUs."""

    def __init__(self, sock, cpus):
        self.cpus = cpus
        super().__init__(sock)

    def loop(self):
        os.sched_setaffinity(0, self.cpus)  # of this thread
        super().loop()


def cpus_of_workers(server):
    """The CPUs of each worker."""
    for thread in sorted(os.listdir(f"/proc/{server.process.pid}/task")):
        with open(f"/proc/{server.process.pid}/task/{thread}/comm") as comm:
            if "worker" in comm.read():
                yield os.sched_getaffinity(int(thread))


def timed(rng, function, *args):
    """Seconds that a datagram takes to the peer and back, after a silence of 1 to 200 ms."""
    time.sleep(rng.uniform(0.001, 0.2))
    payload = rng.randbytes(100)
    begin = time.monotonic()
    function(*args, payload)
    return time.monotonic() - begin


def connected(lab, echo):
    """A client with a channel to the echo."""
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4001, echo.address).cls == SUCCESS
    return client


def text(times):
    return (f"median {statistics.median(times) * 1e6:.0f} us, longest {max(times) * 1e3:.1f} ms, "
            f"{sum(t > LATE for t in times)} late")  # fmt: skip


def check(lab, name, config, ready=lambda: None, slack=1, allow=()):
    """slack: additional time that a datagram may take if the machine is busy."""
    rng = random.Random(7)
    server, echo = lab.server(config, allow=allow), lab.echo(PEER4)
    ready()
    # with several clients, some datagrams arrive on a queue of a worker that does not own the
    # client
    clients = [connected(lab, echo) for _ in range(CLIENTS)]
    pinned = [PinnedEcho(lab.peer.udp(PEER4), cpus) for cpus in cpus_of_workers(server)]
    plain = lab.cli.udp(CLIENT4)
    for _ in range(GOES):
        before = woken(server)
        times, without = [], []
        for _ in range(ROUNDS):
            times += [timed(rng, relayed, client) for client in clients]
            without += [timed(rng, direct, plain, pinned_echo.address) for pinned_echo in pinned]
        after = {key: value - before[key] for key, value in woken(server).items()}
        print(f"{name}: {len(times)} relayed: {text(times)}; without the server: {text(without)}; {after}")
        # each arrives twice; on a busy machine a timer may wake a worker just then
        assert after["woken_by_port"] >= len(times), after
        few = sum(t > LATE for t in without) <= len(without) // 20
        if not few or statistics.median(without) >= QUIET:
            print("this machine is busy: the times are not judged")
            break
        late = sum(t > slack * LATE for t in times) > len(times) // 6
        if not late and statistics.median(times) < slack * LATE / 2:
            break
    else:
        raise AssertionError(sorted(times))
    for end in (*clients, *pinned, plain, echo):
        end.close()
    return server


def idle_box(server):
    """The CPU time of a server without traffic."""
    length = 10 if labs.LONG else 3
    begin, before, waits = time.monotonic(), cpu(server.process.pid), woken(server)
    time.sleep(length)
    took = time.monotonic() - begin
    share = (cpu(server.process.pid) - before) / took
    made = (woken(server)["waits"] - waits["waits"]) / took
    print(f"idle: {share:.2%} of a CPU, {made:.0f} waits a second")
    assert share < 0.03 or labs.SANITIZED, share
    assert made < 200, made


def net_tap(lab):
    """A TAP of DPDK's own driver, bridged to the interface of af_packet."""
    tap = {**CONFIG["ports"][0], "device": "net_tap0,iface=t0"}

    def bridge():
        # a bridge would keep frames for the MAC of one of its members
        lab.dut.ip("link", "set", "t0", "address", labs.MAC.format(0x77))
        lab.dut.ip(*"link add b0 type bridge mcast_snooping 0 stp_state 0".split())
        for name in ("t0", "d0"):
            lab.dut.ip("link", "set", name, "master", "b0", "up")
        lab.dut.ip("link", "set", "b0", "up")
        for ns, name in ((lab.cli, "c0"), (lab.peer, "p0")):
            ns.ip("neigh", "flush", "dev", name)  # the previous server had another MAC

    lab.dut.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
    server = check(lab, "net_tap", {"ports": [tap], "workers": {"count": 1}}, bridge)
    idle_box(server)
    server.finish()


def virtio_user(lab):
    """A virtio device, whose interrupts are eventfds. Its host is a wire between it and d0 that
    sleeps between two polls."""
    path = os.path.join(lab.dir, "vhost")
    devices = (f"net_vhost0,iface={path},queues=2", "net_af_packet0,iface=d0,qpairs=2,framecnt=1024")
    host = subprocess.Popen(
        lab.dut.argv(WIRE, lab.prefix + "w", *devices),
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    lab.cleanup.callback(host.wait)
    lab.cleanup.callback(host.kill)
    labs.until(lambda: os.path.exists(path), 20, "the socket of the device's host")
    device = f"net_virtio_user0,path={path},queues=2,mac={labs.DUT_MAC}"
    port = {**CONFIG["ports"][0], "device": device}
    server = check(lab, "virtio_user", {"ports": [port]}, slack=3)
    idle_box(server)
    server.finish()
    host.kill()  # the next port uses d0
    host.wait()


def bond(lab, mode):
    """Two links of af_packet as one port: a frame on either wakes its worker."""
    devices = [f"net_af_packet{i},iface=d{i},qpairs=2,framecnt=1024" for i in range(2)]
    addresses = CONFIG["ports"][0]["addresses"]
    port = {"name": "wan", "bond": {"members": devices, "mode": mode}, "addresses": addresses}
    for ns, name in ((lab.cli, "c0"), (lab.peer, "p0")):
        ns.ip("neigh", "flush", "dev", name)  # the previous server had another MAC
    before = {i: received(lab, i) for i in range(2)}
    # frames to a bond without an active link are lost
    server = check(lab, f"bond, {mode}", {"ports": [port]}, allow=("tx-full",))
    took = [received(lab, i) - before[i] for i in range(2)]
    print(f"bond, {mode}: frames of the links: {took}")
    idle_box(server)
    server.finish()


def received(lab, link):
    path = f"/sys/class/net/d{link}/statistics/rx_packets"
    return int(lab.dut.run("cat", path))


def bonds(lab):
    lab.attach(lab.dut, "d1", 0x51)
    lab.quiet(lab.dut, "d1")
    lab.dut.ip("link", "set", "d1", "arp", "off", "up")
    for name in ("d0", "d1"):  # links of one group: no frame goes from one to the other
        lab.sw.run("bridge", "link", "set", "dev", name, "isolated", "on")
    for mode in ("balance", "active-backup"):
        bond(lab, mode)
    lab.dut.ip("link", "del", "d1")
    lab.sw.run("bridge", "link", "set", "dev", "d0", "isolated", "off")


def main(lab):
    labs.need_own_server()
    for idle in ("adaptive", "saving"):
        server = check(lab, idle, {"workers": {"count": 2, "idle": idle}})
        idle_box(server)
        server.finish()
    if not lab.vtap:
        bonds(lab)
        if labs.LONG:
            virtio_user(lab)
        net_tap(lab)


if __name__ == "__main__":
    for port in ("vtap", "af_packet"):
        print(port)
        labs.run(main, port=port)
