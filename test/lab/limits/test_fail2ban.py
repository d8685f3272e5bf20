#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""conf/fail2ban with Debian's fail2ban: who guesses passwords is shut out for a while, whatever the
names; nobody else is. Five guesses are enough, although the log combines them."""

import collections
import glob
import os
import re
import shutil
import subprocess

import keep
import lab as labs
from control import PROGRAM, Control
from lab import CLIENT4, CLIENT6, until
from turnlib import SUCCESS, Auth, Silence

HOME = os.path.join(labs.TOP, "conf/fail2ban")
DEBIAN = "/etc/fail2ban"
GUESSER, HONEST = "10.99.0.78", "10.99.0.79"  # of the client host
GUESSES = 5
BAN = 8 * labs.SLOW  # seconds
FOLD = 10  # seconds during which the log combines refusals
INNOCENT = "192.0.2.99"
NAMES = (
    f"x at {INNOCENT}:1 (udp): Allocate answered 401: password-wrong",
    f"x at {INNOCENT}:1 (udp): a answered 401: user-unknown: b",
)
EXPECTED = {CLIENT4: 2, GUESSER: 2, CLIENT6: 1}  # lines


def is_silent(lab, ip):
    with lab.client(ip=ip) as client:
        try:
            client.binding(waits=(0.3, 0.3))
        except Silence:
            return True
        return False


def start(lab, server):
    """fail2ban with Debian's defaults, the shipped files and no other jail. Returns its process."""
    folder = os.path.join(lab.dir, "fail2ban")
    shutil.copytree(HOME, folder)
    for path in [f"{DEBIAN}/fail2ban.conf", f"{DEBIAN}/jail.conf", *glob.glob(f"{DEBIAN}/paths-*.conf")]:
        shutil.copy(path, folder)
    with open(f"{folder}/fail2ban.local", "w") as file:
        file.write("[Definition]\ndbfile = None\nlogtarget = STDOUT\n")
    with open(f"{folder}/jail.d/slipring.local", "w") as file:
        file.write(
            f"[slipring]\nenabled = true\nbackend = polling\nlogpath = {server.log_path}\nbantime = {BAN}\n"
            f'action = slipring[slipringctl="{PROGRAM} --socket {server.control}"]\n'
        )
    out = f"{lab.dir}/fail2ban.log"
    with open(out, "w") as file:
        process = lab.popen(
            lab.dut, "fail2ban-server", "-f", "-c", folder, "-s", f"{lab.dir}/fail2ban.sock",
            "-p", f"{lab.dir}/fail2ban.pid", "start", stdout=file, stderr=file,
        )  # fmt: skip

    def started():
        assert process.poll() is None, told(lab)
        return "Jail 'slipring' started" in told(lab)

    until(started, 20, "fail2ban has the jail")
    return process


def told(lab):
    with open(f"{lab.dir}/fail2ban.log") as file:
        return file.read()


def blocked(server):
    with Control(server.control) as control:
        return {row["address"]: row["why"] for row in control.ask("blocked")["rows"]}


def counted(path):
    """The lines that the filter counts, by address."""
    done = subprocess.run(
        ["fail2ban-regex", "-o", "ip", path, f"{HOME}/filter.d/slipring.conf"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return collections.Counter(done.stdout.split())


def filtered(lab, server):
    """The filter finds the same in the server's own log, in that of syslog, and in the lines that
    fail2ban makes of entries with fields in the journal."""
    assert counted(server.log_path) == EXPECTED, counted(server.log_path)
    path = os.path.join(lab.dir, "syslog")
    for area in ("auth: ", ""):
        lines = re.sub(r"(?m)^\S+ info +auth: ", f"Nov 30 21:40:21 box slipring[77]: {area}", server.log())
        with open(path, "w") as file:
            file.write("".join(line + "\n" for line in lines.splitlines() if line.startswith("Nov")))
        assert counted(path) == EXPECTED, (area, counted(path))


def main(lab):
    labs.need_own_server()
    for program in ("fail2ban-server", "fail2ban-regex"):
        if not shutil.which(program):
            raise labs.Skip(f"{program} is not installed")
    for address in (GUESSER, HONEST):
        lab.add_address(lab.cli, "c0", address)
    server = keep.start(lab, allow={"client-blocked"})
    process = start(lab, server)
    assert lab.client(Auth("ivan", "wrong"), ip=CLIENT6).allocate().code == 401
    guesses = {CLIENT4: ["ivan"] * GUESSES, GUESSER: [NAMES[0]] + [NAMES[1]] * (GUESSES - 1)}
    for ip, names in guesses.items():
        client = lab.client(ip=ip)  # one socket, so one worker: its log combines the most
        for number, name in enumerate(names):
            client.auth = Auth(name, f"wrong{number}")
            assert client.allocate().code == 401
    both = dict.fromkeys(guesses, "fail2ban/slipring")
    until(lambda: blocked(server) == both, FOLD + 20, "both guessers are shut out")
    for ip in both:
        until(lambda ip=ip: is_silent(lab, ip), 3, f"{ip} gets no answer")
    assert server.drops()["client-blocked"] >= 4
    for ip in (HONEST, CLIENT6):
        assert lab.client(ip=ip).allocate().cls == SUCCESS
    until(lambda: not blocked(server), BAN + 20, "the bans end")
    for ip in guesses:
        assert lab.client(ip=ip).allocate().cls == SUCCESS
    until(lambda: told(lab).count("Unban ") == 2, 20, "fail2ban knows it")
    assert " ERROR " not in told(lab) and INNOCENT not in re.findall(r"Ban (\S+)", told(lab)), told(lab)
    filtered(lab, server)
    labs.end_process(process, 10)


if __name__ == "__main__":
    labs.run(main)
