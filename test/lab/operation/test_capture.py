#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: a capture ends ten seconds after its client stops reading
"""slipringctl capture: the frames that tcpdump sees on the wire, no payload by default, the
plaintext of DTLS and TLS, drops, limits, and captures whose client is gone."""

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import time

import control
import dtls
import lab as labs
import streams
import turnlib
from capture import Capture, Frame
from control import Control, ctl
from lab import CLIENT4, PEER4, until
from server import merge
from turnlib import SUCCESS

PLANTED = b"PLANTED-MEDIA"
HEADER = 14 + 20 + 8  # of a datagram over IPv4


# --- reading pcapng (draft-ietf-opsawg-pcapng) ---------------------------------------------------


def options(data):
    out = {}
    while len(data) >= 4:
        code, size = struct.unpack_from("<HH", data)
        if code == 0:
            break
        out[code] = data[4 : 4 + size]
        data = data[4 + size + -size % 4 :]
    return out


class Packet:
    def __init__(self, body, names):
        number, high, low, caught, self.len = struct.unpack_from("<IIIII", body)
        self.on = names[number]
        self.ns = high << 32 | low
        self.data = body[20 : 20 + caught]
        rest = options(body[20 + caught + -caught % 4 :])
        self.comment = rest.get(1, b"").decode()
        self.direction = {1: "in", 2: "out"}.get(struct.unpack("<I", rest.get(2, bytes(4)))[0])


def read(path, growing=False):
    """Packets of a file. Every block must be complete, unless the file is being written."""
    with open(path, "rb") as file:
        data = file.read()
    offset, names, packets = 0, [], []
    while offset < len(data):
        size_of = lambda: struct.unpack_from("<I", data, offset + 4)[0]  # noqa: B023
        if growing and (offset + 8 > len(data) or offset + size_of() > len(data)):
            break
        kind, size = struct.unpack_from("<II", data, offset)
        assert size % 4 == 0 and offset + size <= len(data), (path, offset, size)
        assert struct.unpack_from("<I", data, offset + size - 4)[0] == size
        body = data[offset + 8 : offset + size - 4]
        assert (offset == 0) == (kind == 0x0A0D0D0A), hex(kind)
        if kind == 1:
            assert struct.unpack_from("<H", body)[0] == 1 and options(body[8:])[9] == b"\x09"
            names.append(options(body[8:])[2].decode())
        elif kind == 6:
            packets.append(Packet(body, names))
        offset += size
    times = [p.ns for p in packets]
    assert all(abs(t / 1e9 - time.time()) < 600 for t in times), times
    return packets


# --- running a capture ----------------------------------------------------------------------------------


class Running:
    """slipringctl capture in the background. `with` stops it by Ctrl-C and reads its file."""

    def __init__(self, lab, path, *args, name="capture"):
        self.file = os.path.join(lab.dir, name + ".pcapng")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.file)
        self.process = subprocess.Popen(
            [control.PROGRAM, "--socket", path, "capture", "-w", self.file, *args],
            stderr=subprocess.PIPE, text=True
        )  # fmt: skip
        self.said = self.process.stderr.readline()
        assert "capturing" in self.said, self.said

    def end(self, sig=signal.SIGINT):
        if sig is not None:
            self.process.send_signal(sig)
        self.said += self.process.stderr.read()
        self.process.wait(20 * labs.SLOW)
        assert "Traceback" not in self.said, self.said
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *error):
        code = self.end()
        if error[0] is None:
            assert code == 0 and " 0 lost" in self.said, self.said
            self.packets = read(self.file)


def talk(client, echo, payload, channel=0x4001):
    for _ in range(3):
        client.send_channel(channel, payload)
        assert client.wait("channel")[2] == payload


def row_of(ask, client):
    ip, port = client.relayed[:2]
    (row,) = [r for r in ask.all("allocations") if r["relay"] == f"{ip}:{port}"]
    return row


def is_of(frame, client, relayed):
    ends = {(frame.src, frame.sport), (frame.dst, frame.dport)}
    return client in ends or relayed in ends


# --- captured packets ----------------------------------------------------------------------------


