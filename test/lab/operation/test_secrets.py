#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Secrets of a configuration in the memory of a running server, and in its crash files: the text of
the file is gone, a password has become a key, a REST secret is in one place. A crash leaves no core
dump unless debug.core-dumps requests one, and then without secrets. No output of a server or
--check, at any level, contains a piece of a secret.
"""

import contextlib
import glob
import json
import os
import re
import resource
import signal
import subprocess

import control
import lab as labs
import server as servers
import streams
from turnlib import SUCCESS

PIECE = 8  # length of a run of characters that reveals too much
PASSWORD, REST, NONCE = "planted-password-0a1b", "planted-rest-secret-2c3d", "planted-nonce-4e5f"
CONFIG = {
    "auth": {
        "realm": "planted.realm",
        "users": [{"name": "ivan", "password": PASSWORD}],
        "secrets": [REST],
        "nonce": {"secret": NONCE},
    },
}


def copies(pid, texts):
    """The number of occurrences of each text in the process's writable memory."""
    found = dict.fromkeys(texts, 0)
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            span, mode = line.split()[:2]
            low, high = (int(end, 16) for end in span.split("-"))
            if "w" not in mode or "[v" in line or high - low > 1 << 32:
                continue
            while low < high:
                try:
                    memory.seek(low)
                    data = memory.read(min(high - low, 1 << 24))
                except OSError:
                    break
                for text in texts:
                    found[text] += data.count(text.encode())
                low += len(data)
    return found


