#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The command line: --version, --check, errors at FILE:LINE:COL, exit codes. Needs no namespace."""

import os
import re
import subprocess

import lab as labs
import streams
from server import BINARY

NO_RESTART = 78  # EX_CONFIG of sysexits.h: an error in the file
GOOD = """\
ports:
  - {name: wan, device: "net_null0", addresses: [10.99.0.1/24, "fd99::1/64"]}
listeners:
  - {transport: udp, address: 10.99.0.1, port: 3478}
relay: {addresses: [10.99.0.1]}
auth: {realm: turn.test, users: [{name: ivan, password: pw}]}
"""
# (text to replace, replacement, line, key, word of the reason); without line: as found by the
# parser.
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
    """The changed file is refused, with the position of the error and the exit code."""
    assert old in GOOD
    path = write(lab, GOOD.replace(old, new))
    for args in (("--check", "-c", path), ("-c", path)):
        done = slipring(*args)
        found = re.search(rf"^(?:error: )?{re.escape(path)}:(\d+):(\d+): (.+)", done.stderr, re.M)
        assert done.returncode == (1 if "--check" in args else NO_RESTART) and found, (new, done)
        assert line is None or int(found[1]) == line, (new, found[0])
        assert key in found[3] and word in found[3], (new, found[0])
    return found[0]


def example(lab, name):
    """A file of conf/ has no errors, except for its certificate, which the operator provides."""
    path = os.path.join(labs.TOP, "conf", name)
    with open(path) as file:
        text = file.read()
    if "\ntls:" in text:
        errors = problems(slipring("--check", "-c", path), "error")
        assert errors or os.path.exists("/etc/slipring"), errors
        assert all(": No such file or directory" in e for e in errors), errors
        cert, key = streams.certificate(lab, "turn.example")
        text = text.replace("/etc/slipring/fullchain.pem", cert)
        text = text.replace("/etc/slipring/privkey.pem", key)
        path = write(lab, text)
    done = slipring("--check", "-c", path)
    assert done.returncode == 0 and not problems(done, "error"), (name, done)
    print(f"ok     conf/{name}")


def problems(done, weight):
    """Errors or warnings of --check, from the line number on, in the order of the lines."""
    rows = [re.match(r"(error|warning): ([^:]+:(\d+):(\d+): .+)", s) for s in done.stderr.splitlines()]
    places = [(int(m[3]), int(m[4])) for m in rows if m]
    assert places == sorted(places), done.stderr
    assert len({m[2] for m in rows if m}) == len(places), done.stderr
    return [m[2].split(":", 1)[1] for m in rows if m and m[1] == weight]


# Configurations that start, or seem to, and do not work as intended.
DUBIOUS = GOOD.replace("wan,", 'wan, gateway: ["fe80::1"],').replace(
    "users: [{name: ivan, password: pw}]", 'secrets: ["${SECRET}", "change me"]'
) + "peers: {allow: [127.0.0.0/8, 192.168.0.0/16], deny: []}\n"
WARNINGS = (
    '2:27: ports[0].gateway[0]: port',
    "5:21: relay.addresses[0]: clients are told 10.99.0.1, which is a private address",
    "6:36: auth.secrets[0]: looks like a variable, which slipring does not fill in",
    "6:49: auth.secrets[1]: is the published secret of the examples",
    "7:17: peers.allow[0]: has no effect: loopback addresses are never peers",
    "7:30: peers.allow[1]: no relay address reaches these peers",
)


def several(lab):
    """One run reports all problems, and a start does, too."""
    done = slipring("--check", "-c", write(lab, DUBIOUS))
    told = problems(done, "warning")
    assert done.returncode == 0 and not problems(done, "error"), done
    assert done.stderr.endswith("no errors, 6 warnings\n") and not done.stdout, done
    for want in WARNINGS:
        assert any(t.startswith(want) for t in told), (want, told)
    text = GOOD.replace("udp", "sctp").replace("10.99.0.1/24", "10.99.0.1/33").replace(
        "turn.test,", "turn.test, colour: red,")
    done = slipring("--check", "-c", write(lab, text))
    assert [e.split(": ")[1] for e in problems(done, "error")] == [
        "ports[0].addresses[0]", "listeners[0].transport", "auth.?"], done
    assert done.returncode == 1 and done.stderr.endswith("3 errors, 0 warnings\n"), done


