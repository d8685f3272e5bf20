#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: it paces datagrams, and none may be lost or late
# long: a run of each kind; under ASan it is the generator's pace that is tested
# full: loadgen_super and coalesce are its unit tests
"""Super-frames of the load generator: bursts that leave as one frame, and received super-frames.

        sw: br0 ── t0 (clients), t1 (peers): the kernel's ends of the generator's vtaps
"""

import errno
import os
import socket

import lab as labs
import loadgen
from lab import CLIENT4, PEER4, SLOW, until
from loadgen import CLIENTS4, CLIENTS6, IVAN, PEERS4, PEERS6

SO_RCVBUFFORCE = 33
UDP_SEGMENT = 103  # socket option: the kernel cuts a payload into datagrams of this size
REFLECTOR = ("10.99.0.40", 10000)
NO_USO = "the port offers no UDP segmentation"


class Taps:
    """The generator on vtaps that are in the lab's bridge."""

    def __init__(self, lab, gen):
        self.lab, self.gen = lab, gen

    def device(self, number, offload):
        mac = labs.MAC.format(0x30 + number)
        return f"vtap:t{number},netns={self.lab.sw.name},mac={mac},offload={offload}"

    def plugged(self, name):
        """Adds the kernel's end to the bridge once it exists."""
        self.lab.sw.ip(*f"link set {name} master br0 up".split(), check=False)
        return "master br0" in self.lab.sw.ip("link", "show", name, check=False)

    def start(self, *options, clients=True, peers=True, offload="uso"):
        ports, names = [], []
        for wanted, number, option in ((clients, 0, "--client-port"), (peers, 1, "--peer-port")):
            if wanted:
                ports += [option, self.device(number, offload)]
                names.append(f"t{number}")
        run = self.gen.start(*ports, *options)

        def plugged():
            assert run.process.poll() is None, run.log()[-2000:]
            return all(self.plugged(name) for name in names)

        until(plugged, 10, "its ports are in the bridge")
        return run

    def run(self, *options, **kwargs):
        return self.start(*options, **kwargs).result()


def traffic(*options, family=4, drain="0.2"):
    clients, peers = (CLIENTS4, PEERS4) if family == 4 else (CLIENTS6, PEERS6)
    return ("--client-addr", clients, "--peer-addr", peers, "--warmup", "0", "--drain", drain,
        "--duration", "0.3", *options)  # fmt: skip


def check_used(result):
    """Everything that was sent left in super-frames, and its datagrams are counted."""
    sent = result["super_sent"]
    assert result["uso"] is True and result["uso_why"] is None, result
    assert sent["datagrams"] == result["total_sent"], result
    assert sent["frames"] == result["total_sent"] / min(result["burst"], 32), result
    assert result["total_sent"] % result["burst"] == 0, "bursts leave whole"
    health = result["generator"]
    assert health["due"] - health["missed"] - health["tx_full"] == result["total_sent"], result


def check_direct(taps):
    """Both directions at once between two vtaps: each datagram of a super-frame is received
    separately."""
    for family, burst, sizes in ((4, 16, "160,1200"), (6, 64, "28,1444")):
        result = taps.run(*traffic(*"--mode direct --direction both --clients 4".split(),
            *f"--pps 20k --burst {burst} --size {sizes}".split(), family=family))  # fmt: skip
        loadgen.check_clean(result, "up", "down")
        loadgen.check_sums(result)
        check_used(result)
        received = result["super_received"]
        assert received == result["super_sent"], "the bridge passes them whole"
        exact = 20_000 * result["seconds"]
        assert abs(result["generator"]["due"] - exact) <= 2 * burst + 0.01 * exact, result
    print(f"ok     direct: {received['datagrams']} datagrams in {received['frames']} frames")


def check_echo(taps):
    """The reflector sends super-frames back as super-frames."""
    result = taps.run(*traffic(*"--mode direct --direction echo --pps 10k --burst 8".split()))
    loadgen.check_clean(result, "up", "echo")
    sent, received = result["super_sent"], result["super_received"]
    assert sent["datagrams"] == received["datagrams"] == 2 * result["total_sent"], result
    print("ok     echo")


