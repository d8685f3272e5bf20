#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipring-import converts files of coturn (test/import) on the machine that they
are for, a conference server with all its programs. slipring --check accepts the results after the
operator's decisions. Through slipring turnutils_uclient reaches the same peers as through coturn,
including programs on the machine, and no others.
"""

# long: every file, each also with coturn; otherwise five, two of them with coturn
# full: unit test import_files has the result of each file

import os
import re
import shlex
import subprocess
import sys

import import_site as sites
import lab as labs
import server as servers
import streams

SCRIPT = os.path.join(labs.TOP, "app/setup/slipring-import")
sys.path.insert(0, sites.FILES)
from import_cases import CASES  # noqa: E402

CALLED = ("conference", "talk", "homeserver", "both-families", "two-externals")
COMPARED = ("conference", "two-externals")
RESERVED = "net.ipv4.ip_local_reserved_ports="
MORE = """eal: {{file-prefix: {prefix}}}
drivers: {top}/drivers-config
control: {{socket: ""}}
crash: {{directory: ""}}
"""


def taken_over(lab, name, pair):
    """The slipring.yaml that the script prints in the server's namespace, with all decisions made."""
    path = os.path.join(lab.dir, "turnserver.conf")
    with open(path, "w", newline="") as file:
        file.write(sites.text_of(lab, name, pair))
    argv = lab.dut.argv(SCRIPT, "--private-peers", path)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    case = CASES[name]
    assert done.returncode == (1 if case.decide else 0), f"{name}: {done.returncode}, {done.stderr}"
    assert "device: packet:d0 " in done.stdout, done.stdout
    return case.decide_in(done.stdout)


def prepare(lab, text):
    """Follows the advice in a comment of the file: the kernel avoids the relay ports."""
    comments = re.sub(r"\n# ?", " ", text)
    command = re.search(r"`(sysctl -w net\.ipv4\.ip_local_\w+=[^`]+)`", comments)
    ports = re.search(r"^  ports: (\S+)", text, re.M)[1]
    asked = shlex.split(command[1]) if command else ["sysctl", "-w", RESERVED + ports]
    lab.dut.run("sysctl", "-w", RESERVED, "net.ipv4.ip_local_port_range=32768 60999")  # the usual range
    lab.dut.run(*asked)


def finished(lab, text):
    """Applies the differences between the lab and a real machine."""
    more = MORE.format(prefix=f"{lab.prefix}n{len(lab.servers)}", top=labs.TOP)
    if "\nprocess:\n" in text:
        return text.replace("\nprocess:\n", "\nprocess:\n  seccomp: kill\n") + more
    return text + more + "process: {seccomp: kill}\n"


def check(lab, name, text):
    path = os.path.join(lab.dir, "check.yaml")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    argv = lab.dut.argv(servers.BINARY, "--check", "-c", path)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"


def one(lab, name, pair):
    site, compared = sites.SITES[name], labs.LONG or name in COMPARED
    if compared and site.coturn != sites.ASKS:
        theirs = sites.by_coturn(lab, name, pair)
        assert theirs in (None, site.expected(sites.COTURN)), f"{name} through coturn: {theirs}"
    made = taken_over(lab, name, pair)
    prepare(lab, made)
    made = finished(lab, made)
    check(lab, name, made)
    server = lab.server(text=made)
    ours = sites.outcomes(lab, name, sites.SLIPRING)
    assert ours == site.expected(sites.SLIPRING), f"{name} through slipring: {ours}"
    server.check()
    server.stop()


def main(lab):
    labs.need_own_server()
    pair = streams.certificate(lab, "turn.test")
    sites.build(lab)
    assert sites.SITES.keys() == CASES.keys()
    for name in CASES if labs.LONG else CALLED:
        second = ("addr", "add", "10.99.0.9/24", "dev", "d0")
        if name == "two-externals":
            lab.dut.ip(*second)
        one(lab, name, pair)
        if name == "two-externals":
            lab.dut.ip("addr", "del", *second[2:])


if __name__ == "__main__":
    labs.run(main, gateway=True, port="packet")
