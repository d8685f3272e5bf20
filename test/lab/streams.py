# SPDX-License-Identifier: BSD-3-Clause
"""TCP and TLS for the lab: where the server's kernel is on the wire, and a TURN client over both.

The server's own namespace gets an interface k0 on the segment, 10.99.0.5 and fd99::5, beside the
port that it serves UDP and relays from.
"""

import contextlib
import socket
import ssl
import struct

import lab as labs
import turnlib
from lab import CLIENT4, CLIENT6
from turnlib import HEADER_LEN, StunError

V4, V6 = "10.99.0.5", "fd99::5"
TCP, TLS, AUTO = 3478, 5349, 443


def join(lab):
    """Puts the server's kernel on the segment."""
    lab.attach(lab.dut, "k0", 5)
    lab.dut.run("sysctl", "-qw", "net.ipv6.conf.k0.accept_dad=0")
    for address in (V4, V6):
        lab.add_address(lab.dut, "k0", address)
    lab.dut.ip("link", "set", "k0", "up")


def config(lab, **limits):
    """Changes to the lab's configuration."""
    listeners = [
        {"transport": transport, "address": address, "port": port}
        for address in (V4, V6)
        for transport, port in (("tcp", TCP),)
    ]
    udp = [
        {"transport": "udp", "address": address, "port": 3478}
        for address in (labs.SERVER4, labs.SERVER6)
    ]
    return {"listeners": udp + listeners, "streams": limits}
