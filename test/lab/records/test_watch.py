#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipringctl watch, with real clients: it shows events of the chosen user as they come, without
any file of records."""

import json
import os
import subprocess

import control
import lab as labs
from lab import until
from turnlib import ERROR, SUCCESS, Auth


def main(lab):
    labs.need_own_server()
    socket, out = (os.path.join(lab.dir, name) for name in ("control.sock", "watched"))
    users = [{"name": name, "password": "pw"} for name in ("ivan", "olga")]
    server = lab.server({"auth": {"realm": "lab.example", "users": users}, "control": {"socket": socket}})
    words = ("watch", "--json", "--filter", "user=ivan")
    with open(out, "w") as file:
        watcher = subprocess.Popen([control.PROGRAM, "--socket", socket, *words], stdout=file)
    lab.cleanup.callback(watcher.kill)

    def seen():
        return [(row["event"], row.get("why")) for row in labs.lines_of(out)]

    def begun():
        client = lab.client(Auth("ivan", "pw"))
        assert client.allocate().cls == SUCCESS and client.refresh(0).cls == SUCCESS
        return seen()

    until(begun, 20, "it watches")
    assert lab.client(Auth("olga", "pw")).allocate().cls == SUCCESS
    assert lab.client(Auth("ivan", "wrong")).allocate().cls == ERROR
    until(lambda: ("refused", "password-wrong") in seen(), 15, "the refusal")
    assert {("made", None), ("ended", "client")} <= set(seen()), seen()
    assert {row["user"] for row in labs.lines_of(out)} == {"ivan"}, json.dumps(labs.lines_of(out))
    watcher.terminate()
    watcher.wait(20)
    server.stop()


if __name__ == "__main__":
    labs.run(main)
