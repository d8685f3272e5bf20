#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""turnutils_uclient, an unmodified client: channels, indications, both families, many clients."""

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
    ("DONT-FRAGMENT", SERVER4, PEER4, ("-c", "-g"), 2, 100),
    ("extra requests", SERVER4, PEER4, ("-c", "-G"), 2, 100),
    ("padded ChannelData", SERVER4, PEER4, ("-c", "-D"), 2, 100),
    ("client to client (hairpin)", SERVER4, PEER4, ("-c", "-y"), 4, 50),
    ("many clients", SERVER4, PEER4, ("-c",), 20, 40),
)
AT_ONCE = 4


def main(lab):
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
