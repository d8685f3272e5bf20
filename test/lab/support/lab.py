# SPDX-License-Identifier: BSD-3-Clause
"""The lab: kernel clients and peers around one server under test, in network namespaces.

        cli: c0 10.99.0.2, fd99::2 ─┐                       ┌─ gw: g0 10.99.0.254, fd99::fe
        per: p0 10.99.0.3, fd99::3 ─┤ sw: bridge (one L2)   │      f0 ── far: 10.98.0.2, fd98::2
                                    ├───────────────────────┘
        dut: d0 10.99.0.1, fd99::1 ─┘  (the port of the server; its kernel is silent)

Nothing is created in the root namespace. Names contain the pid of the test, so that runs do not
collide. The next run removes namespaces that a killed run left.

The port d0 is a vtap, whose kernel end is in the bridge, or (LAB_PORT=af_packet, and for other
servers) one end of a veth in dut. With LAB_PORT=packet the kernel has the addresses of that end,
too.

scripts/test runs three tests at a time, except a test with a line "# alone: reason": it fails if it
shares the CPUs. A test with a line "# long: text" runs more rounds with LAB_LONG, which
scripts/test --all sets, and only then runs with ASan, too. That is for tests of many rounds of
which a few suffice.

Environment: LAB_BUILD (build directory), LAB_LONG (all rounds), LAB_PORT=vtap|af_packet|packet,
LAB_OFFLOAD=uso|tso|csum|none (of the vtap), LAB_SERVER=coturn (another server, to test the tests),
LAB_KEEP=1 (keep the work directory).
"""

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import turnlib

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("LAB_BUILD", os.path.join(TOP, "build"))
PORT = os.environ.get("LAB_PORT", "vtap")
OFFLOAD = os.environ.get("LAB_OFFLOAD", "uso")
LONG = bool(os.environ.get("LAB_LONG"))
SANITIZED = "asan" in os.path.basename(BUILD)
SLOW = 4 if SANITIZED else 1  # factor for time limits
GRAIN = 0.002  # seconds that a measured time may be too short: slipring counts whole milliseconds
CLONE_NEWNET = 0x40000000

SERVER4, SERVER6 = "10.99.0.1", "fd99::1"
CLIENT4, CLIENT6 = "10.99.0.2", "fd99::2"
PEER4, PEER6 = "10.99.0.3", "fd99::3"
GATEWAY4, GATEWAY6 = "10.99.0.254", "fd99::fe"
FAR4, FAR6 = "10.98.0.2", "fd98::2"
MAC = "02:99:00:00:00:{:02x}"
DUT_MAC = MAC.format(1)

libc = ctypes.CDLL(None, use_errno=True)


class Skip(Exception):
    """The test cannot run here; the text is the reason."""


def command(*args, check=True, **kwargs):
    """Runs a command and returns its output. Raises with the output if it fails."""
    if "input" not in kwargs:
        kwargs["stdin"] = subprocess.DEVNULL
    done = subprocess.run(args, capture_output=True, text=True, check=False, **kwargs)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(args)}: {done.stdout}{done.stderr}".strip())
    return done.stdout


def path_mtu(sock, mode):
    """Path MTU discovery of a socket, in Linux's terms: dont, want, do or probe. With probe the
    kernel sets DF and ignores ICMP errors."""
    number = ("dont", "want", "do", "probe").index(mode)
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, 23, number)  # IPV6_MTU_DISCOVER
    else:
        sock.setsockopt(socket.IPPROTO_IP, 10, number)  # IP_MTU_DISCOVER


def until(condition, timeout, label, pause=0.01):
    """Polls until condition() is true and returns its value."""
    end = time.monotonic() + timeout * SLOW
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout * SLOW} s: {label}")
        time.sleep(pause)
    return value


@contextlib.contextmanager
def meanwhile(work, pause):
    """Calls work() repeatedly in a thread, with a pause of these seconds. An exception of work() is
    raised at the end."""
    stop, wrong = threading.Event(), []

    def run():
        try:
            while not stop.wait(pause):
                work()
        except Exception as error:  # noqa: BLE001: raised below
            wrong.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if wrong:
        raise wrong[0]


