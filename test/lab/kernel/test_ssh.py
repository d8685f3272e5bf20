#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The machine stays reachable: OpenSSH's server behind the exception port of a relay port, reached
by ssh and ping through the data path, on a port with TSO and on ports without it.
"""

import hashlib
import os
import subprocess
import sys

import lab as labs
from lab import PEER4, SERVER4, SERVER6, until
from test_exception import counters, pings, start
from turnlib import SUCCESS

MEGABYTES = 6
SSHD = """
Port 22
ListenAddress {v4}
ListenAddress {v6}
HostKey {dir}/host
AuthorizedKeysFile {dir}/user.pub
PidFile none
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM {pam}
Subsystem sftp internal-sftp
"""


def serve(lab):
    """sshd with its own keys and configuration, in the namespace of the exception port."""
    for name in ("host", "user"):
        path = os.path.join(lab.dir, name)
        labs.command(*"ssh-keygen -q -t ed25519 -N".split(), "", "-f", path)
    with open("/etc/shadow") as file:
        locked = any(line.startswith("root:!") for line in file)  # sshd without PAM refuses locked accounts
    config = os.path.join(lab.dir, "sshd_config")
    with open(config, "w") as file:
        file.write(SSHD.format(v4=SERVER4, v6=SERVER6, dir=lab.dir, pam="yes" if locked else "no"))
    with open(os.path.join(lab.dir, "host.pub")) as key:
        kind, text = key.read().split()[:2]
    with open(os.path.join(lab.dir, "known"), "w") as known:
        known.writelines(f"{address} {kind} {text}\n" for address in (SERVER4, SERVER6))
    os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # sshd requires it
    log = os.path.join(lab.dir, "sshd.log")
    daemon = lab.popen(lab.exc, "/usr/sbin/sshd", "-D", "-f", config, "-E", log)
    listening = lambda: len(lab.exc.run("ss", "-lntH", "sport = 22").splitlines()) == 2
    until(lambda: daemon.poll() is None and listening(), 5, "sshd listens")
    return daemon


def ssh(lab, address, command, **kwargs):
    """Runs a command on the server's machine. The host key must match."""
    options = ("BatchMode=yes", "StrictHostKeyChecking=yes", f"UserKnownHostsFile={lab.dir}/known",
               "GSSAPIAuthentication=no", "IdentitiesOnly=yes")  # fmt: skip
    argv = ["ssh", "-F", "none", "-i", os.path.join(lab.dir, "user"), "-l", "root"]
    for option in options:
        argv += ["-o", option]
    return subprocess.run(lab.cli.argv(*argv, address, command), check=True,
        stdout=subprocess.PIPE, timeout=60 * labs.SLOW, **kwargs).stdout  # fmt: skip


def bulk(lab, address):
    """A file in both directions; both ends verify every byte."""
    path = os.path.join(lab.dir, "file")
    data = os.urandom(1 << 20) * MEGABYTES
    with open(path, "wb") as file:
        file.write(data)
    digest = hashlib.sha256(data).hexdigest()
    with open(path, "rb") as file:
        there = ssh(lab, address, "sha256sum; echo $SSH_CONNECTION", stdin=file).decode().split()
    assert there[0] == digest and there[-2:] == [address, "22"], there
    back = ssh(lab, address, f"cat {path}", stdin=subprocess.DEVNULL)
    assert hashlib.sha256(back).hexdigest() == digest


def beside(lab):
    """A client with an allocation."""
    media, client = lab.echo(PEER4), lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, media.address).cls == SUCCESS
    return media, client


def reached(lab, offload, addresses=(SERVER4, SERVER6)):
    """All steps on one kind of port."""
    made = start(lab, ["tcp/22", "icmp"], offload)
    daemon = serve(lab)
    media, client = beside(lab)
    pings(lab.cli, SERVER4, SERVER6)
    for address in addresses:
        before = counters(made)
        bulk(lab, address)
        after = counters(made)
        client.send_channel(0x4000, b"meanwhile")
        assert client.wait("channel")[2] == b"meanwhile"
        segments = {}
        for name in ("to_kernel", "from_kernel"):
            segments[name] = after[f"{name}_super_segments"] - before[f"{name}_super_segments"]
            whole = segments[name] > MEGABYTES * (1 << 20) / 1460 / 2
            assert whole == (offload in ("uso", "tso")), (offload, name, after)
        print(f"{offload}: {MEGABYTES} MB each way by ssh to {address}; segments that passed in "
              f"super-frames: {segments}", flush=True)  # fmt: skip
    labs.end_process(daemon)
    client.close()
    media.close()
    made.allow.add("exception-rate")  # as on any link, TCP adapts its rate to losses
    made.finish()
    for name in ("host", "host.pub", "user", "user.pub"):
        os.remove(os.path.join(lab.dir, name))


def main(lab):
    labs.need_own_server()
    lab.exc = lab.namespace(lab.cleanup, "exc")
    if not lab.vtap:
        reached(lab, "af_packet", (SERVER4,))
        return
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__)],
        env={**os.environ, "LAB_PORT": "af_packet"}, stdin=subprocess.DEVNULL)  # fmt: skip
    lab.cleanup.callback(labs.end_process, process, 20)
    for ns, name in ((lab.cli, "c0"), (lab.peer, "p0")):
        ns.run("ethtool", "-K", name, *"tx on rx on tso on gso on gro on".split())
    reached(lab, "tso")
    reached(lab, "csum", (SERVER6,))
    assert process.wait(60 * labs.SLOW) == 0, "on a port of af_packet"


if __name__ == "__main__":
    labs.run(main)
