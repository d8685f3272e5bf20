#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Dual allocations (RFC 8656 7.2 (9), 8.1): peers of both families on one 5-tuple, over UDP and TCP.

One family is deleted and the other continues. An operator's kill and the end of a connection apply
to both. A server with one family gives one address and the reason. A reload applies
relay.default-family.
"""

import os
import re

from constants import document
import lab as labs
import streams
from control import Control, ctl
from lab import CLIENT4, CLIENT6, PEER4, PEER6, SERVER4, SERVER6
from server import merge
from turnlib import (
    ADDITIONAL_ADDRESS_FAMILY,
    ADDRESS_ERROR_CODE,
    EVEN_PORT,
    IPV4,
    IPV6,
    REQUESTED_ADDRESS_FAMILY,
    RESERVATION_TOKEN,
    SUCCESS,
    XOR_RELAYED_ADDRESS,
    new_tid,
)

BOTH = (ADDITIONAL_ADDRESS_FAMILY, bytes([IPV6, 0, 0, 0]))


def only(family):
    return (REQUESTED_ADDRESS_FAMILY, bytes([family, 0, 0, 0]))


def allocate(client):
    """Both relayed transport addresses, IPv4 and IPv6. A repeated request gets the same ones."""
    tid = new_tid()
    for _ in range(2):
        answer = client.allocate([BOTH], tid=tid)
        assert answer.cls == SUCCESS, answer
        v4, v6 = answer.addresses(XOR_RELAYED_ADDRESS)
        assert v4[0] == SERVER4 and v6[0] == SERVER6, (v4, v6)
        assert not answer.has(ADDRESS_ERROR_CODE)
    return v4, v6


def exchange(client, echo, number=None):
    """Twenty datagrams in both directions, in order, on a channel or as indications."""
    for i in range(20):
        payload = b"%d" % i
        if number is None:
            client.send(echo.address, payload)
            assert client.wait("data") == ("data", echo.address, payload)
        else:
            client.send_channel(number, payload)
            assert client.wait("channel") == ("channel", number, payload)


def relays(lab, client):
    relay = dict(zip((PEER4, PEER6), allocate(client)))
    echoes = [lab.echo(PEER4), lab.echo(PEER6)]
    assert client.permit(*(e.address for e in echoes)).cls == SUCCESS
    for echo in echoes:
        exchange(client, echo)
    for number, echo in enumerate(echoes, 0x4001):
        assert client.bind(number, echo.address).cls == SUCCESS
    assert client.bind(0x4001, echoes[1].address).code == 400
    for _ in range(3):
        for number, echo in enumerate(echoes, 0x4001):
            exchange(client, echo, number)
    for echo in echoes:
        assert {source for source, _ in echo.seen} == {relay[echo.address[0]]}, echo.seen[:3]
    return echoes


def halves(lab, client_ip, family):
    """The deleted family is gone with its peers. The other one continues until it is deleted, too."""
    client = lab.client(ip=client_ip)
    echoes = relays(lab, client)
    left = echoes[1 if family == IPV4 else 0]
    gone = echoes[0 if family == IPV4 else 1]
    left_family = IPV6 if family == IPV4 else IPV4
    assert client.refresh(0, [only(family)]).lifetime == 0
    for lifetime in (0, 600):
        assert client.refresh(lifetime, [only(family)]).code == 443
    assert client.permit(gone.address).code == 443
    exchange(client, left, 0x4002 if family == IPV4 else 0x4001)
    assert client.refresh(700, [only(left_family)]).lifetime == 700
    assert client.refresh().cls == SUCCESS
    assert client.refresh(0).lifetime == 0
    assert client.refresh().code == 437


def refused(lab):
    for beside in ((EVEN_PORT, b"\x80"), (RESERVATION_TOKEN, bytes(8)), only(IPV4), only(IPV6)):
        assert lab.client().allocate([BOTH, beside]).code == 400, beside
    for value in (b"\1\0\0\0", b"\3\0\0\0", b"\2", b""):
        assert lab.client().allocate([(ADDITIONAL_ADDRESS_FAMILY, value)]).code == 400, value
    even = lab.client()
    answer = even.allocate([BOTH, (EVEN_PORT, b"\0")])
    assert all(port % 2 == 0 for _, port in answer.addresses(XOR_RELAYED_ADDRESS)), answer
    assert even.refresh(0).cls == SUCCESS


def killed(lab, path):
    client = lab.client()
    allocate(client)
    with Control(path) as control:
        rows = control.all("allocations")
        assert len(rows) == 2 and {r["client"] for r in rows} == {rows[0]["client"]}, rows
        assert [r["sibling"] for r in rows] == [rows[1]["id"], rows[0]["id"]], rows
        shown = ctl(path, "show", rows[0]["id"])
        assert re.search(rf"dual with +{rows[1]['id']}", shown), shown
        ctl(path, "kill", rows[1]["id"])
        assert control.all("allocations") == []
    assert client.refresh().code == 437


def connection(lab, path):
    """Over TCP both relay, too, and end with the connection."""
    client = streams.client(lab, "tcp", CLIENT4, None)
    relays(lab, client)
    with Control(path) as control:
        assert len(control.all("allocations")) == 2
        client.sock.close()
        labs.until(lambda: not control.all("allocations"), 10, "both end with the connection")


def given(lab, client_ip):
    """The family for a client that requests none."""
    client = lab.client(ip=client_ip)
    assert client.allocate().cls == SUCCESS
    assert client.refresh(0).cls == SUCCESS
    return IPV6 if ":" in client.relayed[0] else IPV4


def defaults(lab, server, path):
    assert [given(lab, ip) for ip in (CLIENT4, CLIENT6)] == [IPV4, IPV4]
    for value, want in (("client", [IPV4, IPV6]), ("ipv6", [IPV6, IPV6])):
        text = document(merge(server.config, {"relay": {"default-family": value}}))
        with open(os.open(server.path + ".new", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(lab.device(text))
        os.rename(server.path + ".new", server.path)
        ctl(path, "config", "reload")
        assert [given(lab, ip) for ip in (CLIENT4, CLIENT6)] == want, value


def one_family(lab):
    """A server with one family gives a client that family, and 440 for the other."""
    for relay, missing in ((SERVER4, IPV6), (SERVER6, IPV4)):
        server = lab.server({"relay": {"addresses": [relay]}})
        client = lab.client()
        answer = client.allocate([BOTH])
        assert answer.cls == SUCCESS and answer.addresses(XOR_RELAYED_ADDRESS) == [client.relayed]
        assert client.relayed[0] == relay
        assert answer.get(ADDRESS_ERROR_CODE)[:4] == bytes([missing, 0, 4, 40]), answer
        ask = server.telemetry.ask
        labs.until(lambda: ask("/slipring/stats")["half_family"] == 1, 10, "half an answer is counted")
        server.stop()


def main(lab):
    streams.join(lab)
    path = os.path.join(lab.dir, "control.sock")
    server = lab.server({**streams.config(lab), "control": {"socket": path}})
    for client_ip, family in ((CLIENT4, IPV4), (CLIENT6, IPV6)):
        halves(lab, client_ip, family)
    refused(lab)
    killed(lab, path)
    connection(lab, path)
    defaults(lab, server, path)
    server.stop()
    one_family(lab)


if __name__ == "__main__":
    labs.run(main)