def refusals(path):
    """The file of refusals that belongs to a records file."""
    stem, dot = os.path.splitext(path)
    return f"{stem}-refusals{dot}"


def lines_of(path):
    with contextlib.suppress(FileNotFoundError), open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]
    return []


def records(path):
    """All records of a file and of its file of refusals. Each line must be one complete JSON
    object, except the last one while it is being written."""
    return lines_of(path) + lines_of(refusals(path))


class Namespace:
    """A network namespace. Sockets made inside `with ns.enter()` stay in it."""

    def __init__(self, name):
        self.name = name
        command("ip", "netns", "add", name)
        self.ip("link", "set", "lo", "up")

    def ip(self, *args, check=True):
        return command("ip", "-n", self.name, *args, check=check)

    def run(self, *args, check=True, **kwargs):
        return command("ip", "netns", "exec", self.name, *args, check=check, **kwargs)

    def argv(self, *args):
        return ["ip", "netns", "exec", self.name, *args]

    @contextlib.contextmanager
    def enter(self):
        """Moves this thread into the namespace and back."""
        with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{self.name}") as there:
            set_namespace(there)
            try:
                yield self
            finally:
                set_namespace(home)

    def udp(self, ip, port=0):
        with self.enter():
            return turnlib.udp_socket(ip, port)

    def raw(self, interface):
        """A packet socket: sends raw frames, receives all frames of the interface."""
        with self.enter():
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            sock.bind((interface, 0))
            return sock


def set_namespace(file):
    if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def reap_stale():
    """Removes namespaces of runs whose process was killed before it could clean up."""
    for name in re.findall(r"^(lab\d+-\w+)", command("ip", "netns", "list"), re.M):
        if os.path.exists("/proc/" + name[3:].split("-")[0]):
            continue
        for pid in command("ip", "netns", "pids", name, check=False).split():
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        command("ip", "netns", "del", name, check=False)


