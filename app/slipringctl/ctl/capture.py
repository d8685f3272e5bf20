# SPDX-License-Identifier: BSD-3-Clause
"""capture: writes frames of allocations, of an address or of a drop reason to a pcapng file."""

import argparse
import base64
import contextlib
import errno
import ipaddress
import json
import os
import signal
import struct
import sys
import time

from ctl import pcapng

PAUSE = 0.02  # seconds between requests, after an empty answer
MADE_UP = "its headers are made up"
WITHIN = {"dtls": "DTLS", "stream": "TLS or TCP", "tls": "TLS", "tcp": "TCP", "auto": "TLS or TCP"}
DONE = {
    "stopped": "stopped",
    "seconds": "its time is over (--seconds)",
    "datagrams": "enough frames (--datagrams)",
    "bytes": "enough bytes (--bytes)",
}


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be a number from 1 on")
    return value


def add(command):
    """Adds the subcommand and its options."""
    capture = command(
        "capture",
        "Captures frames of an allocation, a user, a client's address or a drop reason, as pcapng."
        " Only headers, unless --payload is given.",
    )
    subject = capture.add_mutually_exclusive_group(required=True)
    subject.add_argument("id", metavar="ID", nargs="?", help="frames of this allocation")
    subject.add_argument("--user", metavar="NAME", help="frames of all allocations of this user, including new ones")
    subject.add_argument(
        "--client",
        metavar="ADDRESS[/LEN]",
        help="frames from and to this address, and the peers' side of allocations of its clients",
    )
    subject.add_argument("--drop", metavar="REASON", help="frames dropped for this reason")
    capture.add_argument("--realm", metavar="REALM", help="realm of the user, if there are several")
    capture.add_argument("-w", "--write", metavar="FILE", help="a new file; - is standard output, the default")
    capture.add_argument("--payload", action="store_true", default=None, help="whole frames")
    capture.add_argument(
        "--decrypted",
        action="store_true",
        default=None,
        help="also the messages inside DTLS, TLS and TCP",
    )
    capture.add_argument("--seconds", type=positive, metavar="N", help="default 60, at most 3600")
    capture.add_argument("--datagrams", type=positive, metavar="N", help="frames; default 10000")
    capture.add_argument("--bytes", type=positive, metavar="N", help="of frames; default 64 MiB")
    capture.add_argument("--snap", type=positive, metavar="N", help="bytes of each frame, 64 to 65535")


# --- a frame -------------------------------------------------------------------------------------


def endpoint(text):
    address, port = text.rsplit(":", 1)
    return ipaddress.ip_address(address.strip("[]")), int(port)


def add_up(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def headers(source, destination, size):
    """Ethernet, IP and UDP headers of a message of size bytes. No UDP checksum: it needs all bytes."""
    (src, sport), (dst, dport) = source, destination
    udp = struct.pack("!HHHH", sport, dport, min(size + 8, 65535), 0)
    if src.version == 6:
        front = struct.pack("!IHBB", 6 << 28, min(size + 8, 65535), 17, 64)
        return bytes(12) + b"\x86\xdd" + front + src.packed + dst.packed + udp
    front = struct.pack("!BBHHHBBH", 0x45, 0, min(size + 28, 65535), 0, 0x4000, 64, 17, 0)
    front += src.packed + dst.packed
    front = front[:10] + struct.pack("!H", 0xFFFF - add_up(front)) + front[12:]
    return bytes(12) + b"\x08\x00" + front + udp


NOWHERE = (ipaddress.ip_address("0.0.0.0"), 0)


def framed(row, data):
    """Turns a message without headers into a frame; returns it and its length."""
    client = endpoint(row["client"]) if "client" in row else NOWHERE
    server = endpoint(row["listener"]) if "listener" in row else NOWHERE
    ends = (server, client) if row["kind"].endswith("-out") else (client, server)
    front = headers(*ends, row["len"])
    return front + data, row["len"] + len(front)


def retagged(row, data):
    """Puts back the VLAN tag that the port removed; returns the frame and its length."""
    if "tag" not in row:
        return data, row["len"]
    tag = struct.pack("!HH", 0x8100, row["tag"])
    return data[:12] + tag + data[12:], row["len"] + len(tag)


def place(row):
    """The interface that a frame is shown on, and its direction."""
    kind = row["kind"]
    if kind in ("rx", "tx"):
        return row["port"], pcapng.INBOUND if kind == "rx" else pcapng.OUTBOUND
    if kind == "drop":
        return "drops", 0
    name, direction = kind.split("-")
    return name, pcapng.INBOUND if direction == "in" else pcapng.OUTBOUND


def comment(row, known):
    """The comment of a frame: its allocation, and differences from the wire."""
    parts = []
    if "drop" in row:
        parts.append(f"dropped: {row['drop']}")
    if "id" in row:
        a = known.get(row["id"])
        owner = f" of {a['user']}, client {a['client']} over {a['transport']}" if a else ""
        parts.append(f"allocation {row['id']}{owner}")
    if row.get("message"):
        name = row["kind"].split("-")[0]
        within = WITHIN.get(row.get("transport", name), WITHIN.get(name))
        parts.append(f"message inside {within}, {MADE_UP}" if within else f"message, {MADE_UP}")
    if "frames" in row:
        parts.append(f"super-frame of {row['frames']} datagrams")
    if "tag" in row:
        parts.append("the port removed its VLAN tag")
    return "; ".join(parts)


def put(writer, row, known):
    data = base64.b64decode(row["data"])
    data, size = framed(row, data) if row.get("message") else retagged(row, data)
    name, flags = place(row)
    writer.packet(name, row["t"], data, size, comment(row, known), flags)


# --- the whole -----------------------------------------------------------------------------------


def about(fields):
    """The comment of the file."""
    subject = next(f"{name} {fields[name]}" for name in ("id", "user", "client", "drop") if fields[name])
    return (
        f"slipring, {subject}, {'whole frames' if fields['payload'] else 'headers only'}"
        f"{', decrypted messages too' if fields['decrypted'] else ''}"
    )


def tell(line):
    print(f"slipringctl: {line}", file=sys.stderr)


class Stop:
    """True in `asked` once a signal has ended the capture: then the file is completed."""

    def __init__(self):
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.ask)

    def ask(self, *_):
        self.asked = True


