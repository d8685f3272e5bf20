# SPDX-License-Identifier: BSD-3-Clause
"""slipring-exporter in the lab: started like its unit does, as an unprivileged user, and its
answers."""

import contextlib
import fcntl
import os
import re
import socket
import stat
import subprocess
import sys

import lab as labs

BINARY = os.path.join(labs.BUILD, "app/slipring-exporter/slipring-exporter")
CONFINE = os.path.join(labs.TOP, "test/lab/operation/confine.py")
UNIT = os.path.join(labs.BUILD, "conf/slipring-exporter.service")
RUN = "/var/run/dpdk"
UNIT_RUN = "/run/slipring/dpdk"  # set by RuntimeDirectory= of slipring.service
LOCK = "/run/slipring-lab.lock"
GROUP = "64999"  # the group number that confine.py uses for groups that this machine does not have
PORT = 9641
SAMPLE = re.compile(r"([a-z_]\w*)(?:{(.*)})? (\S+)")


def need():
    """Skips the test if something is missing."""
    if not os.path.exists(BINARY):
        raise labs.Skip(f"{BINARY} is not built")
    with_module = [BINARY, "--version"]
    done = subprocess.run(with_module, capture_output=True, text=True, check=False)
    if done.returncode:
        raise labs.Skip(done.stderr)


def give_back(file, run):
    with file, contextlib.suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.seek(0)
        uid, gid, mode = map(int, file.read().split())
        os.chown(run, uid, gid)
        os.chmod(run, mode)


def keep(lab, run=RUN):
    """Restores the mode of EAL's directory at the end. If several tests run, the last one restores
    it.
    """
    os.makedirs(run, mode=0o700, exist_ok=True)
    file = open(LOCK + run.replace("/", "-"), "a+")
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # free: the mode is the original
        was = os.stat(run)
        file.truncate(0)
        print(was.st_uid, was.st_gid, stat.S_IMODE(was.st_mode), file=file, flush=True)
    fcntl.flock(file, fcntl.LOCK_SH)
    lab.cleanup.callback(give_back, file, run)


def share(prefix, *options):
    """Sets the permissions that root sets after each start of slipring."""
    argv = [BINARY, "--share", GROUP, "--file-prefix", prefix, *options]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


class Exporter:
    """One exporter process in the namespace of the server, confined like by its unit."""

    def __init__(self, lab, *options, port=PORT, cache=0):
        self.lab, self.port = lab, port
        self.log_path = os.path.join(lab.dir, f"exporter-{port}.log")
        with open(self.log_path, "wb") as log:
            self.process = lab.popen(
                lab.dut, sys.executable, CONFINE, UNIT, "--", lab.public(BINARY), "--listen",
                f"127.0.0.1:{port}", "--listen", f"[::1]:{port}", "--cache", str(cache), *options,
                stderr=log,
            )  # fmt: skip
        labs.until(lambda: self.running() and self.get("/")[0] == 200, 20, "the exporter answers")

    def running(self):
        assert self.process.poll() is None, f"{self.process.returncode}: {self.log()}"
        return True

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def connect(self, address="127.0.0.1"):
        with self.lab.dut.enter():
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            sock = socket.socket(family)
        sock.settimeout(15 * labs.SLOW)
        sock.connect((address, self.port))
        return sock

    def exchange(self, request, address="127.0.0.1"):
        """All bytes of the answer to these bytes."""
        answer = b""
        with self.connect(address) as sock:
            sock.sendall(request)
            while more := sock.recv(1 << 16):
                answer += more
        return answer

    def get(self, path, address="127.0.0.1", accept="text/plain"):
        """(status, body), or (0, "") if nothing listens or no connection is free."""
        with contextlib.suppress(ConnectionError):
            request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n".encode()
            head, _, body = self.exchange(request, address).partition(b"\r\n\r\n")
            if not head:
                return 0, ""
            return int(head.split()[1]), body.decode()
        return 0, ""

    def scrape(self):
        """{(name, labels): value} of all samples; labels are the unparsed text."""
        status, body = self.get("/metrics")
        assert status == 200, (status, body)
        return samples(body)


def samples(body):
    found = {}
    for line in body.splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.fullmatch(line).groups()
            assert (name, labels) not in found, f"twice: {line}"
            found[name, labels or ""] = float(value)
    return found


def types(body):
    """{metric: type}. Checks that each metric has a HELP text before its TYPE."""
    helps = dict(re.findall(r"^# HELP (\S+) (.+)$", body, re.M))
    found = dict(re.findall(r"^# TYPE (\S+) (\w+)$", body, re.M))
    assert set(helps) == set(found), set(helps) ^ set(found)
    return found