def check_server(lab, taps):
    """Through the server, whose egress builds super-frames again."""
    server = lab.server({"workers": {"count": 1}}, queues=1)
    # On a busy machine the server may get its next turn after half a second.
    result = taps.run(*traffic("--server", labs.SERVER4, *IVAN, "--direction", "both",
        *"--clients 3 --pps 8k --burst 16 --size 1180".split(), drain="2"))  # fmt: skip
    loadgen.check_clean(result, "up", "down")
    check_used(result)
    loadgen.check_released(lab, server)
    (worker,) = server.workers()
    assert worker["uso_segments"] > 0.5 * result["total_sent"], worker
    server.finish()
    print(f"ok     through the server: {worker['uso_segments']} of its datagrams in super-frames")


def check_kernel_peer(lab, taps):
    """A kernel host cuts them, verifies every checksum and echoes each datagram."""
    echo = lab.echo(PEER4)
    echo.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    # The veth has no offloads: the kernel cuts the super-frame and computes the checksums.
    result = taps.run(*traffic(*"--role client --mode direct --direction echo --burst 16".split(),
        *"--clients 4 --pps 3k --size 1200".split(), "--peer-addr", PEER4, "--peer-ports",
        str(echo.address[1])), peers=False)  # fmt: skip
    # The host that echoes them moves between CPUs, and each CPU has its own queue to the veth.
    result["ways"]["echo"]["reordered"] = 0
    loadgen.check_clean(result, "echo")
    check_used(result)
    assert len(echo.seen) == result["total_sent"], (len(echo.seen), result)
    echo.close()
    print(f"ok     a kernel has sent {result['total_recv']} back")


def segmented(sock, dst, payloads):
    """Sends payloads of one size in one call. False if this kernel cannot do it here."""
    sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, len(payloads[0]))
    try:
        sock.sendto(b"".join(payloads), dst)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return False
    return True


def check_kernel_client(lab, taps):
    """Super-frames of a kernel are cut, counted and reflected datagram by datagram."""
    lab.cli.run("ethtool", "-K", "c0", *"tx on gso on tx-udp-segmentation on".split())
    run = taps.start("--role", "peer", "--peer-addr", PEERS4, clients=False)
    ping = lambda: "1 received" in lab.cli.run("ping", "-c1", "-W1", REFLECTOR[0], check=False)
    until(ping, 10, "the reflector is there")
    sock = lab.cli.udp(CLIENT4)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    sock.settimeout(2 * SLOW)
    sent = 0
    for size, number in ((1200, 20), (100, 64), (1, 30)):
        payloads = [os.urandom(size) for _ in range(number)]
        if not segmented(sock, REFLECTOR, payloads):
            raise labs.Skip("this kernel sends no super-frames into a veth")
        assert [sock.recv(65536) for _ in payloads] == payloads, size
        sent += number
    sock.close()
    run.process.terminate()
    result = run.result()
    assert result["ways"]["up"]["received"] == sent, result
    assert result["super_received"] == {"frames": 3, "datagrams": sent}, result
    assert result["generator"]["bad_frames"] == 0, result
    print("ok     a kernel's super-frames are cut")


def check_not_used(taps, gen):
    """USO is not used because of the port, the kernel or the command line. All datagrams arrive."""
    burst = "--direction up --pps 4k --burst 8 --duration 0.2".split()
    plain = gen.run(*loadgen.direct(*burst))
    several = traffic("--mode", "direct", *burst)
    off = taps.run(*several, "--uso", "off")
    less = taps.run(*several, offload="tso")
    single = taps.run(*traffic(*"--mode direct --pps 4k --duration 0.2".split()))
    for result, reason in ((plain, NO_USO), (off, "switched off with --uso"), (less, NO_USO),
        (single, "every burst is one datagram (--burst)")):  # fmt: skip
        loadgen.check_clean(result, "up")
        assert result["uso"] is False and result["uso_why"] == reason, result
        assert result["super_sent"] == {"frames": 0, "datagrams": 0}, result
    print("ok     not used, and why")


def main(lab):
    labs.need_own_server()
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 2):
        raise labs.Skip("this kernel has no tap with USO")
    gen = loadgen.Generator(lab)
    taps = Taps(lab, gen)
    check_direct(taps)
    check_echo(taps)
    check_server(lab, taps)
    check_kernel_peer(lab, taps)
    check_kernel_client(lab, taps)
    check_not_used(taps, gen)


if __name__ == "__main__":
    labs.run(main, port="vtap")
