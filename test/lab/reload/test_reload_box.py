#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reload of settings other than policy: the log, records, certificates, DSCP, limits of
connections, the idle mode, and a gateway, while a client relays all the time."""

import contextlib
import json
import os
import re
import signal

import control
import lab as labs
import streams
from lab import until
from server import merge
from test_reload import relays, write
from turnlib import SUCCESS


def order(server, path, change, code=0):
    """slipringctl config reload of the file with these changes. Returns its output."""
    write(server, change)
    return control.ctl(path, "config", "reload", code=code)


def certificate_name(lab):
    """The name in the certificate that openssl s_client gets from the TLS listener."""
    said = lab.cli.run("openssl", "s_client", "-connect", f"{streams.V4}:5349", check=False, input="Q\n")
    return re.search(r"subject=CN ?= ?(\S+)", said)[1]


def log_and_records(lab, server, path, client):
    first, second = (os.path.join(lab.dir, f"{name}.json") for name in ("first", "second"))
    order(server, path, {"log": {"areas": {"sessions": "debug"}}, "records": {"file": first}})
    with lab.client() as newcomer:
        assert newcomer.allocate().cls == SUCCESS
        until(lambda: [line for line in labs.records(first) if line["event"] == "made"], 5, "it has a record")
        until(lambda: "allocation" in server.log().rsplit("reload", 1)[1], 5, "and a line")
        order(server, path, {"log": {"format": "json"}, "records": {"file": second}})
        assert newcomer.refresh(0).cls == SUCCESS
    until(lambda: [line for line in labs.records(second) if line["event"] == "ended"], 5, "it has a record")
    assert not [line for line in labs.records(first) if line["event"] == "ended"]
    assert json.loads(server.log().splitlines()[-1])["area"]
    assert json.loads(control.ctl(path, "records", "--json"))["file"] == second
    away = os.path.join(lab.dir, "away", "records.json")
    out = order(server, path, {"records": {"file": away}, "limits": {"per-user": 1}}, code=1)
    assert away in out and "no such directory" in out, out
    with lab.client() as newcomer:
        assert newcomer.allocate().cls == SUCCESS, "a refused file changes nothing"
    assert relays(client)


def certificates(lab, server, path, client):
    """Other files, and the old names with new contents. One unusable file refuses the reload."""
    assert certificate_name(lab) == "first"
    streams.certificate(lab, "second", "second")
    files = {"certificate": os.path.join(lab.dir, "second.pem"), "key": os.path.join(lab.dir, "second.key")}
    out = order(server, path, {"tls": files, "streams": {"per-source": 3}})
    assert "3 changes are in use" in out, out
    assert certificate_name(lab) == "second"
    streams.certificate(lab, "third", "second")
    out = order(server, path, {"tls": files, "streams": {"per-source": 3}})
    assert "the file matches the running configuration" in out, out
    assert certificate_name(lab) == "third", "the files were read again"
    with open(files["certificate"], "w") as file:
        file.write("no certificate")
    out = order(server, path, {"tls": files, "limits": {"per-user": 1}}, code=1)
    assert "tls.certificate" in out and "nothing has changed" in out, out
    assert certificate_name(lab) == "third"
    with lab.client() as newcomer:
        assert newcomer.allocate().cls == SUCCESS
    assert relays(client)


def by_signal(lab, server):
    """SIGUSR2 reads the files of the current configuration, also after a reload with other changes."""
    write(server, {"limits": {"per-user": 7}})
    server.process.send_signal(signal.SIGHUP)
    until(lambda: "reload by SIGHUP: 1 change is in use" in server.log(), 10, "the limit applies")
    streams.certificate(lab, "again")
    server.process.send_signal(signal.SIGUSR2)
    until(lambda: "SIGUSR2: " in server.log(), 10, "the files are read")
    assert certificate_name(lab) == "again", server.log()
    streams.certificate(lab, "first")
    out = order(server, os.path.join(lab.dir, "control.sock"), {})
    assert "1 change is in use" in out and certificate_name(lab) == "first", out


def connections(lab, server, path):
    """streams.per-source, for later connections."""
    clients = [streams.client(lab, "tcp") for _ in range(3)]
    assert [c.binding().cls for c in clients] == [SUCCESS] * 3
    out = order(server, path, {"streams": {"per-source": 2}, "workers": {"idle": "saving"}})
    assert "in use" in out
    with contextlib.suppress(ConnectionResetError):
        streams.connect(lab)
    streams.counted(server, "refused_source")
    assert clients[0].binding().cls == SUCCESS, "an existing connection stays"
    order(server, path, {})
    for c in clients:
        c.close()
    assert re.search(r"workers.idle: saving -> \S+", server.log())


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    streams.join(lab)
    config = streams.config(lab, ("tcp", "tls"))
    server = lab.server(merge(config, {"control": {"socket": path}}))
    echo = lab.echo()
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    by_signal(lab, server)
    certificates(lab, server, path, client)
    connections(lab, server, path)
    log_and_records(lab, server, path, client)
    assert relays(client)


if __name__ == "__main__":
    labs.run(main)
