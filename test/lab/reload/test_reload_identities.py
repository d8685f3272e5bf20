#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Certificates and ALPN of one listener and of all listeners, over TLS and DTLS. Changes lose no
media, and an unusable file refuses the whole reload."""

import os
import re
import shutil
import signal
import ssl
import threading
import time

import control
import dtls
import lab as labs
import streams
from lab import CLIENT4, PEER4, SERVER4, until
from test_reload_box import order
from turnlib import SUCCESS

OWN_DTLS = 5350
# Arguments of openssl s_client for each listener: with the common settings, and with its own.
ALL = ((f"{streams.V4}:5349",), (f"{SERVER4}:{dtls.PORT}", "-dtls"))
OWN = ((f"{streams.V4}:443",), (f"{SERVER4}:{OWN_DTLS}", "-dtls"))


class Media(threading.Thread):
    """A client that relays to its peer and back all the time, one datagram after the other."""

    def __init__(self, client, echo):
        super().__init__(daemon=True)
        self.client, self.over, self.sent, self.came = client, threading.Event(), 0, 0
        assert client.allocate().cls == SUCCESS
        assert client.bind(0x4000, echo.address).cls == SUCCESS
        self.start()

    def run(self):
        while not self.over.is_set():
            self.sent += 1
            self.client.send_channel(0x4000, b"%d" % self.sent)
            self.came += self.client.wait("channel", timeout=5 * labs.SLOW)[2] == b"%d" % self.sent

    def goes_on(self):
        """Waits until it has relayed more datagrams."""
        before = self.came
        until(lambda: self.came > before + 2, 10, "media goes on")

    def end(self):
        self.over.set()
        self.join()
        assert self.came == self.sent > 10, f"{self.sent - self.came} of {self.sent} lost"
        self.client.close()


def s_client(lab, listener, *options):
    return lab.cli.run(
        *("openssl", "s_client", "-connect", *listener, *options), check=False, input="Q\n"
    )


def name(lab, listener):
    return re.search(r"subject=CN ?= ?(\S+)", s_client(lab, listener))[1]


def takes(lab, listener, offer, chosen):
    """The listener's choice for an ALPN offer, or None if it refuses."""
    out = s_client(lab, listener, "-alpn", offer)
    if chosen is None:
        assert "Cipher is (NONE)" in out, out
    elif chosen == "":
        assert "No ALPN negotiated" in out and "Cipher is (NONE)" not in out, out
    else:
        assert f"ALPN protocol: {chosen}\n" in out, out


def files(lab, file):
    return {kind: os.path.join(lab.dir, f"{file}.{end}") for kind, end in
            (("certificate", "pem"), ("key", "key"))}  # fmt: skip


def listeners(tls, over_dtls):
    """Four TLS and DTLS listeners, and UDP. Two have these settings instead of the common ones."""
    return [
        {"transport": "udp", "address": SERVER4},
        {"transport": "tls", "address": streams.V4, "port": 5349},
        {"transport": "auto", "address": streams.V4, "port": 443, "tls": tls},
        {"transport": "dtls", "address": SERVER4, "port": dtls.PORT},
        {"transport": "dtls", "address": SERVER4, "port": OWN_DTLS, "tls": over_dtls},
    ]


def tickets(lab):
    """Tickets are valid at their own listener only."""
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        tls = streams.context(minimum_version=version, maximum_version=version)
        for transport, again in (("tls", True), ("auto", False)):
            first = streams.over_tls(streams.connect(lab, "tls"), tls)
            assert streams.Client(first).binding().cls == SUCCESS
            second = tls.wrap_socket(streams.connect(lab, transport), session=first.session)
            assert second.session_reused == again, (version, transport)
            assert streams.Client(second).binding().cls == SUCCESS
    for port, again in ((dtls.PORT, True), (OWN_DTLS, False)):
        first = dtls.client(lab)
        assert first.binding().cls == SUCCESS
        ticket = first.session.ticket()
        first.close()
        second = dtls.client(lab, CLIENT4, port, resume=ticket)
        assert second.session.resumed() == again, port
        assert second.binding().cls == SUCCESS
        second.close()


def of_one_and_of_all(lab):
    for listener in ALL:
        assert name(lab, listener) == "first"
        takes(lab, listener, "my.turn,stun.turn", "stun.turn")
        takes(lab, listener, "my.turn", None)
    for listener in OWN:
        assert name(lab, listener) == "other"
    takes(lab, OWN[0], "stun.turn,my.turn", "my.turn")
    takes(lab, OWN[0], "stun.turn", None)
    takes(lab, OWN[1], "stun.turn,my.turn", "")