class Lab:
    """The topology, the processes in it and the work directory. Use as a context manager."""

    def __init__(self, gateway=False, port=PORT):
        self.cleanup = contextlib.ExitStack()
        self.gateway = gateway
        self.vtap = port == "vtap" and not os.environ.get("LAB_SERVER")
        self.packet = port == "packet" and not os.environ.get("LAB_SERVER")
        self.servers = []
        self.prefix = f"lab{os.getpid()}"

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            reap_stale()
            self.dir = tempfile.mkdtemp(prefix="lab-")
            if not os.environ.get("LAB_KEEP"):
                stack.callback(shutil.rmtree, self.dir, ignore_errors=True)
            self.make_topology(stack)
            self.cleanup = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.cleanup.close()

    def namespace(self, stack, role):
        ns = Namespace(f"{self.prefix}-{role}")
        stack.callback(command, "ip", "netns", "del", ns.name, check=False)
        return ns

    def make_topology(self, stack):
        self.sw = self.namespace(stack, "sw")
        self.sw.ip("link", "add", "br0", "type", "bridge", "mcast_snooping", "0", "stp_state", "0")
        self.quiet(self.sw, "br0")
        # A plain switch: where br_netfilter is loaded, it would filter bad packets out.
        for table in ("iptables", "ip6tables", "arptables"):
            self.sw.run("sysctl", "-qw", f"net.bridge.bridge-nf-call-{table}=0", check=False)
        self.sw.ip("link", "set", "br0", "up")
        self.dut = self.namespace(stack, "dut")
        if self.vtap:
            self.quiet(self.sw, "default")  # for interfaces that are added later
        elif self.packet:
            self.share(self.dut, "d0")
        else:
            self.attach(self.dut, "d0", 1)
            self.quiet(self.dut, "d0")
            self.dut.ip("link", "set", "d0", "arp", "off", "up")
        self.cli = self.host(stack, "cli", "c0", 2, (CLIENT4, CLIENT6))
        self.peer = self.host(stack, "per", "p0", 3, (PEER4, PEER6))
        if self.gateway:
            self.make_gateway(stack)

    def make_gateway(self, stack):
        """A router on the segment with a network on its other side."""
        self.gw = self.host(stack, "gw", "g0", 254, (GATEWAY4, GATEWAY6))
        self.far = self.namespace(stack, "far")
        self.far.ip(
            "link", "add", "r0", "type", "veth", "peer", "name", "f0", "netns", self.gw.name
        )
        for ns, interface, addresses in (
            (self.far, "r0", (FAR4, FAR6)),
            (self.gw, "f0", ("10.98.0.254", "fd98::fe")),
        ):
            ns.run("sysctl", "-qw", f"net.ipv6.conf.{interface}.accept_dad=0")
            for address in addresses:
                self.add_address(ns, interface, address)
            ns.ip("link", "set", interface, "up")
            self.wire_checksums(ns, interface)
        self.far.ip("route", "add", "default", "via", "10.98.0.254")
        self.far.ip("-6", "route", "add", "default", "via", "fd98::fe")
        self.gw.ip("-6", "addr", "add", "fe80::fe/64", "dev", "g0", "nodad")
        self.gw.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")

    def attach(self, ns, interface, number):
        """A veth from the bridge into a namespace. The bridge end has the interface's name."""
        self.sw.ip(
            *f"link add {interface} type veth peer name {interface} address".split(),
            MAC.format(number),
            "netns",
            ns.name,
        )
        self.quiet(self.sw, interface)
        self.sw.ip("link", "set", interface, "master", "br0", "up")
        self.wire_checksums(ns, interface)

    def share(self, ns, interface):
        """The server's interface as a kernel interface. The kernel's sockets stay out of the relay
        ports."""
        self.attach(ns, interface, 1)
        conf = f"net.ipv6.conf.{interface}."
        ns.run("sysctl", "-qw", conf + "accept_dad=0", conf + "accept_ra=0")
        ns.run("sysctl", "-qw", conf + "router_solicitations=0")
        ns.run("sysctl", "-qw", "net.ipv4.ip_local_port_range=20000 39999")
        for address in (SERVER4, SERVER6):
            self.add_address(ns, interface, address)
        ns.ip("link", "set", interface, "up")

    def device(self, text):
        """A configuration in which the selected kind of port replaces the device d0."""
        device = "net_af_packet0,iface=d0,qpairs="
        if self.vtap:
            device = f"vtap:d0,netns={self.sw.name},mac={DUT_MAC},offload={OFFLOAD},queues="
        if self.packet:
            device = "packet:d0,queues="
        return re.sub("net_af_packet0,iface=d0,qpairs=|vtap:d0,queues=", device, text)

    def plugged(self):
        """Adds the kernel end of a vtap to the bridge. False while it does not exist."""
        argv = ["ip", "-n", self.sw.name, *"link set d0 master br0".split()]
        return subprocess.run(argv, capture_output=True, check=False).returncode == 0

    def host(self, stack, role, interface, number, addresses):
        """A kernel host on the segment."""
        ns = self.namespace(stack, role)
        self.attach(ns, interface, number)
        conf = f"net.ipv6.conf.{interface}."
        ns.run("sysctl", "-qw", conf + "accept_dad=0", conf + "accept_ra=0")
        ns.run("sysctl", "-qw", conf + "router_solicitations=0")
        # Some tests count ICMP errors of the kernel to the server: no rate limit.
        ns.run("sysctl", "-qw", "net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0")
        for address in addresses:
            self.add_address(ns, interface, address)
        ns.ip("link", "set", interface, "up")
        return ns

    @staticmethod
    def add_address(ns, interface, address):
        if ":" in address:
            ns.ip("-6", "addr", "add", address + "/64", "dev", interface, "nodad")
        else:
            ns.ip("addr", "add", address + "/24", "dev", interface)

    @staticmethod
    def quiet(ns, interface):
        """Disables IPv6 on an interface that is only a wire."""
        ns.run("sysctl", "-qw", f"net.ipv6.conf.{interface}.disable_ipv6=1")

    @staticmethod
    def wire_checksums(ns, interface):
        """Real checksums and no super-frames, like on a cable."""
        ns.run("ethtool", "-K", interface, *"tx off rx off tso off gso off gro off".split())

    def popen(self, ns, *args, **kwargs):
        """A background process in a namespace. It is stopped with the lab."""
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(ns.argv(*args), **kwargs)
        self.cleanup.callback(end_process, process)
        return process

    def server(self, config=None, **kwargs):
        """Starts the server under test; see server.py."""
        import server  # it imports this module

        made = server.make(self, config, **kwargs)
        self.servers.append(made)
        self.cleanup.callback(made.kill)
        made.start()
        return made

    def echo(self, ip=PEER4, port=0, ns=None):
        """A UDP echo host in the peer namespace."""
        peer = EchoPeer((ns or self.peer).udp(ip, port))
        self.cleanup.callback(peer.close)
        return peer

    def public(self, path):
        """A copy of a file or folder of this tree that every user may read and run. The tree itself
        may lie in a home directory that only its owner may enter.
        """
        os.chmod(self.dir, 0o711)  # mkdtemp makes it for root alone
        copy = os.path.join(self.dir, os.path.basename(path))
        if os.path.isdir(path):
            shutil.copytree(path, copy, dirs_exist_ok=True)
        else:
            shutil.copy(path, copy)
        command("chmod", "-R", "a+rX", copy)
        return copy

    def client(self, auth=None, ip=CLIENT4, port=0, **kwargs):
        """A TURN client towards the server's listener of the same family."""
        server = (SERVER6 if ":" in ip else SERVER4, 3478)
        client = turnlib.Client(self.cli.udp(ip, port), server, auth or ivan(), **kwargs)
        self.cleanup.callback(client.close)
        return client


