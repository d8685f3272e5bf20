#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# alone: two that start programs beside polling lcores wait for the kernel, minutes for half a minute
# long: ways by which other lab tests go under ASan too
"""slipring-loadgen over every transport, on relay ports of the allocation's own and on shared ones, over
IPv4 and over IPv6, as the example files of conf/ set them up: every datagram counted, none lost.
"""

import lab as labs
import links
import loadgen
import shipped
from lab import SERVER4, SERVER6
from links import over

TRANSPORTS = (("udp", 3478), ("tcp", 3478), ("tls", 5349), ("dtls", 5349), ("tls", 443))
PACE = "--clients 4 --pps 2k --duration 0.25 --direction both --size 120,333".split()
# What the kernel behind the exception port says unasked, and answers to clients that have said goodbye
OWN = ("exception-foreign", "dtls-ended")


def options_of(transport, port, family):
    account = shipped.credentials()
    user = ("--user", account.user, "--password", account.password)
    if transport == "udp":
        return *loadgen.media(*PACE, family=family), *user
    server = SERVER4 if family == 4 else SERVER6
    return over(transport, port, *PACE, family=family, server=server, user=user)


def check_all(lab, gen, name):
    """Shared ports, and under ASan all, are tried over IPv4 and IPv6 by turns, unless all is asked for."""
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
