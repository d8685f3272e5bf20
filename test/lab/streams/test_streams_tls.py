#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TLS: versions, ALPN, tickets, certificates that change, handshakes that go wrong."""

import os
import re
import shutil
import signal
import ssl

import lab as labs
import streams
from control import Control
from lab import CLIENT4, CLIENT6, PEER4, SERVER4, until
from turnlib import BINDING, REQUEST, SUCCESS, build

HANDSHAKE = 1
ABANDONED = 50


def s_client(lab, *options, text=b""):
    """The output of openssl s_client with these options."""
    return lab.cli.run(
        "openssl", "s_client", "-connect", f"{streams.V4}:5349", *options, check=False, input="Q\n"
    )


def alpn(lab):
    """RFC 7443: both protocols, the server's choice; RFC 7301 3.2: an alert for any other."""
    for offered, chosen in (
        ("stun.turn", "stun.turn"),
        ("stun.nat-discovery", "stun.nat-discovery"),
        ("http/1.1,stun.nat-discovery,stun.turn", "stun.turn"),
    ):
        out = s_client(lab, "-alpn", offered)
        assert f"ALPN protocol: {chosen}\n" in out, out
    assert "No ALPN negotiated" in s_client(lab)
    refused = s_client(lab, "-alpn", "h2,http/1.1")
    assert "Cipher is (NONE)" in refused, refused
    try:
        tls = streams.context()
        tls.set_alpn_protocols(["h2"])
        streams.over_tls(streams.connect(lab, "tls"), tls)
        raise AssertionError("h2 was accepted")
    except ssl.SSLError as error:
        assert "no application protocol" in str(error).lower().replace("_", " "), error