def ivan(**kwargs):
    """Credentials of the configured user."""
    return turnlib.Auth("ivan", "pw", **kwargs)


def end_process(process, timeout=3):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class EchoPeer:
    """Sends every datagram back to its source and remembers it."""

    def __init__(self, sock):
        self.sock = sock
        self.address = sock.getsockname()[:2]
        self.seen = []  # (source, payload); the thread appends, the test reads
        sock.settimeout(0.1)
        self.stop = False
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def loop(self):
        while not self.stop:
            try:
                data, source = self.sock.recvfrom(65536)
            except (TimeoutError, ConnectionError):
                continue
            self.seen.append((source[:2], data))
            self.sock.sendto(data, source)

    def close(self):
        self.stop = True
        self.thread.join()
        self.sock.close()


def need_own_server():
    """For tests of features that only the server of this tree has."""
    if os.environ.get("LAB_SERVER"):
        raise Skip("needs the server of this tree")


def terminated(*_):
    raise SystemExit(143)


def run(main, **kwargs):
    """Runs main(lab) and exits: 0 passed, 77 skipped, 1 failed (with the server's log). A failed
    assertion in a thread fails the test, too.
    """
    of_threads = []

    def keep(told):
        threading.__excepthook__(told)
        of_threads.append(told.exc_type.__name__)

    threading.excepthook = keep
    if os.geteuid() != 0:
        sys.exit("the lab needs root (network namespaces)")
    signal.signal(signal.SIGTERM, terminated)
    signal.signal(signal.SIGHUP, terminated)
    with Lab(**kwargs) as lab:
        try:
            main(lab)
            for server in lab.servers:
                server.finish()
            assert not of_threads, f"threads raised {of_threads}"
        except Skip as skip:
            print(skip)
            sys.exit(77)
        except Exception:
            for server in lab.servers:
                print(f"--- log of {server.name}\n{server.log()[-6000:]}", file=sys.stderr)
            traceback.print_exc()  # last, for readers who see only the end of a long output
            sys.exit(1)
