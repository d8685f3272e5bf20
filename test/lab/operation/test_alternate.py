#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients that are sent to another server (a coturn) without a drain: always, or above a number of
allocations or a rate of datagrams. Clients that are served here in spite of that, and the
transports over which an unmodified client follows."""

import os
import shutil

import alternate
import control
import dtls
import exporter as exporters
import lab as labs
import streams
import turnlib
import uclient
from exporter import Exporter
from lab import CLIENT6, PEER4, SERVER4, until
from rereads import reload
from turnlib import SUCCESS

OTHER = {"address": PEER4, "name": "turn2.example.org"}
# The listener that turnutils_uclient uses, and its options. It follows over all transports.
TRANSPORTS = (
    ("udp", SERVER4, ()),
    ("tcp", streams.V4, ("-t",)),
    ("tls", streams.V4, ("-t", "-S")),
    ("dtls", SERVER4, ("-S",)),
)


def state(server):
    return server.telemetry.ask("/slipring/alternate")


def always(lab, server, path):
    """Each transport gets its port of the other server, and TLS and DTLS its name. Without a
    password no client gets them. A client of a family without another server is served."""
    assert state(server) == {"servers": 1, "sends": 1, "sent": 0}, state(server)
    clients = {"udp": lab.client(), "tcp": streams.client(lab, "tcp"), "tls": streams.client(lab, "tls"),
               "dtls": dtls.client(lab)}  # fmt: skip
    for transport, client in clients.items():
        secure = transport in ("tls", "dtls")
        answer = client.allocate()
        assert answer.code == 300, (transport, answer)
        assert alternate.named(answer) == [(PEER4, 5349 if secure else 3478)], (transport, answer)
        name = answer.get(turnlib.ALTERNATE_DOMAIN)
        assert name == (b"turn2.example.org" if secure else None), (transport, name)
        client.close()
    wrong = lab.client(turnlib.Auth("ivan", "wrong")).allocate()
    assert wrong.code == 401 and alternate.named(wrong) == [], wrong
    six = lab.client(ip=CLIENT6)
    assert six.allocate().cls == SUCCESS and six.refresh(0).cls == SUCCESS
    server.published()
    # each retry counts again
    assert 4 <= server.refusals()["alternate-always"] <= 4 + clients["udp"].retransmissions
    out = control.ctl(path, "status")
    assert "1 servers, new clients are sent to them: always; 4 sent" in out, out
    explained = lambda: "Allocate answered 300: alternate-always" in control.ctl(path, "explain", "ivan")
    until(explained, 5, "slipringctl explain has it")


def followers(lab, server):
    """turnutils_uclient over each transport, after a 300 answer."""
    uclient.start_peer(lab)
    runs = [uclient.start(lab, t, where, PEER4, "-c", *options, messages=10)
            for t, where, options in TRANSPORTS]  # fmt: skip
    until(lambda: server.refusals()["alternate-always"] >= 4 + len(runs), 20, "all were sent away")
    return runs


def from_allocations(lab, server):
    line = reload(server, {"alternate": {"servers": [OTHER], "allocations": 2}})
    assert "1 change is in use" in line, line
    until(lambda: state(server)["sends"] == 0, 5, "no client is sent away")
    first, second, third = (lab.client() for _ in range(3))
    assert first.allocate().cls == second.allocate().cls == SUCCESS
    assert third.allocate().code == 300
    until(lambda: state(server)["sends"] == 1, 5, "it is told")
    assert first.refresh().cls == SUCCESS
    assert second.refresh(0).cls == SUCCESS
    assert third.allocate().cls == SUCCESS
    assert third.refresh(0).cls == SUCCESS
    assert 1 <= server.refusals()["alternate-allocations"] <= 1 + third.retransmissions
    return first


def from_datagrams(lab, server, client):
    when = {"allocations": 0, "datagrams-per-second": 100}
    line = reload(server, {"alternate": {"servers": [OTHER], **when}})
    assert "changes are in use" in line or "change is in use" in line, line
    echo = lab.echo()
    assert client.bind(0x4000, echo.address).cls == SUCCESS

    def busy():
        for _ in range(40):
            client.send_channel(0x4000, b"media")
            assert client.wait("channel", timeout=2)
        return state(server)["sends"] == 1

    until(busy, 10, "the rate is exceeded")
    assert state(server)["datagrams"] >= 100, state(server)
    denied = lab.client()
    assert denied.allocate().code == 300
    assert "alternate: relays " in server.log()
    until(lambda: state(server)["sends"] == 0, 10, "fewer are relayed")
    after = lab.client()
    assert after.allocate().cls == SUCCESS and after.refresh(0).cls == SUCCESS
    assert "new clients are served here again" in server.log()
    assert 1 <= server.refusals()["alternate-datagrams"] <= 1 + denied.retransmissions


def measured(lab, server):
    """The metrics of an exporter."""
    try:
        exporters.need()
    except labs.Skip as reason:
        return print("no exporter:", reason)
    exporters.keep(lab)
    assert exporters.share(server.prefix).returncode == 0
    seen = Exporter(lab, "--file-prefix", server.prefix).scrape()
    assert seen["slipring_alternate_servers", ""] == 1
    assert seen["slipring_alternate_active", ""] == 0
    assert seen["slipring_alternate_from_datagrams_per_second", ""] == 100
    sent = {labels: n for (name, labels), n in seen.items() if name == "slipring_refusals_total"}
    assert sent['error_code="300",reason="alternate-always"'] >= 4 + len(TRANSPORTS), sent


def mistakes(server):
    """Configurations that a reload refuses."""
    line = reload(server, {"alternate": {"servers": [SERVER4]}})
    assert "is an address of this server: name another server's" in server.log(), line
    line = reload(server, {"alternate": {"servers": [], "allocations": 5}})
    assert "there are no servers for these clients" in server.log(), line
    assert state(server)["servers"] == 1


def main(lab):
    labs.need_own_server()
    for program in ("turnserver", "turnutils_uclient", "turnutils_peer"):
        if not shutil.which(program):
            raise labs.Skip(f"{program} is not installed")
    streams.join(lab)
    config = streams.config(lab, ("tcp", "tls"))
    config["listeners"].append({"transport": "dtls", "address": SERVER4, "port": dtls.PORT})
    alternate.coturn(lab, *streams.certificate(lab, "turn2.example.org", "other"))
    path = os.path.join(lab.dir, "control.sock")
    server = lab.server({**config, "control": {"socket": path}, "alternate": {"servers": [OTHER]}})
    until(lambda: state(server).get("sends") == 1, 5, "workers have it")
    always(lab, server, path)
    runs = followers(lab, server)
    client = from_allocations(lab, server)
    from_datagrams(lab, server, client)
    measured(lab, server)
    mistakes(server)
    assert client.refresh(0).cls == SUCCESS
    assert uclient.finish(runs) == [], "all media went through the other server"


if __name__ == "__main__":
    labs.run(main)