def changed(lab, server, path, media):
    """Other files, other names, and no separate settings any more."""
    streams.certificate(lab, "third", "third")
    change = listeners({**files(lab, "third"), "alpn": ["stun.turn", "my.turn"]}, {"alpn": ["h2"]})
    out = order(server, path, {"listeners": change, "tls": {"alpn": []}})
    assert "0 allocations ended" in out, out
    assert f"listeners[auto {streams.V4} 443].tls.alpn: (none) -> stun.turn" in server.log()
    for one in media:
        one.goes_on()
    assert [name(lab, end) for end in (*ALL, *OWN)] == ["first", "first", "third", "first"]
    takes(lab, OWN[0], "my.turn,stun.turn", "stun.turn")
    takes(lab, OWN[1], "stun.turn", None)
    takes(lab, OWN[1], "h2", "h2")
    for listener in ALL:
        takes(lab, listener, "http/1.1", "")
    return change


def renewed(lab, server):
    """SIGUSR2 reads the files of a single listener again, too."""
    cert, key = streams.certificate(lab, "fourth", "fourth")
    for kind, made in (("pem", cert), ("key", key)):
        shutil.move(made, os.path.join(lab.dir, f"third.{kind}"))
    server.process.send_signal(signal.SIGUSR2)
    until(lambda: name(lab, OWN[0]) == "fourth", 5, "it is used")
    assert name(lab, ALL[0]) == "first"
    expired(lab, server)


def expired(lab, server):
    """status and telemetry report an expired certificate in use until another one is read."""
    identity = files(lab, "third")
    box = control.Control(os.path.join(lab.dir, "control.sock"))
    wrong = lambda: [w for w in box.ask("status")["warnings"] if "certificate" in w]
    told = lambda: {row["certificate"]: row for row in server.telemetry.ask("/slipring/certificates")}
    days = (told()[identity["certificate"]]["not_after"] - time.time()) / 86400
    assert 1.9 < days < 2.1 and len(told()) == 2 and not wrong(), (days, told(), wrong())
    good = f"{identity['certificate']}.good"
    shutil.copy(identity["certificate"], good)
    labs.command(*("openssl", "x509", "-in", good, "-signkey", identity["key"], "-days", "0"),
        *("-out", identity["certificate"]))  # fmt: skip
    assert not wrong(), "not in use yet"
    server.process.send_signal(signal.SIGUSR2)
    until(wrong, 5, "it is used")
    assert f"certificate in use: {identity['certificate']}: expired on " in wrong()[0], wrong()
    assert told()[identity["certificate"]]["renew"] <= time.time() + 1
    shutil.move(good, identity["certificate"])
    server.process.send_signal(signal.SIGUSR2)
    until(lambda: not wrong(), 5, "it is renewed")


def refused(lab, server, path, running):
    """An unusable file, or an invalid entry: nothing changes, not even valid parts."""
    away = {**files(lab, "third"), "certificate": os.path.join(lab.dir, "away.pem")}
    change = {"limits": {"per-user": 1}, "tls": {"alpn": []}, "listeners": listeners(away, away)}
    out = order(server, path, change, code=1)
    assert f"listeners[2].tls.certificate: {lab.dir}/away.pem: No such file" in out, out
    mixed = {**files(lab, "third"), "key": os.path.join(lab.dir, "cert.key")}
    change["listeners"] = listeners(running[2]["tls"], mixed)
    out = order(server, path, change, code=1)
    assert "listeners[4].tls.key: " in out and "nothing has changed" in out, out
    change["listeners"] = listeners({"key": mixed["key"]}, {})
    assert "listeners[2].tls.key: the key has no certificate here" in order(server, path, change, code=1)
    told = server.telemetry.ask("/slipring/reloads")
    assert (told["refused"], told["last_refused"]) == (3, 1) and told["ended"] > 3, told
    assert abs(told["at"] - time.time()) < 60 * labs.SLOW, told
    (warning,) = (w for w in control.Control(path).ask("status")["warnings"] if "reload" in w)
    assert "the last reload was refused: " in warning and "the key has no certificate here" in warning
    assert [name(lab, end) for end in (*ALL, *OWN)] == ["first", "first", "fourth", "first"]
    clients = [dtls.client(lab) for _ in range(2)]
    assert [client.allocate().cls for client in clients] == [SUCCESS] * 2, "no limit of a refused file"
    for client in clients:
        client.close()


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    streams.certificate(lab, "first")
    streams.certificate(lab, "other", "other")
    path = os.path.join(lab.dir, "control.sock")
    overrides = listeners({**files(lab, "other"), "alpn": ["my.turn"]}, {**files(lab, "other"), "alpn": []})
    config = {"listeners": overrides, "tls": files(lab, "cert"), "control": {"socket": path}}
    server = lab.server(config, allow=["no-allocation"])
    of_one_and_of_all(lab)
    tickets(lab)
    echo = lab.echo(PEER4)
    clients = [lab.client(), streams.client(lab, "tls"), streams.client(lab, "auto", tls=streams.context())]
    clients += [dtls.client(lab, CLIENT4, port) for port in (dtls.PORT, OWN_DTLS)]
    media = [Media(client, echo) for client in clients]
    running = changed(lab, server, path, media)
    renewed(lab, server)
    refused(lab, server, path, running)
    for one in media:
        one.goes_on()
        one.end()
    assert "TLS files read again" in server.log()


if __name__ == "__main__":
    labs.run(main)
