#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: a thousand reloads
"""Reload after reload beside media, every other one of a file that is refused: nothing is lost."""

import os
import signal

import control
import lab as labs
import loadgen
from lab import until
from links import join
from loadgen import IVAN, media
from test_reload import write

RELOADS = 1000 if labs.LONG else 30


def main(lab):
    labs.need_own_server()
    gen = loadgen.Generator(lab)
    join(lab, gen)
    path = os.path.join(lab.dir, "control.sock")
    server = lab.server({"control": {"socket": path}})
    run = gen.start(*media(*IVAN, *"--clients 20 --pps 4k --duration 600 --direction both --size 160 "
        "--drain 2".split()))  # fmt: skip
    until(lambda: server.stats()["allocations"] == 20, 10, "the clients are there")
    with control.Control(path) as ask:
        for n in range(RELOADS):
            good = {"limits": {"per-user": 100 + n}, "peers": {"deny": [f"192.0.2.{n % 200}/32"]}}
            write(server, good if n % 2 else "limits: {per-user: one}")
            asked = ask.ask("config", do="reload")["asked"]
            state = lambda: ask.ask("config")
            ended = until(lambda a=asked: state()["ended"] >= a and state(), 10, "it ends")
            assert ended["how"] == ("done" if n % 2 else "refused"), ended
    run.process.send_signal(signal.SIGINT)
    result = run.result()
    loadgen.check_clean(result, "up", "down")
    print(f"{RELOADS} reloads beside {result['total_sent']} datagrams")
    server.check()


if __name__ == "__main__":
    labs.run(main)
