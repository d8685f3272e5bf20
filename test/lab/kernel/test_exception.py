#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The exception port: the box's kernel at the port's addresses, in its own namespace (exc), reached
from the client's kernel through the data path.

        cli: c0 10.99.0.2 ── bridge ── vtap d0 ── slipring ── vtap sr0 10.99.0.1, fd99::1 :exc
"""

import contextlib
import hashlib
import os
import signal
import socket
import threading
import time

import lab as labs
import server as servers
from lab import CLIENT4, CLIENT6, GATEWAY4, PEER4, PEER6, SERVER4, SERVER6, SLOW, until
from turnlib import SUCCESS

SSH, CLOSED, BGP = 22, 23, 179
MEGABYTES = 12  # of each family, in each direction
ALLOW = ["tcp/22", "tcp-to/179", "udp/161", "udp-to/53", "icmp"]
ADDRESSES = ((CLIENT4, SERVER4), (CLIENT6, SERVER6))


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def start(lab, allow, offload="uso", **constants):
    """A server with an exception port in the namespace exc. constants: those of exception ports."""
    labs.OFFLOAD = offload
    port = dict(servers.CONFIG["ports"][0])
    port["exception"] = {"name": "sr0", "netns": lab.exc.name, "allow": allow}
    return lab.server({"ports": [port], "exception": constants}, allow={"exception-foreign"})


def counters(made):
    (row,) = made.telemetry.ask("/slipring/exception")
    return row


def interfaces(ns):
    return {line.split()[0].split("@")[0] for line in ns.ip("-br", "link").splitlines()}


class Echo:
    """A TCP server that echoes, in any namespace."""

    def __init__(self, ns, address, port):
        with ns.enter():
            self.listener = socket.create_server((address, port), family=family(address))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.listener.accept()[0]
                threading.Thread(target=self.back, args=(connection,), daemon=True).start()

    @staticmethod
    def back(connection):
        with contextlib.suppress(OSError), connection:
            while piece := connection.recv(1 << 16):
                connection.sendall(piece)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


def connect(ns, address, port, timeout=10):
    with ns.enter():
        return socket.create_connection((address, port), timeout=timeout * SLOW)


def bulk(connection, megabytes=MEGABYTES):
    """Megabytes in both directions at once; both ends must receive the same bytes."""
    block = os.urandom(1 << 20)
    sent, got = hashlib.sha256(), hashlib.sha256()

    def send():
        for i in range(megabytes):
            piece = block[i * 1000 :] + block[: i * 1000]
            sent.update(piece)
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    length = 0
    while piece := connection.recv(1 << 18):
        got.update(piece)
        length += len(piece)
    thread.join()
    assert length == megabytes << 20, f"{length} bytes of {megabytes} MB"
    assert got.digest() == sent.digest(), "changed on the way"


def pings(ns, *addresses):
    for address in addresses:
        for size in ("56", "1400"):
            ns.run("ping", "-c", "3", "-i", "0.02", "-W", "2", "-s", size, address)


def set_up(lab, made):
    """The interface that slipring has created."""
    link = lab.exc.ip("-d", "link", "show", "sr0")
    assert labs.DUT_MAC in link and "mtu 1500" in link and "UP" in link, link
    addresses = lab.exc.ip("-br", "addr", "show", "sr0").split()[2:]
    link_local = "fe80::99:ff:fe00:1/64"
    assert set(addresses) == {SERVER4 + "/24", SERVER6 + "/64", link_local}, addresses
    assert f"default via {GATEWAY4} dev sr0" in lab.exc.ip("route"), lab.exc.ip("route")
    assert counters(made)["link"] == 1 and counters(made)["interface"] == "sr0"


def transfer(lab, made, offload):
    """Megabytes of TCP in both directions and families. Super-frames on the wire stay super-frames."""
    for _, address in ADDRESSES:
        echo = Echo(lab.exc, address, SSH)
        with connect(lab.cli, address, SSH) as connection:
            bulk(connection)
        echo.close()
    after = counters(made)
    least = 2 * MEGABYTES * (1 << 20) / 1460
    assert after["to_kernel_tcp"] >= least and after["from_kernel_tcp"] >= least, after
    assert after["to_kernel_lost"] == 0, after
    whole = offload in ("uso", "tso")
    assert (after["to_kernel_super_segments"] > least / 2) == whole, after
    assert (after["from_kernel_super_segments"] > least / 2) == whole, after
    assert ("tso" in after["offloads"]) == whole, after
    made.allow.add("exception-rate")  # as on any link, TCP adapts its rate to losses
    made.check()
    print(f"{offload}: {after['to_kernel_tcp']} segments to the kernel, "
          f"{after['to_kernel_super_frames']} super-frames; {after['from_kernel_tcp']} from it, "
          f"{after['from_kernel_super_frames']} super-frames")  # fmt: skip


def echoes(lab, made):
    """Pings from the kernel and to it. ARP and ND reach both."""
    before = counters(made)
    pings(lab.cli, SERVER4, SERVER6)
    pings(lab.exc, CLIENT4, CLIENT6, PEER4, PEER6)
    after = counters(made)
    assert after["to_kernel_icmp"] - before["to_kernel_icmp"] >= 30, after
    assert after["from_kernel_icmp"] - before["from_kernel_icmp"] >= 30, after
    assert after["from_kernel_arp"] > 0 and after["to_kernel_arp"] > 0, after
    assert after["from_kernel_nd"] > 0 and after["to_kernel_nd"] > 0, after


def client_of_others(lab, made):
    """The kernel as a client, to destinations of tcp-to and udp-to only."""
    for address, kernel_ip in ADDRESSES:
        echo = Echo(lab.cli, address, BGP)
        with connect(lab.exc, address, BGP) as connection:
            assert connection.getsockname()[0] == kernel_ip
            bulk(connection, 1)
        echo.close()
        with lab.cli.udp(address, 53) as dns, lab.exc.udp(kernel_ip, 40053) as resolver:
            dns.settimeout(2 * SLOW)
            resolver.settimeout(2 * SLOW)
            resolver.sendto(b"question", (address, 53))
            question, source = dns.recvfrom(64)
            assert question == b"question" and source[:2] == (kernel_ip, 40053)
            dns.sendto(b"answer", source)
            assert resolver.recv(64) == b"answer"
        with lab.cli.udp(address, 20161) as manager, lab.exc.udp(kernel_ip, 161) as agent:
            manager.settimeout(2 * SLOW)
            manager.sendto(b"get", (kernel_ip, 161))
            agent.settimeout(2 * SLOW)
            agent.sendto(b"value", agent.recvfrom(64)[1])
            assert manager.recv(64) == b"value"
    foreign = made.drops().get("exception-foreign", 0)
    with lab.exc.udp(SERVER4, 40054) as resolver:
        resolver.sendto(b"question", (CLIENT4, 54))
    until(lambda: made.drops().get("exception-foreign", 0) > foreign, 2, "forbidden frames are dropped")
    from_server_port(lab, made)


def from_server_port(lab, made):
    """Datagrams from port 53 reach no service of the kernel, and its services cannot send to that
    port."""
    drops = made.drops()
    with lab.cli.udp(CLIENT4, 53) as dns, lab.exc.udp(SERVER4, 20053) as service:
        service.settimeout(0.3 * SLOW)
        dns.sendto(b"not an answer", (SERVER4, 20053))
        with contextlib.suppress(TimeoutError):
            raise AssertionError(f"port 53 reaches any port: {service.recv(64)}")
        service.sendto(b"not a question", (CLIENT4, 53))
        until(
            lambda: made.drops().get("exception-foreign", 0) > drops.get("exception-foreign", 0),
            2,
            "nor is there a question from there",
        )
    lost = made.drops()
    assert lost["no-listener"] == drops.get("no-listener", 0) + 1, lost
    made.allow.add("no-listener")


def closed(lab, made):
    """Forbidden TCP gets no answer and a counter, with and without a server."""
    echo = Echo(lab.exc, SERVER4, CLOSED)
    try:
        connect(lab.cli, SERVER4, CLOSED, 0.3).close()
        raise AssertionError("a forbidden connection succeeded")
    except TimeoutError:
        pass
    echo.close()
    dropped = lambda: made.drops().get("exception-denied", 0)
    until(lambda: 1 <= dropped() == counters(made)["to_kernel_denied"], 3, "both counters say so")
    # A port of tcp-to lets answers in, but not connections.
    with lab.cli.enter():
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((CLIENT4, BGP))
        sock.settimeout(0.3 * SLOW)
    denied = dropped()
    with sock, contextlib.suppress(TimeoutError):
        sock.connect((SERVER4, CLOSED))
        raise AssertionError("a connection from an allowed port")
    until(lambda: dropped() > denied, 2, "counted")
    made.allow.add("exception-denied")


def relaying(lab, made):
    """No relayed datagram is lost while TCP fills the exception port."""
    echo = Echo(lab.exc, SERVER4, SSH)
    media = lab.echo(PEER4)
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, media.address).cls == SUCCESS
    stop = threading.Event()

    def load():
        while not stop.is_set():
            with connect(lab.cli, SERVER4, SSH) as connection:
                bulk(connection, 8)

    thread = threading.Thread(target=load)
    before = counters(made)["to_kernel_tcp"]
    thread.start()
    until(lambda: counters(made)["to_kernel_tcp"] > before + 1000, 3, "TCP is under way")
    count, worst, start = 0, 0, time.monotonic()
    # For a second, or longer on a busy machine until there are enough datagrams.
    while (lasts := time.monotonic() - start) < 1 or (count <= 100 and lasts < 10 * labs.SLOW):
        payload = count.to_bytes(4, "big") * 40
        begin = time.monotonic()
        client.send_channel(0x4000, payload)
        assert client.wait("channel") == ("channel", 0x4000, payload), f"datagram {count}"
        worst = max(worst, time.monotonic() - begin)
        count += 1
    stop.set()
    thread.join()
    assert client.unanswered() == 0 and client.drain() == []
    media.close()
    echo.close()
    assert count > 100, count
    print(f"{count} datagrams relayed beside TCP, none lost, the slowest in {worst * 1e3:.1f} ms")


def relay_once(lab):
    media = lab.echo(PEER4)
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, media.address).cls == SUCCESS
    client.send_channel(0x4000, b"there and back")
    assert client.wait("channel") == ("channel", 0x4000, b"there and back")
    media.close()


def answered_by_data_path(lab, made):
    """Pings to addresses that the kernel does not have are still answered."""
    before = counters(made)
    pings(lab.cli, SERVER4, SERVER6)
    after = counters(made)
    for direction in ("to", "from"):
        name = direction + "_kernel_icmp"
        assert before[name] == after[name], (before, after)


def bounded(lab):
    """Above the rate nothing passes to or from the kernel, and TCP adapts. Then the interface is
    removed: neither relaying nor the stop fails.
    """
    rate = 2000
    made = start(lab, ["tcp/22", "icmp"], rate=rate)
    made.allow |= {"exception-rate"}
    echo = Echo(lab.exc, SERVER4, SSH)
    begin = time.monotonic()
    with connect(lab.cli, SERVER4, SSH) as connection:
        bulk(connection, 1)
    took = time.monotonic() - begin
    row = counters(made)
    for direction in ("to", "from"):
        sent = sum(row[f"{direction}_kernel_{c}"] for c in ("tcp", "udp", "icmp", "arp", "nd"))
        # The burst, a super-frame of debt, and frames in the queue to the kernel.
        assert sent <= rate * took + 64 + 50 + 512, (direction, sent, took)
    echo.close()
    lab.exc.ip("link", "del", "sr0")
    relay_once(lab)
    made.finish()


def gone(lab):
    """The interface disappears with the process, in every kind of exit, and a restart creates it."""
    made = start(lab, ALLOW)
    assert "sr0" in interfaces(lab.exc)
    made.telemetry.close()
    made.process.send_signal(signal.SIGKILL)
    made.process.wait()
    until(lambda: "sr0" not in interfaces(lab.exc), 2, "gone after SIGKILL")
    assert "default" not in lab.exc.ip("route")
    made.start()
    set_up(lab, made)
    made.finish()
    assert "sr0" not in interfaces(lab.exc), "gone after the stop"


def other_device(lab):
    """A device other than a vtap that creates an interface, in the namespace of the process."""
    port = dict(servers.CONFIG["ports"][0])
    port["exception"] = {"name": "sr0", "device": "net_tap0", "allow": ["tcp/22", "icmp"]}
    made = lab.server({"ports": [port]}, allow={"exception-foreign", "exception-rate"})
    assert labs.DUT_MAC in lab.dut.ip("link", "show", "sr0")
    pings(lab.cli, SERVER4, SERVER6)
    echo = Echo(lab.dut, SERVER4, SSH)
    with connect(lab.cli, SERVER4, SSH) as connection:
        bulk(connection, 4)
    row = counters(made)
    assert row["to_kernel_icmp"] >= 12 and row["to_kernel_tcp"] > 2000, row
    echo.close()
    made.finish()
    assert "sr0" not in interfaces(lab.dut)


def refusals(lab):
    """A failed setup is reported and leaves nothing."""
    lab.exc.ip("tuntap", "add", "taken", "mode", "tap", "multi_queue", "vnet_hdr")
    for more, reason in (
        ({"netns": "lab-nowhere"}, "network namespace lab-nowhere: No such file"),
        ({"name": "taken"}, "interface taken exists already"),
        ({"device": "net_null0", "netns": None}, "net_null0,iface=sr0,mac=" + labs.DUT_MAC),
        ({}, "address fd99::1 (switched off: sysctl net.ipv6.conf.default.disable_ipv6=0)"),
    ):
        lab.exc.run("sysctl", "-qw", f"net.ipv6.conf.default.disable_ipv6={int(not more)}")
        labs.OFFLOAD = "uso"
        port = dict(servers.CONFIG["ports"][0])
        exception = {"name": "sr0", "netns": lab.exc.name, **more}
        port["exception"] = {k: v for k, v in exception.items() if v is not None}
        made = servers.Slipring(lab, {"ports": [port]})
        lab.servers.append(made)
        lab.cleanup.callback(made.kill)
        with contextlib.suppress(AssertionError):
            made.start()
        assert made.process.wait(10 * SLOW) == 1, made.log()
        assert reason in made.log(), (reason, made.log())
        made.remove_leftovers()
        assert "sr0" not in interfaces(lab.exc) and "d0" not in interfaces(lab.sw)
    lab.exc.ip("link", "del", "taken")


def main(lab):
    labs.need_own_server()
    lab.exc = lab.namespace(lab.cleanup, "exc")
    for ns, name in ((lab.cli, "c0"), (lab.peer, "p0")):
        ns.run("ethtool", "-K", name, *"tx on rx on tso on gso on gro on".split())
    for offload, allow, tests in (
        ("none", ALLOW, (set_up, echoes, client_of_others, closed)),
        ("csum", ["tcp/22"], (answered_by_data_path,)),
        ("tso", ["tcp/22"], ()),
        ("uso", ALLOW, (relaying,)),
    ):
        made = start(lab, allow, offload)
        for test in tests:
            test(lab, made)
        transfer(lab, made, offload)
        made.finish()
    bounded(lab)
    gone(lab)
    other_device(lab)
    refusals(lab)


if __name__ == "__main__":
    labs.run(main, port="vtap")
