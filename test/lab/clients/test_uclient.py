#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnutils_uclient, an unmodified client: channels, indications, both families, many clients."""

import os
import re
import shlex
from unittest import mock

import lab as labs
import uclient
from lab import PEER4, PEER6, SERVER4, SERVER6

# Label, server, peer, options, clients, messages.
RUNS = (
    ("channels", SERVER4, PEER4, ("-c",), 2, 100),
    ("RTP and RTCP pairs (EVEN-PORT)", SERVER4, PEER4, (), 2, 100),
    ("indications", SERVER4, PEER4, ("-c", "-s"), 2, 100),
    ("IPv6 relay", SERVER6, PEER6, ("-c", "-x"), 2, 100),
    ("IPv6 relay, indications", SERVER6, PEER6, ("-c", "-x", "-s"), 2, 100),
    ("IPv4 client, IPv6 relay", SERVER4, PEER6, ("-c", "-x"), 2, 100),
    ("IPv6 client, IPv4 relay", SERVER6, PEER4, ("-c", "-X"), 2, 100),
    ("both families", SERVER4, PEER4, ("-c", "-Z"), 2, 100),
    ("both families, indications", SERVER6, PEER6, ("-c", "-Z", "-s"), 2, 100),
    ("DONT-FRAGMENT", SERVER4, PEER4, ("-c", "-g"), 2, 100),
    ("extra requests", SERVER4, PEER4, ("-c", "-G"), 2, 100),
    ("padded ChannelData", SERVER4, PEER4, ("-c", "-D"), 2, 100),
    ("client to client (hairpin)", SERVER4, PEER4, ("-c", "-y"), 4, 50),
    ("many clients", SERVER4, PEER4, ("-c",), 20, 40),
)
AT_ONCE = 5


# Prints more than a pipe holds, like a client that runs for ten minutes.
TALKATIVE = """#!/bin/sh
head -c 100000 /dev/zero | tr '\\0' '\\n'
echo 'tot_send_msgs=2, tot_recv_msgs=2'
echo 'Total lost packets 0 (0.000000%)'
"""


def talkative(lab):
    """A client finishes although nothing reads its output before."""
    path = os.path.join(lab.dir, "turnutils_uclient")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o755), "w") as file:
        file.write(TALKATIVE)
    with mock.patch.dict(os.environ, PATH=f"{lab.dir}:{os.environ['PATH']}"):
        run = uclient.start(lab, "talkative", SERVER4, PEER4, messages=2)
    labs.until(lambda: run.process.poll() is not None, 20, "a talkative client ends")
    assert run.finish(5).complete, run.output[-2000:]


def first_call(lab):
    """README's command works as printed, with README's secret and the default peer rules."""
    with open(os.path.join(labs.TOP, "README.md")) as file:
        text = file.read()
    argv = shlex.split(re.search(r"^turnutils_uclient .*$", text, re.M)[0], comments=True)
    auth = {"users": [], "secrets": [argv[argv.index("-W") + 1]]}
    assert argv.pop() == "192.0.2.1" and 'secrets: ["change me"]' in text
    server = lab.server({"auth": auth, "peers": {"allow": []}})
    said = lab.cli.run(*argv, SERVER4)
    assert "tot_send_msgs=20, tot_recv_msgs=20" in said and "Total lost packets 0 " in said, said
    server.stop()


def main(lab):
    talkative(lab)
    first_call(lab)
    lab.server()
    uclient.start_peer(lab)
    bad = []
    for first in range(0, len(RUNS), AT_ONCE):
        runs = [
            uclient.start(lab, label, server, peer, *options, clients=clients, messages=messages)
            for label, server, peer, options, clients, messages in RUNS[first : first + AT_ONCE]
        ]
        bad += uclient.finish(runs)
    assert not bad, bad


if __name__ == "__main__":
    labs.run(main)