@contextlib.contextmanager
def opened(path):
    if path == "-":
        yield sys.stdout.buffer
        return
    # other users must not be able to read it: neither through a link nor in their own file
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise OSError(errno.EEXIST, "exists already: remove it, or name a new file") from None
    with os.fdopen(fd, "wb") as file:
        yield file


def rows(server, first, stop):
    """Yields all answers from the first to the last."""
    yield first
    answer = first
    while "end" not in answer:
        stopped = {"stop": True} if stop.asked else {}
        answer = server.ask("capture", more=True, **stopped)
        yield answer
        if not answer["rows"] and "end" not in answer:
            time.sleep(PAUSE)


def begun(fields, first):
    """Prints the state of the capture at its start."""
    n = len(first["allocations"])
    if fields["drop"] is None:
        tell(f"capturing {n} allocation{'' if n == 1 else 's'}; Ctrl-C ends it")
        if n == 0 and fields["user"]:
            tell("this user has no allocations yet: waiting for new ones")
    else:
        tell("capturing; Ctrl-C ends it")
    if first["left_out"]:
        tell("there are more allocations than a capture can follow: the others are left out")
    if first["shared"] and fields["drop"] is None:
        tell("relay ports are shared: only the clients' side of allocations is captured")


def write(answers, fields, file):
    writer, known, frames, lost, end = pcapng.Writer(file, about(fields)), {}, 0, 0, "?"
    for answer in answers:
        known.update((a["id"], a) for a in answer["allocations"])
        for row in answer.get("rows", ()):
            put(writer, row, known)
            frames += 1
        file.flush()
        lost, end = answer.get("lost", lost), answer.get("end", end)
    tell(f"{frames} frame{'' if frames == 1 else 's'}, {lost} lost: {DONE.get(end, end)}")


def run(server, args):
    """Captures until the end; returns the exit code."""
    names = "id user realm client drop payload decrypted seconds datagrams bytes snap".split()
    fields = {name: getattr(args, name) for name in names}
    path = args.write or "-"
    if path == "-" and not args.json and sys.stdout.isatty():
        tell("this would go to the terminal: use -w FILE, or pipe it: ... | tshark -r -")
        return 2
    first = server.ask("capture", **fields)
    stop = Stop()
    if args.json:
        for answer in rows(server, first, stop):
            print(json.dumps(answer), flush=True)
        return 0
    try:
        with opened(path) as file:
            begun(fields, first)
            write(rows(server, first, stop), fields, file)
    except BrokenPipeError:
        raise
    except OSError as error:
        tell(f"{path}: {error.strerror or error}")
        return 1
    return 0
