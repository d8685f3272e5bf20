#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A configuration in several files, with secrets in separate files. A running server starts with
them, reads them again on reload, and never prints their contents.
"""

import os

import control
import lab as labs
import turnlib
from rereads import reload
from turnlib import SUCCESS


def put(path, text, mode=0o600):
    """Replaces a file like a program should: a new file takes the place of the old one."""
    with open(os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def user(name):
    return f"auth: {{users: [{{name: {name}, password-file: {name}}}]}}\n"


def allocates(lab, name, password):
    client = lab.client(turnlib.Auth(name, password))
    good = client.allocate().cls == SUCCESS
    client.close()
    return good


def files(lab, server, folder):
    """Each account is a file, and its password is another file."""
    assert allocates(lab, "ivan", "of-ivan") and not allocates(lab, "olga", "of-olga")
    put(os.path.join(folder, "olga"), "of-olga\n")
    put(os.path.join(folder, "60-olga.yaml"), user("olga"))
    assert "1 change is in use" in reload(server)
    assert "reload: auth.users[olga]: new" in server.log()
    assert allocates(lab, "olga", "of-olga")
    put(os.path.join(folder, "olga"), "another-of-olga\n")
    assert "1 change is in use" in reload(server)
    assert "auth.users[olga].password-file: changed" in server.log()
    assert allocates(lab, "olga", "another-of-olga") and not allocates(lab, "olga", "of-olga")
    os.remove(os.path.join(folder, "60-olga.yaml"))
    assert "1 change is in use" in reload(server)
    assert not allocates(lab, "olga", "another-of-olga")


def wrong(lab, server, folder, path):
    """Unreadable input changes nothing, and the message has the file and line that name it."""
    bad = os.path.join(folder, "70-bad.yaml")
    for text, want in (
        (user("petr"), "70-bad.yaml:1:44: auth.users[1].password-file: the file cannot be opened"),
        ("auth: {realm: other.test}\n", "70-bad.yaml:1:8: auth.realm: included files may have only accounts"),
        ("auth: [\n", "70-bad.yaml:2:1: yaml: syntax"),
    ):
        put(bad, text)
        line = reload(server)
        assert "nothing has changed: " in line and want in line, line
        assert want in control.ctl(path, "config", "diff", code=1)
        assert allocates(lab, "ivan", "of-ivan")
    os.remove(bad)
    assert "the file matches the running configuration" in reload(server)


def credentials(lab, folder):
    """The directory and the environment variable that systemd gives a unit."""
    given = os.path.join(lab.dir, "credentials")
    os.mkdir(given, 0o700)
    put(os.path.join(given, "ivan"), "given-to-ivan", 0o400)
    put(os.path.join(given, "nonce"), "fleet-nonce-of-this-test-0001", 0o400)
    os.environ["CREDENTIALS_DIRECTORY"] = given
    try:
        config = {"include": folder, "include-holds": "all", "auth": {"users": [], "secrets": [], "nonce": {"secret-file": "nonce"}}}
        server = lab.server(config)
    finally:
        del os.environ["CREDENTIALS_DIRECTORY"]
    assert allocates(lab, "ivan", "given-to-ivan") and not allocates(lab, "ivan", "of-ivan")
    assert "given-to" not in server.log() and "fleet-nonce" not in server.log()
    server.stop()


def main(lab):
    labs.need_own_server()
    folder = os.path.join(lab.dir, "conf.d")
    path = os.path.join(lab.dir, "control.sock")
    os.mkdir(folder, 0o700)
    put(os.path.join(folder, "50-ivan.yaml"), user("ivan"))
    put(os.path.join(folder, "ivan"), "of-ivan\n")
    put(os.path.join(folder, "left-out.conf"), "nonsense: [")
    credentials(lab, folder)
    server = lab.server({"include": folder, "auth": {"users": []}, "control": {"socket": path}})
    files(lab, server, folder)
    wrong(lab, server, folder, path)
    assert not any(f"of-{name}" in server.log() for name in ("ivan", "olga"))


if __name__ == "__main__":
    labs.run(main)