def whole(lab, path, row, client, echo):
    """With payload: the frames that tcpdump sees on the wire, byte for byte, in order."""
    bystander = lab.client()
    assert bystander.allocate().cls == SUCCESS and bystander.bind(0x4002, echo.address).cls == SUCCESS
    with Capture(lab, lab.sw, "d0") as wire, Running(lab, path, row["id"], "--payload") as ours:
        talk(client, echo, PLANTED)
        talk(bystander, echo, b"somebody else's", 0x4002)
        assert client.refresh().cls == SUCCESS
        client.send(echo.address, PLANTED * 20)
        assert client.wait("channel")
    address = client.sock.getsockname()[:2]
    expected = [f for f in wire.frames if f.sport and is_of(f, address, client.relayed[:2])]
    assert len(expected) >= 4 * 3 + 2 + 4, expected
    for direction, of_server in (("in", False), ("out", True)):
        theirs = [f.data for f in expected if (f.from_mac == labs.DUT_MAC) == of_server]
        assert [p.data for p in ours.packets if p.direction == direction] == theirs, direction
    for p in ours.packets:
        assert p.on == "wan" and p.len == len(p.data), p.comment
        assert f"allocation {row['id']} of ivan, client {row['client']} over udp" in p.comment
    for argv in (["tcpdump", "-nr"], ["tshark", "-nr"]):
        if shutil.which(argv[0]):
            shown = labs.command(*argv, ours.file)
            assert len(shown.splitlines()) >= len(ours.packets), shown


def headers(lab, path, row, client, echo):
    """Without payload: headers only, and from STUN no name, nonce, integrity or data."""
    with Running(lab, path, row["id"]) as ours:
        talk(client, echo, PLANTED)
        assert client.refresh().cls == SUCCESS
        assert client.bind(0x4009, ("10.99.0.77", 9)).cls == SUCCESS
        second = lab.echo(PEER4)
        assert client.permit(second.address).cls == SUCCESS
        client.send(second.address, PLANTED)
        assert client.wait("data")
    nonce = client.auth.nonce
    for p in ours.packets:
        for secret in (PLANTED, b"ivan", nonce if isinstance(nonce, bytes) else nonce.encode()):
            assert secret not in p.data, (secret, p.comment)
        assert len(p.data) <= p.len
    frames = [(p, Frame(p.data)) for p in ours.packets]
    peers = [p for p, f in frames if echo.address == (f.dst, f.dport)]
    assert len(peers) == 3 and all(len(p.data) == HEADER < p.len for p in peers)
    channel = [p for p, f in frames if p.data[HEADER : HEADER + 2] == b"\x40\x01"]
    assert len(channel) == 6 and all(len(p.data) == HEADER + 4 < p.len for p in channel)
    # The rest of a request still shows its kind: ChannelBind with its number (RFC 8656 18.1).
    binds = [p for p, _ in frames if p.data[HEADER : HEADER + 2] == b"\x00\x09"]
    assert binds and all(struct.pack("!HHH", 0x0C, 4, 0x4009) in p.data for p in binds)
    sends = [p for p, _ in frames if p.data[HEADER : HEADER + 2] == b"\x00\x16"]
    assert len(sends) == 1 and len(sends[0].data) < sends[0].len


def within(lab, path, kind, make):
    """Messages over DTLS and TLS, of allocations that begin while the capture runs."""
    echo, name = lab.echo(PEER4), {"dtls": "dtls", "tls": "stream"}[kind]
    planted = lambda packets: {p.direction for p in packets if p.on == name and PLANTED in p.data}
    with Running(lab, path, "--user", "olga", "--payload", "--decrypted") as ours:
        client = make()
        client.auth = turnlib.Auth("olga", "geheim")
        assert client.allocate().cls == SUCCESS
        assert client.bind(0x4001, echo.address).cls == SUCCESS

        def known():
            """All workers learn of the allocation shortly after it was made."""
            talk(client, echo, PLANTED)
            return planted(read(ours.file, growing=True)) == {"in", "out"}

        until(known, 3, "messages of both directions are captured")
        assert client.refresh(0).cls == SUCCESS
    assert "waiting for new ones" in ours.said, ours.said
    messages = [p for p in ours.packets if p.on == name]
    for p in messages:
        frame = Frame(p.data)
        assert frame.proto == 17 and len(frame.payload) == p.len - HEADER, (kind, p.comment)
        assert "made up" in p.comment and "of olga" in p.comment, p.comment
    on_wire = b"".join(p.data for p in ours.packets if p.on == "wan" and is_client(p, client))
    assert PLANTED not in on_wire, "it is encrypted there"


