#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TCP and TLS clients: unmodified ones, and one that does everything wrong."""

import lab as labs
import streams
import uclient
from lab import PEER4, PEER6

# Label, server, peer, options, clients, messages.
RUNS = (
    ("TCP, channels", streams.V4, PEER4, ("-t", "-c"), 2, 100),
    ("TCP, RTP and RTCP pairs", streams.V4, PEER4, ("-t",), 2, 100),
    ("TCP, indications", streams.V4, PEER4, ("-t", "-c", "-s"), 2, 100),
    ("TCP over IPv6 to IPv6", streams.V6, PEER6, ("-t", "-c", "-x"), 2, 100),
    ("TCP, odd sizes", streams.V4, PEER4, ("-t", "-c", "-l", "77"), 2, 100),
)


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    lab.server(streams.config(lab))
    uclient.start_peer(lab)
    runs = [
        uclient.start(lab, label, server, peer, *options, clients=clients, messages=messages)
        for label, server, peer, options, clients, messages in RUNS
    ]
    bad = []
    for run in runs:
        run.finish(60 * labs.SLOW)
        verdict = "ok" if run.complete else "NOT COMPLETE"
        print(f"{run.label}: sent {run.sent}, received {run.received}: {verdict}", flush=True)
        if not run.complete:
            bad.append(run.label)
            print(run.output[-2000:])
    assert not bad, bad


if __name__ == "__main__":
    labs.run(main)