def crash(lab, config):
    """Aborts a server. Returns whether the kernel made a core dump, and the core if it is a file."""
    server = lab.server(config)
    resource.prlimit(server.process.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    server.telemetry.close()
    os.kill(server.process.pid, signal.SIGABRT)
    _, status = os.waitpid(server.process.pid, 0)
    server.process.returncode = -signal.SIGABRT
    assert os.WTERMSIG(status) == signal.SIGABRT, status
    cores = glob.glob(os.path.join(lab.dir, "core*"))
    return os.WCOREDUMP(status), cores[0] if cores else None


def in_core(path, text):
    done = subprocess.run(["grep", "-c", "-a", "-F", text, path], capture_output=True, check=False)
    return done.returncode == 0


def planted(lab):
    """A configuration with a secret in every key that can hold one, and these secrets."""
    _, key = streams.certificate(lab, "turn")
    with open(key) as file:
        pem = [line for line in file.read().splitlines() if not line.startswith("-----")]
    password, rest, nonce, md5, sha256, token = (os.urandom(n).hex() for n in (12, 12, 12, 16, 32, 32))
    config = {
        "auth": {
            "realm": "planted.realm",
            "users": [{"name": "ivan", "password": password}, {"name": "olga", "key": md5},
                {"name": "yuri", "key-sha256": sha256}],
            "secrets": [rest],
            "oauth": {"keys": [{"kid": "north", "secret": token}]},
            "nonce": {"secret": nonce},
        },
        "listeners": [*servers.CONFIG["listeners"],
            {"transport": "dtls", "address": labs.SERVER4, "port": 5349}],
        "tls": {"certificate": key.replace(".key", ".pem"), "key": key},
        "log": {"level": "debug", "format": "json", "rate": 0},
        "records": {"file": os.path.join(lab.dir, "records.json"), "interim": 1},
        "control": {"socket": os.path.join(lab.dir, "control.sock")},
    }  # fmt: skip
    return config, [password, rest, nonce, md5, sha256, token, *pem]


def assert_none(secrets, text, where):
    """Checks that no piece of a secret occurs, in any case or escaped."""
    text = text.lower()
    for secret in secrets:
        for offset in range(len(secret) - PIECE + 1):
            piece = secret[offset : offset + PIECE].lower()
            assert piece not in text, f"{piece} in {where}: {text[:4000]}"


def ask_control(path):
    """The control socket's answers to all commands that list something."""
    client = control.Control(path)
    rows = client.all("allocations")
    facts = ("status", "ports", "workers", "steering", "neighbours", "drops")
    answers = [rows, client.all("users"), *(client.ask(fact) for fact in facts)]
    return json.dumps([*answers, *(client.ask("show", id=row["id"]) for row in rows)])


def run_and_tell(lab):
    """All output of a server while it starts, serves valid and invalid clients, and stops."""
    config, secrets = planted(lab)
    server = lab.server(config)
    good = lab.client(labs.turnlib.Auth("ivan", secrets[0]))
    assert good.allocate().cls == SUCCESS
    for name, password in (("ivan", "wrong"), ("nobody", "x"), ("1:ivan", "x"), ("2000000000:i", "x")):
        assert lab.client(labs.turnlib.Auth(name, password)).allocate().cls != SUCCESS
    for sig in (signal.SIGHUP, signal.SIGUSR2, signal.SIGUSR1):
        before = len(server.log())
        server.process.send_signal(sig)
        labs.until(lambda n=before: len(server.log()) > n, 5, f"{sig.name} is logged")
    commands = [c for c in server.telemetry.ask("/") if c.startswith("/slipring/")]
    assert len(commands) > 10, commands
    answers = json.dumps([server.telemetry.ask(c + p) for c in commands for p in ("", ",0", ",0,0", ",1,0")])
    assert "ivan" in answers and "planted.realm" in answers, "the search would find nothing"
    assert_none(secrets, answers, "telemetry")
    asked = ask_control(config["control"]["socket"])
    assert "ivan" in asked and "drops" in asked, "the search would find nothing"
    assert_none(secrets, asked, "answers of the control socket")
    for name in ("cmdline", "environ"):
        with open(f"/proc/{server.process.pid}/{name}", errors="replace") as file:
            assert_none(secrets, file.read(), name)
    server.stop()
    log = server.log()
    assert '"level":"debug"' in log and '"area":"dpdk"' in log, "the log has its most verbose level"
    assert_none(secrets, log, "the log")
    records = ""
    for path in (config["records"]["file"], labs.refusals(config["records"]["file"])):
        with open(path) as file:
            records += file.read()
    assert records.count('"made"') == records.count('"ended"') == 1 < records.count('"refused"')
    assert_none(secrets, records, "records")
    print(f"told: {len(log.splitlines())} lines of log, {len(commands)} commands, no secret")
    return server.text, secrets


def check_and_tell(lab, text, secrets):
    """The output of --check, --show-needs and a start for a file with an error at each position."""
    path = os.path.join(lab.dir, "broken.yaml")
    spots = [m.start() for m in re.finditer(r'"(?:password|key|key-sha256|secrets?|nonce)"', text)]
    spots += [m.end() for m in re.finditer("|".join(map(re.escape, secrets[:6])), text)]
    said = ""
    for offset, args in [(spot, ("--check",)) for spot in spots] + [(0, ("--show-needs",)), (spots[0], ())]:
        for piece in ("", ":", '"', "}", "\n", "- x: ") if args else ("}",):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(text[:offset] + piece + text[offset:])
            done = subprocess.run([servers.BINARY, *args, "-c", path], capture_output=True,
                text=True, timeout=60, check=False)  # fmt: skip
            said += done.stdout + done.stderr
    assert said.count("broken.yaml:") > len(spots), said[-1000:]
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    assert_none(secrets, said, "what --check says")


def main(lab):
    labs.need_own_server()
    text, secrets = run_and_tell(lab)
    check_and_tell(lab, text, secrets)
    os.chdir(lab.dir)  # the kernel puts core dumps with the pattern "core" here
    server = lab.server(CONFIG)
    client = lab.client(labs.turnlib.Auth("ivan", PASSWORD))
    client.allocate()  # creates the key
    found = copies(server.process.pid, [PASSWORD, REST, NONCE, "planted.realm"])
    assert found.pop("planted.realm") > 0, "the search finds nothing"
    assert found == {PASSWORD: 0, REST: 1, NONCE: 0}, found
    client.close()
    server.finish()

    if labs.SANITIZED:
        return  # no core dumps
    dumped, _ = crash(lab, CONFIG)
    assert not dumped, "an unrequested core dump"
    dumped, core = crash(lab, {**CONFIG, "debug": {"core-dumps": True}})
    assert dumped, "a requested core dump is missing"
    if core is None:
        print("core dumps go elsewhere on this machine: not searched")
        return
    assert in_core(core, "planted.realm"), "the search finds nothing"
    for text in (PASSWORD, REST, NONCE):
        assert not in_core(core, text), f"{text} in the core dump"
    print(f"core dump: {os.stat(core).st_blocks // 2} KB")


if __name__ == "__main__":
    labs.run(main)
