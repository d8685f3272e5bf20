#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: two tests that start programs while lcores poll wait minutes instead of half a minute for the kernel
# long: transports that other lab tests use under ASan, too
"""slipring-loadgen over every transport, with exclusive and with shared relay ports, over IPv4 and
IPv6, on servers with the example files of conf/: every datagram is counted and none is lost.
"""

import lab as labs
import links
import loadgen
import shipped
from lab import SERVER4, SERVER6
from links import over

TRANSPORTS = (("udp", 3478), ("tcp", 3478), ("tls", 5349), ("dtls", 5349), ("tls", 443))
PACE = "--clients 4 --pps 2k --duration 0.25 --direction both --size 120,333".split()
# Drops of unsolicited traffic of the kernel behind the exception port, and of its answers to
# clients that have closed.
OWN = ("exception-foreign", "dtls-ended")


def options_of(transport, port, family):
    account = shipped.credentials()
    user = ("--user", account.user, "--password", account.password)
    if transport == "udp":
        return *loadgen.media(*PACE, family=family), *user
    server = SERVER4 if family == 4 else SERVER6
    return over(transport, port, *PACE, family=family, server=server, user=user)


def check_all(lab, gen, name):
    """Without LAB_LONG, shared ports, and under ASan all, alternate between IPv4 and IPv6."""
    server = lab.server(text=shipped.text(lab, name), allow=OWN)
    for number, (transport, port) in enumerate(TRANSPORTS):
        both = labs.LONG or (name == "transports.yaml" and labs.SLOW == 1)
        for family in (4, 6) if both else ((4, 6)[number % 2],):
            result = gen.run(*options_of(transport, port, family))
            loadgen.check_clean(result, "up", "down")
            loadgen.check_sums(result)
            if transport != "udp":
                links.check_links(result, transport, result["clients"])
            print(f"ok     {name}: {transport} to port {port} over IPv{family}", flush=True)
    loadgen.check_released(lab, server)
    server.finish()


def main(lab):
    gen = loadgen.Generator(lab)
    links.join(lab, gen)
    for name in ("transports.yaml", "shared.yaml"):
        check_all(lab, gen, name)


if __name__ == "__main__":
    labs.run(main)
