#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Privileges of a running server, thread by thread: no capability that no port needs, no way to
gain new ones, and a system call filter. With process.user the server runs as another user: it
relays, reloads and renews certificates if that user may read the files, and otherwise reports it.
"""

import ctypes
import errno
import glob
import json
import os
import platform
import pwd
import re
import shutil
import signal
import struct
import subprocess

import control
import lab as labs
import server
import streams
import turnlib
from lab import SERVER4, SLOW, until
from turnlib import SUCCESS

NET_ADMIN, NET_RAW, SYS_PTRACE = 1 << 12, 1 << 13, 1 << 19
USER = "nobody"
SCHED_GETATTR = 315 if platform.machine() == "x86_64" else 275
SLICES = tuple(int(n) for n in re.findall(r"\d+", platform.release())[:2]) >= (6, 12)


def threads(process):
    """{name and number: fields of /proc/.../status} of all threads."""
    found = {}
    for path in glob.glob(f"/proc/{process.pid}/task/*/status"):
        try:
            with open(path) as file:
                fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
        found[f"{fields['Name']} {fields['Pid']}"] = fields
    return found


def confined(s):
    until(lambda: s.running() and "privileges: user" in s.log(), 60, "privileges are given up")
    return threads(s.process)


def keeps(name, s):
    """True if a thread keeps the capabilities of the ports while it runs."""
    return int(name.split()[-1]) == s.process.pid or name.startswith(("eal-intr", "dpdk-intr"))


def slice_ns(thread):
    """The time slice of a thread: 0 is the default, None if the thread has ended."""
    attributes = ctypes.create_string_buffer(48)
    if ctypes.CDLL(None, use_errno=True).syscall(SCHED_GETATTR, thread, attributes, 48, 0) != 0:
        assert ctypes.get_errno() == errno.ESRCH, (thread, ctypes.get_errno())
        return None
    return struct.unpack_from("=24xQ", attributes)[0]


def check_slices(found):
    """Threads that packets wake ask for prompt wake-ups, with and without the system call filter."""
    for name in found:
        prompt = any(kind in name for kind in ("worker", "stream-", "exception"))
        length = slice_ns(int(name.split()[-1]))
        assert length is None or (length == 100_000) == prompt or not SLICES, name


def check_threads(s, uid, need, records=True):
    found = confined(s)
    assert len(found) > 5, found.keys()
    for name, fields in found.items():
        caps = need if keeps(name, s) else 0
        assert int(fields["CapPrm"], 16) == int(fields["CapEff"], 16) == caps, (name, fields)
        assert not any(int(fields[cap], 16) for cap in ("CapInh", "CapBnd", "CapAmb")), (name, fields)
        assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2", (name, fields)
        assert set(fields["Uid"].split()) == {str(uid)}, (name, fields)
    check_slices(found)
    names = sorted(found)
    print(f"{len(names)} threads: {', '.join(name.split()[0] for name in names)}", flush=True)
    assert any("worker" in name for name in names) and any("stream-" in name for name in names)
    assert any("slipring-ctl" in name for name in names) and any("slipring-watc" in name for name in names)
    assert any(name.startswith("records") for name in names) == records


def need():
    if SLOW > 1:  # a sanitizer uses ptrace
        return NET_ADMIN | NET_RAW | SYS_PTRACE
    return NET_ADMIN if os.environ.get("LAB_PORT", "vtap") == "vtap" else NET_ADMIN | NET_RAW


def config(lab, folder, **process):
    """A server with a thread of every kind."""
    certificate, key = streams.certificate(lab, "turn.test", "privileges")
    tls = os.path.join(folder, "tls.pem"), os.path.join(folder, "tls.key")
    shutil.copy(certificate, tls[0])
    shutil.copy(key, tls[1])
    os.chmod(tls[1], 0o600)
    lab.dut.ip("addr", "replace", "192.0.2.130/32", "dev", "lo")
    return {
        "listeners": [
            {"transport": "udp", "address": SERVER4},
            {"transport": "tls", "address": "192.0.2.130", "port": 5349},
        ],
        "tls": {"certificate": tls[0], "key": tls[1]},
        "records": {"file": os.path.join(folder, "records.json")},
        "control": {"socket": os.path.join(folder, "control.sock")},
        "process": process,
    }


def relays(lab, echo):
    client = lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4000, echo.address).cls == SUCCESS
    client.send_channel(0x4000, b"media")
    good = client.wait("channel", timeout=2 * SLOW) == ("channel", 0x4000, b"media")
    client.close()
    return good


def told_after(s, number, text, path=None):
    """The log line with this text after a signal."""
    lines = lambda: [line for line in s.log().splitlines() if text in line]
    before = len(lines())
    s.process.send_signal(number)
    return until(lambda: lines()[before:], 10, text)[0]


def write(s, text, uid, gid, mode):
    """Replaces a file, with this owner and mode."""
    with open(os.open(s.path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    os.chown(s.path + ".new", uid, gid)
    os.chmod(s.path + ".new", mode)
    os.rename(s.path + ".new", s.path)


def as_root(lab, folder, echo):
    """A reload starts the thread that writes records, which has no capability either."""
    options = config(lab, folder, seccomp="kill")
    records = options.pop("records")
    s = lab.server(options, allow=["no-allocation"])
    check_threads(s, 0, need(), records=False)
    assert relays(lab, echo)
    assert "the file matches the running configuration" in told_after(s, signal.SIGHUP, "reload by SIGHUP")
    write(s, json.dumps({**json.loads(s.text), "records": records}), 0, 0, 0o600)
    line = told_after(s, signal.SIGHUP, "reload by SIGHUP")
    assert " in use" in line, line
    check_threads(s, 0, need())
    s.stop()
    os.unlink(records["file"])


def credential(folder, text, user):
    """A secret like systemd provides it to a unit of that user."""
    given = os.path.join(folder, "credentials")
    os.makedirs(given, 0o700, exist_ok=True)
    path = os.path.join(given, "rest")
    with open(path + ".new", "w") as file:
        file.write(text)
    os.chmod(path + ".new", 0o400)
    os.rename(path + ".new", path)
    for path in (given, path):
        os.chown(path, user.pw_uid, user.pw_gid)
    return given


def as_another(lab, folder, echo, user):
    """Files of root that others may not read are not read again. Nothing else is lost."""
    options = config(lab, folder, seccomp="kill", user=USER)
    options["auth"] = {"secret-files": ["rest"]}
    os.environ["CREDENTIALS_DIRECTORY"] = credential(folder, "first-of-the-credentials", user)
    try:
        s = lab.server(options, allow=["no-allocation"])
    finally:
        del os.environ["CREDENTIALS_DIRECTORY"]
    check_threads(s, user.pw_uid, need())
    assert relays(lab, echo)
    line = told_after(s, signal.SIGHUP, "reload by SIGHUP")
    assert "nothing has changed" in line and "Permission denied" in line, line
    assert "Permission denied" in told_after(s, signal.SIGUSR2, "tls.key"), "the old one stays in use"
    assert relays(lab, echo)
    write(s, s.text.replace('"password": "pw"', '"password": "pw2"'), 0, user.pw_gid, 0o640)
    assert "1 change is in use" in told_after(s, signal.SIGHUP, "reload by SIGHUP")
    assert lab.client(turnlib.Auth("ivan", "pw2")).allocate().cls == SUCCESS
    credential(folder, "second-of-the-credentials", user)
    assert "1 change is in use" in told_after(s, signal.SIGHUP, "reload by SIGHUP")
    assert "auth.secret-files: changed" in s.log() and "of-the-credentials" not in s.log()
    asks(lab, s, user)
    renews(lab, s, user)
    moves_records(s, folder, user)
    s.stop()


def asks(lab, s, user):
    """Only that user and root may use the control socket."""
    program = control.for_everybody(lab)
    for uid, code in ((user.pw_uid, 0), (0, 0), (pwd.getpwnam("daemon").pw_uid, 3)):
        done = subprocess.run(
            [program, "--socket", s.config["control"]["socket"], "status"],
            user=uid, group=uid, extra_groups=[], capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, (uid, done)
        assert done.stdout.startswith("version") == (code == 0), done


def subject(lab):
    """The certificate that the server presents."""
    shown = lab.dut.run("openssl", "s_client", "-connect", "192.0.2.130:5349", check=False)
    return re.search(r"subject=CN ?= ?(\S+)", shown)[1]


def renews(lab, s, user):
    """A key that only that user, or its group, may read."""
    for owner, mode, name in ((user.pw_uid, 0o600, "own.test"), (0, 0o640, "group.test")):
        given = s.config["tls"]["certificate"], s.config["tls"]["key"]
        for made, path in zip(streams.certificate(lab, name, "renewed"), given, strict=True):
            shutil.copy(made, path)
        os.chown(given[1], owner, user.pw_gid)
        os.chmod(given[1], mode)
        s.process.send_signal(signal.SIGUSR2)
        until(lambda n=name: subject(lab) == n, 10, f"{name} is served")


def moves_records(s, folder, user):
    """Files that root has created belong to that user, and the server writes to them, too."""
    first = os.path.join(folder, "records.json")
    for path in (first, labs.refusals(first)):
        assert os.stat(path).st_uid == user.pw_uid and os.stat(path).st_mode & 0o777 == 0o640
    private = os.path.join(folder, "own")
    os.mkdir(private, 0o700)
    os.chown(private, user.pw_uid, user.pw_gid)
    for path in (os.path.join(private, "2.json"), first):
        text = json.dumps({**json.loads(s.text), "records": {"file": path}})
        write(s, text, user.pw_uid, user.pw_gid, 0o600)
        line = told_after(s, signal.SIGHUP, "reload by SIGHUP")
        assert " in use" in line, line


def check_says(lab, folder, user):
    """--check as root names each file that this user cannot read."""
    options, secret = config(lab, folder, user=USER), os.path.join(folder, "secret")
    options["auth"] = {"secret-files": [secret]}
    identity = {kind: f"{folder}/own.{end}" for kind, end in (("certificate", "pem"), ("key", "key"))}
    options["listeners"].append({**options["listeners"][1], "port": 5350, "tls": identity})
    for kind, path in identity.items():
        shutil.copy2(options["tls"][kind], path)
    options["crash"] = {"directory": folder}
    with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write("one-that-is-long-enough")
    s = server.Slipring(lab, options)
    with open(os.open(s.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(s.text)
    check = lambda: subprocess.run(
        [server.BINARY, "--check", "-c", s.path], capture_output=True, text=True, check=False
    ).stderr
    out = check()
    files = s.path, *(os.path.join(folder, f"{name}.key") for name in ("tls", "own")), secret
    for path in files:
        assert f"user {USER} cannot read {path}" in out, out
    assert f"records.file: user {USER} cannot create files in {folder}/" in out, out
    assert f"crash.directory: user {USER} cannot list {folder} " in out, out
    assert f"listeners[2].tls.key: user {USER} cannot read {folder}/own.key" in out, out
    assert f"{USER} cannot read {folder}/tls.pem" not in out, out
    for path in (*files, folder):
        os.chown(path, user.pw_uid, user.pw_gid)
    os.chmod(lab.dir, 0o700)  # like a home directory
    out = check()
    kept_out = f"because it may not enter {lab.dir} (chmod o+x, or move the file away)"
    for path in (*files, f"{folder}/tls.pem"):
        assert f"user {USER} cannot read {path} again, {kept_out}" in out, out
    assert f"cannot create files in {folder}/, {kept_out}, so records" in out, out
    os.chmod(lab.dir, 0o711)
    out = check()
    os.chown(folder, 0, 0)
    assert f"user {USER}" not in out, out
    with open(s.path, "w") as file:
        file.write(s.text.replace(f'"user": "{USER}"', '"user": "no-such-user"'))
    assert "process.user: there is no user no-such-user" in check()


def main(lab):
    labs.need_own_server()
    user = pwd.getpwnam(USER)
    os.chmod(lab.dir, 0o711)  # mkdtemp makes it for root alone
    folder = os.path.join(lab.dir, "box")
    os.mkdir(folder, 0o755)
    echo = lab.echo()
    as_root(lab, folder, echo)
    as_another(lab, folder, echo, user)
    check_says(lab, folder, user)


if __name__ == "__main__":
    labs.run(main)
