#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: a call of eleven minutes, beyond the refresh of a channel; test_lifetimes has the times
"""A WebRTC data channel between two endpoints that may use only the relay (aiortc)."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time

import lab as labs
import streams
from capture import Capture, from_server
from lab import SERVER4
from turnlib import rest_credentials

HERE = os.path.dirname(os.path.abspath(__file__))
CALL_S = "660"  # aioice refreshes its channel after 500 s, and refreshes no permission
CACHE = os.environ.get("LAB_CACHE", "/var/cache/slipring-lab")


def environment():
    """The python of a virtual environment with aiortc, created once per set of requirements."""
    requirements = os.path.join(HERE, "requirements.txt")
    with open(requirements, "rb") as file:
        digest = hashlib.sha256(file.read() + sys.version.encode()).hexdigest()[:12]
    home = os.path.join(CACHE, digest)
    python = os.path.join(home, "bin/python")
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "lock"), "w") as lock:  # another run may be creating it
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(os.path.join(home, "complete")):
            make(home, python, requirements)
    return python


def make(home, python, requirements):
    shutil.rmtree(home, ignore_errors=True)
    for argv in (
        [sys.executable, "-m", "venv", home],
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", requirements],
    ):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr + done.stdout).strip()
            raise labs.Skip(f"aiortc cannot be installed (needs a package index): {said[-300:]}")
    open(os.path.join(home, "complete"), "w").close()


def main(lab):
    python = environment()
    own_server = not os.environ.get("LAB_SERVER")
    config, trusting = None, dict(os.environ)
    if own_server:
        streams.join(lab)
        config = streams.config(lab, ("tcp", "tls"))
        # aioice verifies certificates with OpenSSL's settings.
        trusting["SSL_CERT_FILE"] = streams.signed_certificate(lab, f"IP:{streams.V4}", "cert")
    server = lab.server(config, allow=("peer-no-permission", "keepalive", "no-permission", "no-allocation",
        "peer-no-allocation", "hairpin-no-allocation"))  # fmt: skip
    udp = f"turn:{SERVER4}:3478?transport=udp"
    runs = [(udp, "ivan", "pw")]
    if own_server:
        runs.append((udp, *rest_credentials("s3cret", time.time() + 600, "browser")))
        runs.append((f"turn:{streams.V4}:3478?transport=tcp", "ivan", "pw"))
        runs.append((f"turns:{streams.V4}:5349?transport=tcp", "ivan", "pw"))
    runs = [(*run, "0") for run in runs]
    if labs.LONG:
        runs.append((udp, "ivan", "pw", CALL_S))
    for run in runs:
        with Capture(lab, lab.sw, "d0") as capture:
            pair = os.path.join(HERE, "webrtc_pair.py")
            print(lab.cli.run(python, pair, *run, env=trusting).strip())
        stray = [f for f in from_server(capture.frames) if f.sport and f.sport != 3478]
        assert not stray, f"relayed frames left the process: {stray[:3]}"
    if own_server:
        ended = lambda: server.stats()["allocations"] == 0
        labs.until(ended, 2, "both ends have released their allocations")


if __name__ == "__main__":
    labs.run(main)
