#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Roles on the control socket: users of the group of operators give orders, those of the group of
readers see and change nothing, and others get a reason. The log has each order and the user that
gave it. The configuration that they are shown has no secrets.
"""

import contextlib
import hashlib
import json
import os
import re
import stat
import subprocess

import control
import lab as labs
from control import Control
from turnlib import SUCCESS

UID = 4242  # of no user of this machine
OPERATORS, READERS, OTHERS = 64997, 64998, 64996  # groups of this test, without names
CONNECTIONS = 6


@contextlib.contextmanager
def somebody(*groups, gid=OTHERS, uid=UID):
    """This process is another user of these groups meanwhile, as far as files and sockets go."""
    before = os.getgroups()
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


def connect(path, *groups, **ids):
    with somebody(*groups, **ids):
        return Control(path)


def ctl(lab, path, group, *args):
    """slipringctl, run by a user of this group."""
    argv = ["setpriv", f"--reuid={UID}", f"--regid={OTHERS}", f"--groups={group}"]
    return subprocess.run(
        [*argv, control.for_everybody(lab), "--socket", path, *args],
        capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip


def reading(lab, path, client):
    """Readers see what operators see, and none of their orders has an effect."""
    with connect(path, READERS) as one:
        for command in "help status allocations users ports workers steering drops log config records crash".split():
            one.ask(command)
        (row,) = one.all("allocations")
        assert row["user"] == "ivan", row
        assert one.ask("show", id=row["id"])["allocation"]["id"] == row["id"]
        assert "rows" in one.ask("explain", user="ivan") and "rows" in one.ask("config", do="diff")
        for command, fields in (
            ("kill", {"id": row["id"]}),
            ("kill", {"user": "ivan"}),
            ("capture", {"id": row["id"]}),
            ("log", {"area": "auth", "level": "debug"}),
            ("config", {"do": "reload"}),
            ("drain", {}),
            ("undrain", {}),
            ("stop", {"forget": True}),
            ("fault", {"what": "segv", "worker": 0}),
        ):
            said = one.refused(command, **fields)
            assert said.startswith(f"{command}: this is an order, and uid {UID} is only a reader"), said
            assert f"member of {OPERATORS}" in said, said
        assert "no capture under way" in one.refused("capture", more=True)
        status = one.ask("status")
        assert status["control"]["denied"] == 9 and not status["drain"]["draining"], status
        assert one.ask("config")["asked"] == 0
        assert client.refresh(600).cls == SUCCESS, "its allocation still exists"
    done = ctl(lab, path, READERS, "allocations")
    assert done.returncode == 0 and "ivan" in done.stdout, done
    done = ctl(lab, path, READERS, "kill", "--user", "ivan")
    assert done.returncode == 1 and "only a reader: use sudo" in done.stderr, done


def ordering(lab, path, client):
    """Operators give orders; payload remains with root."""
    with connect(path, OPERATORS, READERS) as one, connect(path, gid=OPERATORS) as main_group:
        (row,) = one.all("allocations")
        assert "only root" in one.refused("capture", id=row["id"], payload=True)
        assert main_group.ask("log", area="auth", level="debug")["rows"]
        assert one.ask("kill", id=row["id"])["killed"] == 1
        assert client.refresh(600).code == 437
        assert one.refused("kill").startswith("say which")
    assert ctl(lab, path, OPERATORS, "log", "auth", "info").returncode == 0


def strangers(lab, path):
    """A user of neither group gets a reason, and is gone."""
    with connect(path) as one:
        said = one.line()
        assert said["ok"] is False and "no permission" in said["error"], said
        assert one.line() is None
    done = ctl(lab, path, OTHERS, "status")
    assert done.returncode == 1 and "control.readers or control.group" in done.stderr, done


def shown(lab, path, server):
    """config show: what runs, without secrets. With them put in again it is a file of the same keys."""
    auth = server.config["auth"]
    secrets = [user["password"] for user in auth["users"]] + auth["secrets"]
    for group in (READERS, OPERATORS):
        done = ctl(lab, path, group, "config", "show", "--effective", "--origin")
        assert done.returncode == 0 and "# password: (hidden) # " in done.stdout, done
        assert ": sha256:" not in done.stdout and not any(f'"{s}"' in done.stdout for s in secrets), done
        assert re.search(rf"name: \"wan\" # {server.path}:\d+$", done.stdout, re.M), done.stdout
        assert "# default\n" in done.stdout and "# derived\n" in done.stdout, done.stdout
    text = control.ctl(path, "config", "show")
    for secret in secrets:
        digits = hashlib.sha256(secret.encode()).hexdigest()[:8]
        assert f"sha256:{digits}" in text, (secret, text)
        text = text.replace(f"sha256:{digits}", secret)
    text = re.sub("# secrets: (.*)", r"secrets: [\1]", text.replace("# password: ", "password: "))
    with open(server.path, "w") as file:
        file.write(text)
    assert "matches the running configuration" in control.ctl(path, "config", "diff")
    assert json.loads(control.ctl(path, "config", "show", "--json"))["hashes"] is True


def crowded(path):
    """Readers leave half of the connections to operators."""
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS // 2):
            stack.enter_context(connect(path, READERS)).ask("help")
        with connect(path, READERS) as late:
            assert "too many connections" in late.line()["error"]
        with connect(path, OPERATORS) as one:
            assert one.ask("help")


def logged(server):
    """Each order, done or refused, with the user and process that gave it."""
    giver = rf"of uid {UID}, pid {os.getpid()}\b"
    log = server.log()
    for text in (
        rf'refused, as readers give no orders: \{{"v":1,"cmd":"kill","id":"\d+"\}} {giver}',
        rf'log level set by order \{{"v":1,"cmd":"log","area":"auth","level":"debug"\}} {giver}',
        rf'1 allocation ended by order \{{"v":1,"cmd":"kill","id":"\d+"\}} {giver}',
        rf'order refused \(say which [^)]*\): \{{"v":1,"cmd":"kill"\}} {giver}',
        rf"order refused \(payload, decrypted: only root [^)]*\): .* {giver}",
    ):
        assert re.search(text, log), text


def mode(path):
    there = os.stat(path)
    return stat.S_IMODE(there.st_mode), there.st_gid


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    os.chmod(lab.dir, 0o711)  # others may reach the socket
    keys = {"socket": path, "connections": CONNECTIONS, "group": str(OPERATORS), "readers": str(READERS)}
    server = lab.server({"control": keys})
    labs.until(lambda: os.path.exists(path) and mode(path)[0] == 0o666, 5, "the socket is there")
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    reading(lab, path, client)
    ordering(lab, path, client)
    strangers(lab, path)
    shown(lab, path, server)
    crowded(path)
    logged(server)
    server.stop()
    lab.server({"control": {"socket": path, "readers": str(READERS)}})
    labs.until(lambda: os.path.exists(path) and mode(path) == (0o660, READERS), 5, "the readers' socket is there")
    with connect(path, READERS) as one:
        one.ask("status")
        assert "control.group, which is not set" in one.refused("stop")
    try:
        connect(path, OPERATORS).close()
        raise AssertionError("the mode admits readers alone")
    except PermissionError:
        pass


if __name__ == "__main__":
    labs.run(main)
