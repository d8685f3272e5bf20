# SPDX-License-Identifier: BSD-3-Clause
"""The road of super-frames: bridges in the server's namespace, and TAPs plugged into them.

    loadgen: c0 (clients 10.77.1.2-) ── brc 10.77.1.1 ── s0 :slipring
             p0 (peers   10.77.2.2-) ── brp 10.77.2.1 ── s1

The generator's ports are vtaps, made again by every run, and so are slipring's. For a turnserver the
bridges are the interfaces of its host. A link passes super-frames whole, like a NIC that cuts them
for its host. With wire="cut" the link to the clients does not: the kernel cuts them there, on the
server's CPU. With ingress="plain" the peers send datagram by datagram.
"""

from roads.veths import RELAY, SERVER, Road, parse_counters

LEGS = (("c0", "s0", "brc", SERVER), ("p0", "s1", "brp", RELAY))
WIRES = {"whole": "uso", "cut": "csum"}  # offload that the clients' TAP is given
INGRESS = {"whole": "auto", "plain": "off"}  # --uso of the generator
MAC = "02:77:00:00:00:{:02x}"
SUPERS_BEGUN = 25


class TapRoad(Road):
    port_ends = ()
    begun = SUPERS_BEGUN
    wire = "whole"  # for runs started from now on

    def make(self):
        srv = self.srv
        srv.run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        # otherwise a TAP that is not plugged in yet answers for the bridge's address, with its own MAC
        srv.run("sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1")
        for table in ("iptables", "ip6tables", "arptables"):
            srv.run("sysctl", "-qw", f"net.bridge.bridge-nf-call-{table}=0", check=False)
        for number, (_, _, bridge, _) in enumerate(LEGS):
            mac = MAC.format(0x11 + number)
            srv.ip("link", "add", bridge, "address", mac, "txqueuelen", "10000", "type", "bridge",
                "mcast_snooping", "0", "stp_state", "0")  # fmt: skip
            srv.ip("link", "set", bridge, "up")

    def ports(self):
        offloads = (WIRES[self.wire], "uso")
        devices = [
            f"vtap:{tap},netns={self.srv.name},mac={MAC.format(0x21 + i)},offload={offloads[i]}"
            for i, (tap, _, _, _) in enumerate(LEGS)
        ]
        return ["--client-port", devices[0], "--peer-port", devices[1]]

    def plug(self, tap, bridge):
        """Plugs in a TAP; False while it does not exist."""
        self.srv.ip("link", "set", tap, "master", bridge, check=False)
        return f"master {bridge}" in self.srv.ip("link", "show", tap, check=False)

    def plugged(self):
        if not all(self.plug(tap, bridge) for tap, _, bridge, _ in LEGS):
            return False
        for tap, _, _, _ in LEGS:  # the server's host receives the generator's frames
            self.steer(self.srv, tap, self.server_cpu)
        return True

    def server_plugged(self):
        """Plugs in slipring's ports; its own CPU does the work of their frames anyway."""
        return all(self.plug(tap, bridge) for _, tap, bridge, _ in LEGS)

    def to_kernel(self):
        for _, _, bridge, address in LEGS:
            self.srv.ip("addr", "replace", address + "/24", "dev", bridge)

    def to_dpdk(self):
        for _, _, bridge, _ in LEGS:
            self.srv.ip("addr", "flush", "dev", bridge)

    def sent(self):
        with self.srv.enter(), open("/proc/thread-self/net/dev") as file:
            seen = parse_counters(file.read())
        return sum(seen.get(tap, (0, 0))[0] for tap, _, _, _ in LEGS)
