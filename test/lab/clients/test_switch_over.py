#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The migration from coturn to slipring on one machine and back, by the steps of doc/coturn.md:
slipring on another port, then on coturn's port, then coturn again. Calls of one server survive the
changes of the other.
"""

import lab as labs
import server as servers
from lab import SERVER4, until
from turnlib import SUCCESS, Client

BESIDE = {"listeners": [{"address": SERVER4, "port": 3479}]}
INSTEAD = {"listeners": [{"address": SERVER4}]}


def coturn(lab):
    """Debian's coturn on 3478, with the lower half of the relay ports."""
    process = lab.popen(
        lab.dut, "turnserver", "-n", "-m", "1", "--lt-cred-mech", "--user=ivan:pw", "--realm=lab.example",
        "--no-tls", "--no-dtls", "--no-cli", f"--listening-ip={SERVER4}", f"--relay-ip={SERVER4}",
        "--min-port=40000", "--max-port=49151", "--log-file=stdout", "--simple-log",
        f"--pidfile={lab.dir}/coturn.pid", f"--userdb={lab.dir}/coturn.db",
        stdout=open(f"{lab.dir}/coturn.log", "ab"),
    )  # fmt: skip
    with lab.client() as probe:
        until(lambda: servers.answers(probe), 15, "coturn answers")
    return process


def call(lab, port=3478):
    client = Client(lab.cli.udp(labs.CLIENT4, 0), (SERVER4, port), labs.ivan())
    lab.cleanup.callback(client.close)
    assert client.allocate().cls == SUCCESS
    client.relay(lab.echo())
    return client


def goes_on(client):
    client.send_channel(0x4000, b"still here")
    assert client.wait("channel") == ("channel", 0x4000, b"still here")


def main(lab):
    labs.need_own_server()
    lab.dut.run("sysctl", "-qw", "net.ipv4.ip_local_reserved_ports=49152-65535")
    theirs = coturn(lab)
    old = call(lab)
    assert 40000 <= old.relayed[1] < 49152

    ours = lab.server(BESIDE)
    new = call(lab, 3479)
    assert new.relayed[1] >= 49152
    for client in (old, call(lab), new):  # coturn's old and new client, and slipring's
        goes_on(client)
    ours.finish()
    goes_on(old)

    theirs.terminate()
    theirs.wait(20)
    ours = lab.server(INSTEAD)
    assert call(lab).relayed[1] >= 49152
    ours.finish()

    coturn(lab)
    assert 40000 <= call(lab).relayed[1] < 49152


if __name__ == "__main__":
    labs.run(main, port="packet")