def versions(lab):
    """TLS 1.2 with ECDHE and AEADs, 1.3, and nothing lower; neither compression nor renegotiation."""
    for version in ("1_2", "1_3"):
        out = s_client(lab, f"-tls{version}")
        assert re.search(rf"New, TLSv{version.replace('_', '.')}, Cipher is [A-Z]", out), out
        assert "Compression: NONE" in out, out
    for suites in ("kRSA", "ECDHE-ECDSA-AES128-SHA256"):  # static RSA; CBC
        out = s_client(lab, "-tls1_2", "-cipher", suites)
        assert "Cipher is (NONE)" in out, out
    out = s_client(lab, "-groups", "P-521")
    assert "Cipher is (NONE)" in out, out
    old = s_client(lab, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0")
    assert "Cipher is (NONE)" in old, old
    streams.no_renegotiation(lab, f"{streams.V4}:5349", "-tls1_2")


def ciphers(lab, path):
    """slipringctl show has the connection properties of the client's own library."""
    with Control(path) as ask:
        for version, transport in (
            (ssl.TLSVersion.TLSv1_2, "tls"), (ssl.TLSVersion.TLSv1_3, "tls"),
            (ssl.TLSVersion.TLSv1_3, "auto"), (None, "auto"),
        ):  # fmt: skip
            tls = version and streams.context(minimum_version=version, maximum_version=version)
            with streams.client(lab, transport, tls=tls) as client:
                assert client.allocate().cls == SUCCESS
                (row,) = ask.ask("allocations")["rows"]
                found = ask.ask("show", id=row["id"])["allocation"].get("cipher")
                assert found == (client.sock.cipher()[0] if tls else None), (found, version)
            until(lambda: not ask.ask("allocations")["rows"], 3, "it has ended")


def resumption(lab):
    """Clients keep tickets, which allow a short handshake."""
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        tls = streams.context(minimum_version=version, maximum_version=version)
        first = streams.over_tls(streams.connect(lab, "tls"), tls)
        client = streams.Client(first)
        assert client.binding().cls == SUCCESS  # the ticket of TLS 1.3 comes with the answer
        second = tls.wrap_socket(streams.connect(lab, "tls"), session=first.session)
        assert second.session_reused and not first.session_reused
        assert streams.Client(second).binding().cls == SUCCESS


def certificate_name(lab):
    return re.search(r"subject=CN ?= ?(\S+)", s_client(lab))[1]


def reload(lab, server):
    """SIGUSR2, like with coturn, and SIGHUP: new connections get the new certificate, open ones
    continue.
    """
    echo = lab.echo(PEER4)
    client = streams.client(lab, "tls")
    assert client.allocate().cls == SUCCESS
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    assert certificate_name(lab) == "first"
    cert, key = streams.certificate(lab, "second", "new")
    shutil.move(cert, os.path.join(lab.dir, "cert.pem"))
    shutil.move(key, os.path.join(lab.dir, "cert.key"))
    assert certificate_name(lab) == "first", "not before the signal"
    server.process.send_signal(signal.SIGUSR2)
    until(lambda: certificate_name(lab) == "second", 5, "the new certificate is used")
    assert "the file matches the running configuration" not in server.log(), "the configuration is not read"
    for text in ("no certificate", None, "key of another"):
        spoil(lab, text)
        for sig in (signal.SIGUSR2, signal.SIGHUP):
            told = f"error streams: {sig.name}: the certificate remains unchanged"
            before = server.log().count(told)
            server.process.send_signal(sig)
            until(lambda t=told, n=before: server.log().count(t) == n + 1, 5, "it is told")
            assert certificate_name(lab) == "second", text
    until(lambda: server.log().count("reload by SIGHUP") == 3, 5, "SIGHUP reads the configuration, too")
    renew_again(lab, server)
    client.send_channel(0x4000, b"still here")
    assert client.wait("channel")[2] == b"still here"
    assert client.refresh().cls == SUCCESS
    for reason in ("tls.certificate: ", "tls.key: ", "No such file", "is not a PEM file",
            "is not the key of"):  # fmt: skip
        assert reason in server.log(), reason


def renew_again(lab, server):
    """Valid files are used again. A key that everybody can read causes a warning."""
    cert, key = streams.certificate(lab, "fifth", "fifth")
    shutil.move(cert, os.path.join(lab.dir, "cert.pem"))
    shutil.move(key, os.path.join(lab.dir, "cert.key"))
    os.chmod(os.path.join(lab.dir, "cert.key"), 0o644)
    server.process.send_signal(signal.SIGUSR2)
    until(lambda: certificate_name(lab) == "fifth", 5, "it is used")
    told = "warn  streams: reload: tls.key: " + os.path.join(lab.dir, "cert.key") + ": everyone on this host"
    assert told in server.log(), server.log()


def spoil(lab, text):
    """Certificate files that cannot be used."""
    path = os.path.join(lab.dir, "cert.pem")
    if text is None:
        os.rename(path, path + ".away")
    elif text == "key of another":
        streams.certificate(lab, "third")
        streams.certificate(lab, "fourth", "fourth")
        shutil.copy(os.path.join(lab.dir, "fourth.key"), os.path.join(lab.dir, "cert.key"))
    else:
        with open(path, "w") as file:
            file.write(text)


def bad_handshakes(lab, server):
    """Plain text instead of TLS, silence, and half a handshake."""
    before = streams.counters(server)
    plain = streams.connect(lab, "tls")
    plain.sendall(build(REQUEST, BINDING))
    assert streams.is_closed(plain)
    streams.counted(server, "handshake_failed", before["handshake_failed"] + 1)
    silent, half = streams.connect(lab, "tls"), streams.connect(lab, "tls")
    half.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    quiet = streams.over_tls(streams.connect(lab, "tls"))  # finishes the handshake, then silence
    detected = streams.connect(lab, "auto")
    for sock in (silent, half, quiet, detected):
        assert streams.is_closed(sock)
    streams.counted(server, "slow", before["slow"] + 4)


class RawTls:
    """TLS on a connected socket, with access to its records."""

    def __init__(self, sock, tls):
        self.sock = sock
        self.inward, self.outward = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.ssl = tls.wrap_bio(self.inward, self.outward)
        while True:
            try:
                self.ssl.do_handshake()
                break
            except ssl.SSLWantReadError:
                sock.sendall(self.outward.read())
                self.inward.write(sock.recv(65536))
        sock.sendall(self.outward.read())

    def record(self, data):
        """A record of data, encrypted and not yet sent."""
        self.ssl.write(data)
        return bytearray(self.outward.read())


def begun(lab, first):
    """A connection that starts with these bytes."""
    sock = streams.connect(lab, "tls")
    sock.sendall(first)
    return sock


def established(lab, spoil, version):
    """A connection that finishes the handshake and then sends a record modified by spoil()."""
    tls = streams.context(minimum_version=version, maximum_version=version)
    raw = RawTls(streams.connect(lab, "tls"), tls)
    raw.sock.sendall(spoil(raw.record(build(REQUEST, BINDING))))
    return raw.sock


def bad_mac(record):
    record[-1] ^= 1
    return record


def ended(server, name, make):
    """The connection of make() is closed and counted once."""
    before = streams.counters(server)[name]
    assert streams.is_closed(make()), name
    streams.counted(server, name, before + 1)


def hostile_records(lab, server):
    """Each is closed under its own counter, and another client notices nothing."""
    echo = lab.echo(PEER4)
    beside = streams.client(lab, "tls")
    assert beside.allocate().cls == SUCCESS and beside.bind(0x4000, echo.address).cls == SUCCESS
    get = b"GET / HTTP/1.1\r\nHost: turn\r\n\r\n"
    too_long = b"\x17\x03\x03\x48\x01" + bytes(0x4801)  # 2^14 + 2048 + 1 (RFC 5246 6.2.3)
    cases = [
        ("handshake_failed", lambda: begun(lab, get)),
        ("handshake_failed", lambda: begun(lab, b"\x16\x03\x01\xff\xff" + bytes(1000))),
        ("handshake_failed", lambda: begun(lab, b"\x17\x03\x03\x00\x10" + bytes(16))),
        ("handshake_failed", lambda: begun(lab, os.urandom(64))),
    ]
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        for spoil in (bad_mac, lambda _: too_long, lambda _: b"\x16\x03\x03\x00\x04junk"):
            cases.append(("failed", lambda s=spoil, v=version: established(lab, s, v)))
    for name, make in cases:
        ended(server, name, make)
        beside.send_channel(0x4000, name.encode())
        assert beside.wait("channel")[2] == name.encode()

    def request(transport, tls):
        sock = streams.connect(lab, transport)
        sock = streams.over_tls(sock) if tls else sock
        sock.sendall(get)
        return sock

    for transport, tls in (("tls", True), ("auto", True), ("auto", False)):
        ended(server, "garbage", lambda t=transport, s=tls: request(t, s))
    before = streams.counters(server)["handshake_failed"]
    hello = ssl.MemoryBIO()
    try:
        streams.context().wrap_bio(ssl.MemoryBIO(), hello).do_handshake()
    except ssl.SSLWantReadError:
        hello = hello.read()
    for i in range(ABANDONED):  # begun, partly or completely, and abandoned
        begun(lab, hello[: None if i % 2 else 100]).close()
    streams.counted(server, "handshake_failed", before + ABANDONED)
    until(lambda: streams.counters(server)["tls"] == 1, 3, "they are gone")
    beside.send_channel(0x4000, b"unmoved")
    assert beside.wait("channel")[2] == b"unmoved"
    beside.close()
    echo.close()


def ends(lab, server):
    """The allocation of a TLS client ends with its connection."""
    client = streams.client(lab, "tls")
    before = server.stats()["allocations"]
    assert client.allocate().cls == SUCCESS
    until(lambda: server.stats()["allocations"] == before + 1, 3, "it is there")
    client.sock.unwrap()  # close_notify
    until(lambda: server.stats()["allocations"] == before, 3, "it is gone")


def refused_at_start(lab):
    """Errors of the configuration have advice."""
    good = streams.config(lab, ("tls",))
    for change, word in (
        ({"certificate": "/nonexistent.pem"}, "tls.certificate: /nonexistent.pem: No such file"),
        ({"ciphers": "NONSENSE"}, "tls.ciphers: NONSENSE: no cipher match"),
        ({"chain": "/dev/null"}, "tls.chain: /dev/null"),
    ):
        failing(lab, {**good, "tls": {**good["tls"], **change}}, word)
    netns = {**streams.config(lab), "streams": {"netns": "nowhere"}}
    failing(lab, netns, "streams.netns: nowhere: No such file")


def late_addresses(lab):
    """Addresses that the kernel gets after the start of the server, like from DHCP at boot."""
    late = {"10.99.0.77": "32", "fd99::77": "128"}
    listeners = [{"address": SERVER4}] + [{"transport": "tcp", "address": a} for a in late]
    server = lab.server({"listeners": listeners})
    for address, length in late.items():
        assert f"no interface of the kernel has {address} (yet)" in server.log(), server.log()
        flags = ["nodad"] if ":" in address else []
        lab.dut.ip("addr", "add", f"{address}/{length}", "dev", "k0", *flags)
        ip = CLIENT6 if ":" in address else CLIENT4
        client = streams.Client(streams.connect(lab, "tcp", ip, server=address))
        assert client.binding().cls == SUCCESS
        client.sock.close()
    server.finish()
    for address, length in late.items():
        lab.dut.ip("addr", "del", f"{address}/{length}", "dev", "k0")


def fresh_address(lab):
    """A tentative IPv6 address: the server starts, and listens on it once duplicate address
    detection is done."""
    fresh = "fd99::6"
    lab.dut.run("sysctl", "-qw", "net.ipv6.conf.k0.accept_dad=1", "net.ipv6.conf.k0.dad_transmits=100")
    in_doubt = lambda: "tentative" in lab.dut.ip("-6", "addr", "show", "dev", "k0", "to", fresh)
    lab.dut.ip("-6", "addr", "add", fresh + "/64", "dev", "k0")
    assert in_doubt()
    tcp = [{"transport": "tcp", "address": address} for address in (streams.V4, fresh)]
    server = lab.server({"listeners": [{"address": SERVER4}, *tcp]})
    assert in_doubt(), "the server waited for the kernel"
    lab.dut.ip("-6", "addr", "del", fresh + "/64", "dev", "k0")
    lab.dut.ip("-6", "addr", "add", fresh + "/64", "dev", "k0", "nodad")
    client = streams.Client(streams.connect(lab, "tcp", CLIENT6, server=fresh))
    assert client.binding().cls == SUCCESS
    client.sock.close()
    server.finish()
    lab.dut.ip("-6", "addr", "del", fresh + "/64", "dev", "k0")


def failing(lab, config, words):
    try:
        lab.server(config)
    except AssertionError:
        server = lab.servers[-1]
        assert words in server.log(), server.log()
    else:
        raise AssertionError("it has started: " + words)


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    refused_at_start(lab)
    late_addresses(lab)
    fresh_address(lab)
    config = streams.config(lab, ("tls", "auto"), handshake=HANDSHAKE, threads=2)
    path = config.setdefault("control", {})["socket"] = os.path.join(lab.dir, "control.sock")
    server = lab.server(config)
    alpn(lab)
    versions(lab)
    ciphers(lab, path)
    resumption(lab)
    bad_handshakes(lab, server)
    hostile_records(lab, server)
    ends(lab, server)
    reload(lab, server)
    gone = lambda: not any(streams.counters(server)[name] for name in ("connections", "tls"))
    until(gone, 5, "all are gone")
    print(streams.counters(server))


if __name__ == "__main__":
    labs.run(main)