def is_client(packet, client):
    frame = Frame(packet.data)
    return client.sock.getsockname()[:2] in ((frame.src, frame.sport), (frame.dst, frame.dport))


def dropped(lab, path, server, client):
    """A drop reason, for datagrams of any client, with the reason's name."""
    with Running(lab, path, "--drop", "peer-no-permission") as ours, lab.cli.udp(CLIENT4) as stranger:
        before = server.drops().get("peer-no-permission", 0)
        for _ in range(5):
            stranger.sendto(PLANTED, client.relayed[:2])
        until(lambda: server.drops().get("peer-no-permission", 0) == before + 5, 5, "5 are dropped")
    assert len(ours.packets) == 5, ours.said
    for p in ours.packets:
        assert p.on == "drops" and p.comment == "dropped: peer-no-permission"
        assert len(p.data) == HEADER == p.len - len(PLANTED)


def sources(lab, path, client):
    """An address: includes its requests without an allocation."""
    with Running(lab, path, "--client", CLIENT4 + "/32") as ours, lab.client() as stranger:
        assert stranger.binding().cls == SUCCESS
        assert stranger.challenge().code == 401
    kinds = [p.data[HEADER : HEADER + 2] for p in ours.packets]
    for kind in (b"\x00\x01", b"\x01\x01", b"\x00\x03", b"\x01\x13"):
        assert kind in kinds, (kind, kinds)


# --- the end of a capture ---------------------------------------------------------------------------------


def limits(lab, path, row, client, echo):
    ours = Running(lab, path, row["id"], "--datagrams", "5")
    talk(client, echo, PLANTED)
    assert ours.end(None) == 0 and "5 frames, 0 lost: enough frames" in ours.said, ours.said
    assert len(read(ours.file)) == 5
    begin = time.monotonic()
    ours = Running(lab, path, row["id"], "--seconds", "1")
    assert ours.end(None) == 0 and "0 frames" in ours.said and "--seconds" in ours.said, ours.said
    assert 0.9 < time.monotonic() - begin < 30  # and not the 60 s without the limit
    ours = Running(lab, path, row["id"], "--payload", "--bytes", "100", "--snap", "64")
    talk(client, echo, PLANTED)
    assert ours.end(None) == 0 and "--bytes" in ours.said, ours.said
    (packet,) = read(ours.file)
    assert len(packet.data) == min(64, packet.len)


def ends(lab, path, server):
    """It ends with its allocation, and with its client in every case. Only one runs at a time."""
    client = lab.client()
    assert client.allocate().cls == SUCCESS
    with Control(path) as ask:
        row = row_of(ask, client)
        ours = Running(lab, path, row["id"])
        assert "one at a time" in ask.refused("capture", id=row["id"])
        assert "this connection" in ask.refused("capture", more=True)
        assert client.refresh(0).cls == SUCCESS
        assert ours.end(None) == 0 and "the allocation has ended" in ours.said, ours.said
    ours = Running(lab, path, "--user", "nobody")
    assert ours.end(signal.SIGKILL) == -signal.SIGKILL
    until(lambda: "capture ended (client gone)" in server.log(), 3, "its capture ends")
    with Running(lab, path, "--user", "nobody"):
        pass
    if labs.LONG:
        with Control(path) as ask:
            ask.ask("capture", user="nobody")
            until(lambda: "its client asks for nothing" in server.log(), 15, "the capture ends")
    orders = [line for line in server.log().splitlines() if "capture, " in line]
    assert any("with payload, by order" in line and "uid 0, pid" in line for line in orders), orders
    assert any("with payload, decrypted" in line for line in orders), orders
    assert any("headers alone, by order" in line for line in orders), orders


