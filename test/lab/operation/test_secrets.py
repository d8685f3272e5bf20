#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where the secrets of a configuration are in a server that runs, and in what it leaves when it
crashes: the text of the file is gone, a password has become a key, a REST secret is in one place.
A crash leaves no core dump unless debug.core-dumps asks for one, and then without any of them.
"""

import glob
import os
import resource
import signal
import subprocess

import lab as labs

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
    """How often each text is in what a process may write to."""
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
    """Aborts a server: whether the kernel has made a core dump, and the core when it is a file."""
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


def main(lab):
    labs.need_own_server()
    os.chdir(lab.dir)  # where the kernel puts a core dump with the pattern "core"
    server = lab.server(CONFIG)
    client = lab.client(labs.turnlib.Auth("ivan", PASSWORD))
    client.allocate()  # the key is there
    found = copies(server.process.pid, [PASSWORD, REST, NONCE, "planted.realm"])
    assert found.pop("planted.realm") > 0, "the search finds nothing at all"
    assert found == {PASSWORD: 0, REST: 1, NONCE: 0}, found
    client.close()
    server.finish()

    if labs.SANITIZED:
        return  # they make no core dumps
    dumped, _ = crash(lab, CONFIG)
    assert not dumped, "a core dump that nobody has asked for"
    dumped, core = crash(lab, {**CONFIG, "debug": {"core-dumps": True}})
    assert dumped, "no core dump, though it is asked for"
    if core is None:
        print("core dumps go elsewhere on this machine: not searched")
        return
    assert in_core(core, "planted.realm"), "the search finds nothing at all"
    for text in (PASSWORD, REST, NONCE):
        assert not in_core(core, text), f"{text} in the core dump"
    print(f"core dump: {os.stat(core).st_blocks // 2} KB")


if __name__ == "__main__":
    labs.run(main)