def machine(lab):
    """The message names a missing CPU or file, instead of 100 lines of EAL's usage."""
    text = GOOD + 'eal: {lcores: "0@0,1@1000"}\nworkers: {count: 1}\n'
    text = text.replace("transport: udp,", "transport: dtls,")
    text += f"tls: {{certificate: {lab.dir}/none.pem, key: {lab.dir}/none.key}}\n"
    want = ("7:15: eal.lcores: there is no CPU 1000 on this machine",
            "9:20: tls.certificate: ", "tls.key: ")
    for args in (("--check", "-c"), ("-c",)):
        done = slipring(*args, write(lab, text))
        assert done.returncode == 1 and all(w in done.stderr for w in want), done
        assert "Usage" not in done.stdout + done.stderr, done
    print("ok     ", done.stderr.splitlines()[-1])


def eal_argument(lab):
    """An argument that DPDK does not know gives one error line. DPDK's help is printed if
    requested."""
    good = GOOD + f"eal: {{file-prefix: {lab.prefix}, args: [ARGUMENT]}}\n"
    done = slipring("-c", write(lab, good.replace("ARGUMENT", "--no-such-thing")))
    assert done.returncode == 1 and "unrecognized option '--no-such-thing'" in done.stderr, done
    assert "DPDK does not start" in done.stderr and "Usage" not in done.stdout + done.stderr, done
    done = slipring("-c", write(lab, good.replace("ARGUMENT", "--help")))
    assert "EAL common options" in done.stdout, done


def journal(lab):
    """If standard error is the journal, each line has its level, and no time of its own."""
    path = write(lab, GOOD + 'eal: {lcores: "0@0,1@1000"}\nworkers: {count: 1}\n')
    for args, right in ((("-c", path), True), (("-c", path), False), (("--check", "-c", path), True)):
        with open(os.path.join(lab.dir, "journal"), "w+") as file:
            st = os.fstat(file.fileno())
            stream = f"{st.st_dev}:{st.st_ino if right else st.st_ino + 1}"
            subprocess.run([BINARY, *args], stdout=subprocess.DEVNULL, stderr=file, timeout=20,
                env={**os.environ, "JOURNAL_STREAM": stream}, check=False)  # fmt: skip
            file.seek(0)
            lines = file.read().splitlines()
        levels = [re.match(r"<([0-7])>(?!\d\d\d\d-)", line) for line in lines]
        assert lines and all(bool(level) == right for level in levels), lines
        if right:
            assert {"3", "4"} == {level[1] for level in levels} - {"5"}, lines


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
            example(lab, name)
    for row in BAD:
        print("ok    ", os.path.basename(refused(lab, *row)))
    broken = write(lab, GOOD + "colour: red\n")
    for code, args in (
        (1, ()), (1, ("--colour",)), (1, ("-c",)),
        # an error in the file: the unit does not restart
        (NO_RESTART, ("-c", "/nowhere/slipring.yaml")), (NO_RESTART, ("-c", lab.dir)),
        (NO_RESTART, ("-c", broken)), (1, ("--check", "-c", broken)),
    ):  # fmt: skip
        done = slipring(*args)
        assert done.returncode == code and done.stderr.strip(), (args, done)
        print("ok    ", done.stderr.splitlines()[0])
    with open(os.path.join(labs.BUILD, "conf/slipring.service")) as file:
        unit = file.read()
    assert f"\nRestartPreventExitStatus={NO_RESTART}\n" in unit
    assert "\nExecStartPre=" not in unit, "a start checks all that --check does: machine(), several()"
    several(lab)
    machine(lab)
    eal_argument(lab)
    journal(lab)
    # 8489: a realm beyond 16 bytes amplifies. It works, and --check warns.
    done = slipring("--check", "-c", write(lab, GOOD.replace("turn.test", "r" * 40)))
    assert done.returncode == 0 and "realm" in done.stdout + done.stderr, done


if __name__ == "__main__":
    labs.run(main)
