# SPDX-License-Identifier: BSD-3-Clause
"""The site that the files of test/import describe, and the calls that each file allows there.

A conference server on one machine, 10.99.0.1: its media server is a program on the same machine, at
the same address as the TURN server. Other peers are a host of its private network, 10.99.0.3, and a
public host, 5.9.0.2, behind the router.
"""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass

import lab as labs
import uclient
from lab import PEER4, PEER6, SERVER4, SERVER6, until
from turnlib import Client, Silence

PUBLIC = "5.9.0.2"
PORT = 3480  # port of every peer
PEERS = {"own": SERVER4, "private": PEER4, "public": PUBLIC}
FILES = os.path.join(labs.TOP, "test/import")
TLS, TLS443 = ("-t", "-S", "-p", "5349"), ("-t", "-S", "-p", "443")
IVAN, REST = ("-u", "ivan", "-w", "pw"), ("-u", "ivan", "-W", "north-of-the-river")
SLIPRING, COTURN = "slipring", "coturn"
RUNS, ENDS, ASKS = "runs", "ends", "asks"
# Options for coturn's process only, which the lab sets differently.
PROCESS = re.compile(r"^(daemon|pidfile|proc-\w+|log-file|syslog|simple-log|verbose)\b.*\n", re.M)


@dataclass(frozen=True)
class Site:
    """denied: the peers that a file denies; more: (label, server, peer, options) of further calls
    that succeed; coturn: whether it runs with the file, exits at it, or needs changes first."""

    user: tuple = IVAN
    denied: tuple = ()
    more: tuple = ()
    coturn: str = RUNS

    def calls(self, server_kind):
        """(label, server, peer, options, True if relayed). coturn 4.6 leaves the third connection
        of a client to its TLS port waiting, so it gets none of these."""
        rows = [(f"{name} peer", SERVER4, peer, (), name not in self.denied) for name, peer in PEERS.items()]
        return rows + [(*row, True) for row in self.more if server_kind != COTURN or "-S" not in row[-1]]

    def expected(self, server_kind):
        """{label: True if relayed}."""
        return {label: ok for label, _, _, _, ok in self.calls(server_kind)}


SITES = {
    "all-ports": Site(),
    "blanks": Site(more=(("TCP", SERVER4, PEER4, ("-t",)),)),
    "both-families": Site(denied=("public",), more=(
        ("private peer, IPv6", SERVER6, PEER6, ("-x",)), ("own peer, IPv6", SERVER6, SERVER6, ("-x",)))),
    "command-line": Site(),
    "conference": Site(REST, ("private", "public"), (("own peer, TLS", SERVER4, SERVER4, TLS443),)),
    "container": Site(coturn=ASKS),
    "databases": Site(coturn=ASKS),
    "decade": Site(),
    "home": Site(),
    "homeserver": Site(REST, ("private",), (("public peer, TLS", SERVER4, PUBLIC, TLS),)),
    "kernels-ports": Site(),
    "keys": Site(),
    "meetings": Site(REST, ("private",), (("own peer, TLS", SERVER4, SERVER4, TLS),)),
    "open": Site(coturn=ASKS),
    "prefixes": Site(),
    "remarks": Site(coturn=ENDS),
    "talk": Site(REST, more=(("own peer, TCP", SERVER4, SERVER4, ("-t",)),)),
    "template": Site(coturn=ASKS),
    "two-externals": Site(REST),
    "windows": Site(),
}  # fmt: skip


def build(lab):
    """The site: programs at every peer's address that echo."""
    lab.dut.ip("link", "set", "lo", "up")
    lab.dut.ip("route", "add", "default", "via", labs.GATEWAY4)
    lab.far.ip("addr", "add", PUBLIC + "/32", "dev", "r0")
    lab.gw.ip("route", "add", PUBLIC, "dev", "f0")
    for ns, addresses in ((lab.dut, (SERVER4, SERVER6)), (lab.peer, (PEER4, PEER6)), (lab.far, (PUBLIC,))):
        listen = [word for address in addresses for word in ("-L", address)]
        lab.popen(ns, "turnutils_peer", "-p", str(PORT), *listen, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)  # fmt: skip
        sockets = lambda ns=ns: len(ns.run("ss", "-lnuH", f"sport = {PORT}").splitlines())
        until(lambda n=len(addresses): sockets() == n, 5, "turnutils_peer listens")


def text_of(lab, name, pair):
    """The bytes of a file, with the lab's certificate."""
    with open(os.path.join(FILES, name + ".conf"), newline="") as file:
        text = file.read()
    for key, path in zip(("cert", "pkey"), pair):
        text = re.sub(rf"^{key}=.*$", f"{key}={path}", text, flags=re.M)
    return text


def relayed(run):
    """True if a call was completely relayed, False if its peer was refused."""
    run.finish(60 * labs.SLOW)
    if run.drew_twice:
        run = run.again().finish(60 * labs.SLOW)
    assert run.complete or "error 403" in run.output, f"{run.label}: {run.output[-2000:]}"
    return run.complete


def outcomes(lab, name, server_kind):
    """{label: True if relayed} of all calls of a site, which run at once."""
    site = SITES[name]
    runs = {
        label: uclient.start(lab, f"{name} by {server_kind}: {label}", server, peer, "-c", *options, clients=1,
            messages=5, user=site.user)
        for label, server, peer, options, _ in site.calls(server_kind)
    }  # fmt: skip
    found = {label: relayed(run) for label, run in runs.items()}
    told = ", ".join(f"{label} {'relayed' if ok else 'denied'}" for label, ok in found.items())
    print(f"{name} by {server_kind}: {told}", flush=True)
    return found


def coturn(lab, name, pair):
    """coturn with an unchanged file, or with the equivalent command line."""
    text, path = PROCESS.sub("", text_of(lab, name, pair)), f"{lab.dir}/coturn.conf"
    with open(path, "w", newline="") as file:
        file.write(text)
    log_args = ("--log-file=stdout", "--simple-log", f"--pidfile={lab.dir}/coturn.pid", f"--userdb={lab.dir}/db")
    argv = ["turnserver", "-c", path]
    if "turnserver " in text:
        argv = shlex.split(text.replace("\\\n", " "), comments=True)
    log = open(f"{lab.dir}/coturn-{name}.log", "wb")
    lab.cleanup.callback(log.close)
    return lab.popen(lab.dut, *argv, *log_args, stdout=log, stderr=log)


def by_coturn(lab, name, pair):
    """Runs the calls through coturn, or checks that it exits where this is expected."""
    process = coturn(lab, name, pair)
    if SITES[name].coturn == ENDS:
        until(lambda: process.poll() is not None, 15, f"coturn exits at {name}")
        return None

    def ready():
        assert process.poll() is None, f"coturn exited with {name}"
        with Client(lab.cli.udp(labs.CLIENT4), (SERVER4, 3478)) as probe:
            try:
                return probe.binding(waits=(0.2,))  # a 401 (secure-stun) counts, too
            except Silence:
                return None

    until(ready, 20, f"coturn answers with {name}")
    found = outcomes(lab, name, COTURN)
    labs.end_process(process)
    return found
