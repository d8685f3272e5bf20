#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A host whose kernel has addresses of the server and announces them: the log has address and MAC
once a minute, and the server continues.
"""

import itertools
import time

import lab as labs
from lab import MAC, SERVER4, SERVER6, until
from turnlib import SUCCESS

# Further addresses of the server. One worker handles claims in order: a line about a later claim
# proves that it has handled the earlier one.
MORE = ("10.99.0.31/24", "10.99.0.32/24", "fd99::31/64", "fd99::32/64")
MINUTE = 60  # seconds without a second line about an address


class Twin:
    """A kernel that has addresses of the server for a moment. A change of its MAC announces them by
    gratuitous ARP and unsolicited neighbour advertisements.
    """

    def __init__(self, lab, server):
        self.ns = lab.host(lab.cleanup, "twin", "t0", 66, ())
        self.server = server
        self.ns.run("sysctl", "-qw", "net.ipv4.conf.t0.arp_notify=1", "net.ipv6.conf.t0.ndisc_notify=1")
        self.numbers = itertools.count(67)

    def claim(self, address):
        """Its kernel gets the address and announces it. Returns its new MAC."""
        mac = MAC.format(next(self.numbers))
        before = self.heard()
        labs.Lab.add_address(self.ns, "t0", address)
        until(lambda: "tentative" not in self.ns.ip("addr", "show", "t0"), 5, "it has the address")
        self.ns.ip("link", "set", "t0", "address", mac)
        until(lambda: self.heard() > before, 5, f"the claim of {address} is heard")
        self.ns.ip("addr", "del", address + ("/64" if ":" in address else "/24"), "dev", "t0")
        return mac

    def heard(self):
        return self.server.drops().get("martian-source", 0)


def told(server, address):
    """The log lines about a conflict over an address."""
    lines = server.log().splitlines()
    return [line for line in lines if f"has our address {address}," in line]


def main(lab):
    labs.need_own_server()
    # One queue, so one worker receives all claims in their order.
    server = lab.server(queues=1, more=MORE, allow=("martian-source",))
    twin = Twin(lab, server)
    others = iter([a.split("/")[0] for a in MORE])
    for address in (SERVER4, SERVER6):
        begin = time.monotonic()
        mac = twin.claim(address)
        until(lambda a=address: told(server, a), 5, f"the log has the claim of {address}")
        for _ in range(3):
            twin.claim(address)
        claimed = next(others)
        twin.claim(claimed)
        until(lambda a=claimed: told(server, a), 5, f"the log has the claim of {claimed}")
        lines = told(server, address)
        assert f" port wan: another host, {mac}, has" in lines[0], lines
        assert "warn" in lines[0], lines
        # If the machine had no CPU time for a minute, this proves nothing.
        assert len(lines) == 1 or time.monotonic() - begin >= MINUTE, lines
    client = lab.client()
    assert client.allocate().cls == SUCCESS, "it serves"
    print("\n".join(line for line in server.log().splitlines() if "another host" in line))


if __name__ == "__main__":
    labs.run(main)