def why_not(ask, fields):
    """The error of a refused capture. Workers need a moment to end the previous one."""
    return until(
        lambda: [reason for reason in [ask.refused("capture", **fields)] if "one at a time" not in reason],
        *(3, "the previous capture has ended"),
    )[0]


def wrong(lab, path, row):
    with Control(path) as ask:
        for fields, words in (
            ({}, "say what"),
            ({"id": row["id"], "user": "ivan"}, "say what"),
            ({"id": "1"}, "no such allocation"),
            ({"id": str(2**64 - 1)}, "no such allocation"),
            ({"id": "x"}, "id:"),
            ({"drop": "colour"}, "drop:"),
            ({"drop": 1}, "drop:"),
            ({"client": "10.99"}, "client:"),
            ({"id": row["id"], "payload": 1}, "payload:"),
            ({"id": row["id"], "seconds": 0}, "seconds:"),
            ({"id": row["id"], "datagrams": 0}, "datagrams:"),
            ({"id": row["id"], "bytes": 0}, "bytes:"),
            ({"id": row["id"], "snap": 0}, "snap:"),
            ({"id": row["id"], "snap": 65536}, "snap:"),
            ({"more": True}, "more:"),
        ):
            assert words in why_not(ask, fields), fields
    assert "no such allocation" in ctl(path, "capture", "1", "-w", "/dev/null", code=1)
    ctl(path, "capture", code=2)
    ctl(path, "capture", "1", "--user", "ivan", code=2)
    ctl(path, "capture", "1", "--bytes", "0", code=2)
    ctl(path, "capture", row["id"], "-w", "/nowhere/x", code=1)
    new_only(lab, path, row)
    member = ["setpriv", "--reuid=65534", "--regid=1", "--clear-groups", control.for_everybody(lab), "--socket"]
    said = lambda *args: subprocess.run(
        [*member, path, "capture", row["id"], "--seconds", "1", *args],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )  # fmt: skip
    until(lambda: said().returncode == 0, 5, "a member of the group may have headers")
    for option in ("--payload", "--decrypted"):
        assert said(option).returncode == 1 and "only root" in said(option).stderr, option


def new_only(lab, path, row):
    """A user who may write in the directory, as in /tmp, has put a link or a file there."""
    victim, planted = os.path.join(lab.dir, "victim"), os.path.join(lab.dir, "planted")
    with open(victim, "w") as file:
        file.write("precious")
    for plant in (os.symlink, os.link, shutil.copy):
        plant(victim, planted)
        said = ctl(path, "capture", row["id"], "-w", planted, "--seconds", "1", code=1)
        assert "exists already" in said, said
        with open(planted) as file:
            assert file.read() == "precious", plant
        os.unlink(planted)
    os.symlink(os.path.join(lab.dir, "nowhere"), planted)
    assert "exists already" in ctl(path, "capture", row["id"], "-w", planted, code=1)
    assert not os.path.exists(os.path.join(lab.dir, "nowhere"))


def main(lab):
    labs.need_own_server()
    streams.join(lab)
    path = os.path.join(lab.dir, "control.sock")
    config = streams.config(lab, ("tls",))
    config["listeners"] += [row for row in dtls.config(lab)["listeners"] if row["transport"] == "dtls"]
    allow = {"peer-no-permission", "dtls-unknown", "dtls-record"}
    config = merge(config, {"control": {"socket": path, "group": "daemon"}})
    server = lab.server(config, allow=allow)
    echo, client = lab.echo(PEER4), lab.client()
    assert client.allocate().cls == SUCCESS and client.bind(0x4001, echo.address).cls == SUCCESS
    until(lambda: os.path.exists(path), 5, "the control socket exists")
    with Control(path) as ask:
        row = row_of(ask, client)
    whole(lab, path, row, client, echo)
    headers(lab, path, row, client, echo)
    within(lab, path, "dtls", lambda: dtls.client(lab))
    within(lab, path, "tls", lambda: streams.client(lab, "tls"))
    dropped(lab, path, server, client)
    sources(lab, path, client)
    limits(lab, path, row, client, echo)
    wrong(lab, path, row)
    ends(lab, path, server)


if __name__ == "__main__":
    labs.run(main)
