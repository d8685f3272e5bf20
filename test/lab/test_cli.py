#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The command line: --version, --check, errors at FILE:LINE:COL, exit codes. Needs no namespace."""

import os
import re
import subprocess

import lab as labs
from server import BINARY

GOOD = """\
ports:
  - {name: wan, device: "net_null0", addresses: [10.99.0.1/24, "fd99::1/64"]}
listeners:
  - {transport: udp, address: 10.99.0.1, port: 3478}
relay: {addresses: [10.99.0.1]}
auth: {realm: turn.test, users: [{name: ivan, password: pw}]}
"""
# (what to replace, by what, line, key, word of the reason); no line: as found by the parser.
BAD = (
    ("relay:", "relais:", 5, "relais", ""),
    ("realm: turn.test", "realm: turn.test, realm: again", 6, "realm", ""),
    ("port: 3478", "port: 70000", 4, "port", ""),
    ("port: 3478", "port: many", 4, "port", ""),
    ("port: 3478", "port: -1", 4, "port", ""),
    ("port: 3478", "port: 3478, colour: red", 4, "colour", ""),
    ("transport: udp", "transport: sctp", 4, "transport", ""),
    ("address: 10.99.0.1", "address: 10.99.0.9", 4, "address", ""),
    ("address: 10.99.0.1", "address: 10.99.0.300", 4, "address", ""),
    ("{addresses: [10.99.0.1]}", "{addresses: [10.99.0.7]}", 5, "addresses", ""),
    ("{addresses: [10.99.0.1]}", "{addresses: [10.99.0.1], ports: 5-1}", 5, "ports", ""),
    ("{addresses: [10.99.0.1]}", "{addresses: [10.99.0.1], ports: 80-90}", 5, "ports", ""),
    ("{addresses: [10.99.0.1]}", "[]", 5, "relay", ""),
    ("addresses: [10.99.0.1/24", "addresses: [10.99.0.1/33", 2, "addresses", ""),
    (", password: pw", "", 6, "users", ""),
    ("users: [{name: ivan, password: pw}]", "users: []", 6, "auth", ""),
    ("auth:", "auth: [", None, "", ""),
    ("ports:\n", "ports:\n\t- x\n", None, "", ""),
    ("listeners:", "workers: {count: 3}\neal: {lcores: '0@0,1@0'}\nlisteners:", None, "lcores", ""),
)


def slipring(*args):
    done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=20, check=False)
    for word in ("runtime error", "Sanitizer"):
        assert word not in done.stderr, done.stderr
    return done


def write(lab, text):
    path = os.path.join(lab.dir, "test.yaml")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    return path


def refused(lab, old, new, line, key, word):
    """The changed file is refused with exit code 1 and the place of the error."""
    assert old in GOOD
    path = write(lab, GOOD.replace(old, new))
    for args in (("--check", "-c", path), ("-c", path)):
        done = slipring(*args)
        found = re.search(rf"^{re.escape(path)}:(\d+):(\d+): (.+)", done.stderr, re.M)
        assert done.returncode == 1 and found, (new, done)
        assert line is None or int(found[1]) == line, (new, found[0])
        assert key in found[3] and word in found[3], (new, found[0])
    return found[0]


def main(lab):
    labs.need_own_server()
    if not os.path.exists(BINARY):
        raise labs.Skip(f"{BINARY} is not built")
    done = slipring("--version")
    assert done.returncode == 0 and re.match(r"slipring \d+\.\d+", done.stdout), done
    done = slipring("--check", "-c", write(lab, GOOD))
    assert done.returncode == 0, done
    for name in sorted(os.listdir(os.path.join(labs.TOP, "conf"))):
        if name.endswith(".yaml"):
            done = slipring("--check", "-c", os.path.join(labs.TOP, "conf", name))
            assert done.returncode == 0, (name, done)
            print(f"ok     conf/{name}")
    for row in BAD:
        print("ok    ", os.path.basename(refused(lab, *row)))
    for args in ((), ("--colour",), ("-c",), ("-c", "/nowhere/slipring.yaml"), ("-c", lab.dir)):
        done = slipring(*args)
        assert done.returncode == 1 and done.stderr.strip(), (args, done)
        print("ok    ", done.stderr.splitlines()[0])
    # 8489: a realm beyond 16 bytes amplifies; it works, and --check says so.
    done = slipring("--check", "-c", write(lab, GOOD.replace("turn.test", "r" * 40)))
    assert done.returncode == 0 and "realm" in done.stdout + done.stderr, done


if __name__ == "__main__":
    labs.run(main)
