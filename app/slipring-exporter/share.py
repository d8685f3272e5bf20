# SPDX-License-Identifier: BSD-3-Clause
"""--share GROUP: lets a group ask slipring. EAL makes its directories and the socket for their owner
alone, and anew at every start. So root does this after each (ExecStartPost of slipring.service).
"""

import grp
import os
import sys
import time

from telemetry import Dead, Telemetry, socket_paths

PAUSE = 0.1  # seconds between two looks


def group_id(name):
    """The number of a name or number; KeyError when there is no such group."""
    return int(name) if name.isdigit() else grp.getgrnam(name).gr_gid


def open_to(path, gid, bits):
    """Gives a file to the group, with these bits and no others beside the owner's."""
    mode = os.stat(path).st_mode & 0o700
    os.chown(path, -1, gid)
    os.chmod(path, mode | bits)


def has_ended():
    """Whether the slipring that systemd has started before this is gone already."""
    pid = os.environ.get("MAINPID", "")
    return pid.isdigit() and not os.path.exists(f"/proc/{pid}")


def share(directory, prefix, group, timeout):
    """The exit code. Waits until somebody answers on the socket: one left behind is no use."""
    try:
        gid = group_id(group)
    except KeyError:
        print(f"--share: no such group: {group}; groupadd --system {group}", file=sys.stderr)
        return 1
    paths, end = socket_paths(directory, prefix), time.monotonic() + timeout
    while True:
        try:
            with Telemetry(paths, 1) as telemetry:
                break
        except Dead as dead:
            if has_ended() or time.monotonic() > end:
                print(f"--share: {dead}", file=sys.stderr)
                return 1
        time.sleep(PAUSE)
    own = os.path.dirname(telemetry.path)
    try:
        open_to(telemetry.path, gid, 0o060)
        open_to(own, gid, 0o010)
        open_to(os.path.dirname(own), gid, 0o010)
    except OSError as error:
        print(f"--share: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0
