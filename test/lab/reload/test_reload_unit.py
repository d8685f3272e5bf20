#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`systemctl reload slipring`, without systemd: the unit's line ExecReload= unchanged, under the
unit's privileges. It succeeds with a valid file, and fails with a refused one."""

import os
import re
import shlex
import subprocess
import sys

import control
import lab as labs
import turnlib
from rereads import write
from turnlib import SUCCESS

UNIT = os.path.join(labs.BUILD, "conf/slipring.service")
CONFINE = os.path.join(labs.TOP, "test/lab/operation/confine.py")
# Replacements for the unit's paths, for one command: the server's socket, and slipringctl.
PLACES = """mount -t tmpfs none /run && mkdir /run/slipring && mount --bind "$1" /run/slipring &&
    mount --bind "$2" /usr/local/bin && shift 2 && exec "$@" """


def exec_reload():
    with open(UNIT) as file:
        (line,) = re.findall(r"^ExecReload=(.*)$", file.read(), re.M)
    return shlex.split(line)


def main(lab):
    labs.need_own_server()
    run = os.path.join(lab.dir, "run")
    os.mkdir(run)
    server = lab.server({"control": {"socket": os.path.join(run, "control.sock")}})

    def reload():
        command = [word.replace("$MAINPID", str(server.process.pid)) for word in exec_reload()]
        places = ["unshare", "-m", "sh", "-c", PLACES, "sh", run, os.path.dirname(control.PROGRAM)]
        return subprocess.run(
            [*places, sys.executable, CONFINE, UNIT, "--", *command],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    good = lambda password: lab.client(turnlib.Auth("ivan", password)).allocate().cls == SUCCESS
    users = lambda password: {"auth": {"users": [{"name": "ivan", "password": password}]}}
    write(server, users("second"))
    done = reload()
    assert done.returncode == 0, done
    assert good("second")
    write(server, {**users("third"), "limits": {"per-user": -1}})
    done = reload()
    assert done.returncode != 0 and "limits.per-user" in done.stdout + done.stderr, done
    assert good("second") and not good("third"), "nothing has changed"
    write(server, users("third"))
    assert reload().returncode == 0 and good("third")


if __name__ == "__main__":
    labs.run(main)
