#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipringctl block: addresses over every transport, users of every kind, ends, a restart, and what
somebody who forges a source address can do with it."""

import os
import time

import dtls
import keep
import lab as labs
import streams
import turnlib
from control import Control, ctl
from lab import CLIENT4, CLIENT6, PEER4, SERVER4, SERVER6, until
from media import relays, with_media
from turnlib import SUCCESS, Auth, Silence

OTHER = "10.99.0.78"  # of the client host
QUICK = (0.3, 0.3)  # seconds between transmissions to a server that does not answer
HOLDS = 2 + labs.SLOW  # seconds of a short block


def is_silent(lab, ip):
    with lab.client(ip=ip) as client:
        try:
            client.binding(waits=QUICK)
        except Silence:
            return True
        return False


def ended(server):
    return [row["why"] for row in labs.records(server.records_path) if row["event"] == "ended"]


def every_transport(lab, server, echo):
    """The allocations of an address end, connections close, and nothing more gets in. Others stay."""
    mine = [
        with_media(client, echo)
        for client in (
            lab.client(), streams.client(lab, "tcp"), streams.client(lab, "tls"), dtls.client(lab),
        )
    ]  # fmt: skip
    neighbour = with_media(lab.client(ip=OTHER), echo)
    idle = streams.connect(lab)
    out = ctl(server.control, "block", CLIENT4, "--why", "abuse")
    assert f"{CLIENT4} is blocked" in out, out
    until(lambda: server.stats()["allocations"] == 1, 5, "four allocations end")
    assert all(streams.is_closed(sock) for sock in (idle, mine[1].sock, mine[2].sock))
    assert not relays(mine[0]) and not relays(mine[3]) and relays(neighbour)
    until(lambda: ended(server).count("blocked") == 4, 5, "the records are written")
    assert is_silent(lab, CLIENT4) and not is_silent(lab, OTHER) and not is_silent(lab, CLIENT6)
    for transport in ("tcp", "tls"):
        try:
            assert streams.is_closed(streams.connect(lab, transport))
        except ConnectionError:
            pass
    assert streams.counters(server)["refused_blocked"] >= 3
    before = dtls.counters(server)["handshakes"]
    lab.cli.udp(CLIENT4).sendto(dtls.hello(), (SERVER4, dtls.PORT))
    until(lambda: server.drops()["client-blocked"] >= 4, 3, "the ClientHello is dropped")
    assert dtls.counters(server)["handshakes"] == before
    assert "unblocked" in ctl(server.control, "unblock", CLIENT4)
    until(lambda: not is_silent(lab, CLIENT4), 3, "the address is back")
    assert "was not blocked" in ctl(server.control, "unblock", CLIENT4)
    assert neighbour.refresh(0).cls == SUCCESS


def users(lab, server, echo):
    """Configured ones and those of REST credentials: 403, and only for those with the password."""
    olga = with_media(lab.client(Auth("olga", "geheim")), echo)
    rest = [Auth(*turnlib.rest_credentials("s3cret", time.time() + n, "mallory")) for n in (600, 700)]
    mallory = with_media(lab.client(rest[0]), echo)
    ivan = with_media(lab.client(), echo)
    for name in ("olga", "mallory"):
        ctl(server.control, "block", "--user", name, "--for", "1h")
    until(lambda: server.stats()["allocations"] == 1, 5, "two allocations end")
    for auth in (Auth("olga", "geheim"), *rest):
        with lab.client(auth) as client:
            assert client.allocate().code == 403
    with lab.client(Auth("olga", "wrong")) as client:
        assert client.allocate().code == 401
    assert relays(ivan) and ivan.refresh().cls == SUCCESS
    assert server.refusals()["user-blocked"] == 3
    for client in (olga, mallory, ivan):
        client.close()


def listed(server):
    out = ctl(server.control, "blocked")
    assert "olga of turn.test" in out and "2001:db8::/64" in out, out
    with Control(server.control) as ask:
        rows = {row.get("address", row.get("user")): row for row in ask.ask("blocked")["rows"]}
    assert set(rows) == {"olga", "mallory", "2001:db8::/64"}, rows
    assert rows["2001:db8::/64"] | {"until": None, "left": None, "why": "a net"} == rows["2001:db8::/64"]
    assert server.telemetry.ask("/slipring/blocked") == {"addresses": 1, "users": 2}
    assert 3500 < rows["olga"]["left"] <= 3600 and rows["olga"]["realm"] == "turn.test"


def refused(server):
    for args, message in (
        ((SERVER4,), "own"),
        (("10.99.0.0/24",), "own"),
        (("0.0.0.0/0",), "own"),
        ((SERVER6,), "own"),
        (("10.0.0.1/8",), "must be an address"),
        (("ivan",), "must be an address"),
        (("192.0.2.1", "--why", 81 * "x"), "why"),
        (("--user", "ivan", "--realm", "no.test"), "realm"),
    ):
        out = ctl(server.control, "block", *args, code=1)
        assert message in out, out
    for args in ((), ("192.0.2.1", "--user", "ivan"), ("192.0.2.1", "--for", "0"), ("192.0.2.1", "--for", "x")):
        ctl(server.control, "block", *args, code=2)


def in_time(lab, server):
    """A block ends by itself, to the second, and an order for the same address renews it."""
    ctl(server.control, "block", OTHER, "--for", "1h")
    begin = time.time()
    ctl(server.control, "block", OTHER, "--for", f"{HOLDS}s")
    until(lambda: is_silent(lab, OTHER), 3, "it is blocked")
    until(lambda: not is_silent(lab, OTHER), HOLDS + 5, "it is back")
    assert time.time() >= begin + HOLDS - 1, time.time() - begin
    ctl(server.control, "block", OTHER, "--for=-1s")  # fail2ban's ban without an end
    with Control(server.control) as ask:
        assert next(r for r in ask.ask("blocked")["rows"] if r.get("address") == OTHER)["until"] is None


def over_a_restart(lab, server):
    """The file keeps blocks, without those that have ended; damaged lines are told and skipped."""
    path = server.area + ".blocks"
    until(lambda: OTHER in open(path).read(), 5, "the file is written")
    assert os.stat(path).st_mode & 0o777 == 0o600
    keep.stop(server)
    with open(path, "a") as file:
        file.write(f"address\t192.0.2.66\t\t{int(time.time()) - 1}\told\nnonsense\n")
    server.start()
    assert ".blocks:" in server.log() and "skipped" in server.log(), server.log()
    assert is_silent(lab, OTHER) and not is_silent(lab, CLIENT4)
    with lab.client(Auth("olga", "geheim")) as client:
        assert client.allocate().code == 403
    with Control(server.control) as ask:
        rows = ask.ask("blocked")["rows"]
    assert len(rows) == 4 and not any(row.get("address") == "192.0.2.66" for row in rows), rows


def many(lab, server):
    """The list has an end, and a full one shuts nobody else out."""
    with Control(server.control) as ask:
        for number in range(70000):
            fields = {"address": f"20.{number >> 16}.{number >> 8 & 255}.{number & 255}", "for": 600}
            if "blocked: unblock some" in str(answer := ask.answer("block", **fields)):
                break
        assert number == 65536 - 4, (number, answer)
        assert ask.ask("blocked", page=128, rows=512)["rows"] == []
        assert ask.ask("blocked")["blocked"] == 65536
        ask.ask("unblock", address="20.0.0.0")
        ask.ask("block", address="192.0.2.7")
    assert is_silent(lab, OTHER) and not is_silent(lab, CLIENT4)


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    lab.add_address(lab.cli, "c0", OTHER)
    config = streams.config(lab, ("tcp", "tls"))
    config["listeners"] += [{"transport": "dtls", "address": SERVER4, "port": dtls.PORT}]
    server = keep.start(lab, config, allow={"client-blocked"})
    echo = lab.echo(PEER4)
    refused(server)
    every_transport(lab, server, echo)
    users(lab, server, echo)
    ctl(server.control, "block", "2001:db8::1", "--why", "a net")
    listed(server)
    in_time(lab, server)
    over_a_restart(lab, server)
    if labs.SLOW == 1:
        many(lab, server)


if __name__ == "__main__":
    labs.run(main)
