#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TCP between clients and peers (RFC 6062) with a packet port: the kernel has the interface and its
addresses, and TCP with clients and peers does not pass the server's port.

        cli 10.99.0.2 ── TCP, TLS ── d0 10.99.0.1, fd99::1 :dut ── TCP ── per 10.99.0.3
"""

import lab as labs
import streams
import test_tcp_relay as tcp


def main(lab):
    labs.need_own_server()
    server = lab.server(tcp.config(lab, lab.dut))
    tcp.dial(lab)
    tcp.accept(lab, server)
    tcp.refused(lab)
    tcp.own_services(lab, lab.dut)
    tcp.counted(lab, server)
    tcp.foreign(lab)
    seen = streams.counters(server)
    assert seen["garbage"] == 0, seen


if __name__ == "__main__":
    labs.run(main, port="packet")
