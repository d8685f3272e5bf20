# SPDX-License-Identifier: BSD-3-Clause
"""The lines of a turnserver.conf and their values, read as coturn 4.17 reads them.

A line is a name, then blanks, tabs and equals signs, then a value: the rest of the line without one
pair of double quotes and blanks at the end. There are no comments after values, no dashes before names
and no continued lines. A line of more than 1023 bytes is read in pieces.
"""

import ipaddress
import re
import socket
from dataclasses import dataclass

from coturn import commandline

PIECE = 1023  # bytes that coturn reads at a time
BLANKS = b" \t\n"
GOES_ON = re.compile(rb"\s*(?:-|[^#=]*turnserver\b).*\\\s*", re.S)
TRUE, FALSE = ("on", "ON", "On"), ("off", "OFF", "Off")


class Refused(Exception):
    """A value that coturn refuses, or that cannot be imported; the text says why."""


@dataclass(frozen=True)
class Line:
    """One setting."""

    number: int
    name: str
    value: str  # "" without a value
    cut: bool = False  # the line, or its rest, of a line longer than PIECE
    option: bool = False  # from a command line


def pieces(raw):
    """(number, bytes, cut) of the lines as coturn sees them."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        for begin in range(0, len(line) or 1, PIECE):
            yield number, line[begin : begin + PIECE].split(b"\0")[0], len(line) > PIECE


def setting(piece):
    """(name, value) of a line without blanks around it."""
    name, value = re.fullmatch(rb"([^ \t=]*)[ \t=]*(.*)", piece, re.S).groups()
    if value.startswith(b'"'):
        value = value[1:].rstrip(b" \t\r\n")
        value = value[:-1] if value.endswith(b'"') else value
    return name, value


def whole(raw):
    """The bytes with command lines continued by a backslash joined into one line each; coturn's files have
    no such lines. Empty lines keep the line numbers."""
    out, after = [], 0
    for line in raw.split(b"\n"):
        if after:
            out[-after] = out[-after].rstrip()[:-1] + b" " + line.strip()
            out.append(b"")
            after += 1
        else:
            out.append(line)
            after = 1
        if not GOES_ON.fullmatch(out[-after]):
            after = 0
    return b"\n".join(out)


def read(raw):
    """The settings of a file's bytes. Bytes that are not UTF-8 become surrogates. A byte order mark, with
    which coturn loses the first key, is skipped. A line with several options is read as a command line,
    and a compose file for the options in it."""
    found, raw = [], raw.removeprefix(b"\xef\xbb\xbf")
    compose = commandline.is_compose(raw)
    for number, piece, cut in pieces(whole(raw)):
        piece = piece.lstrip(BLANKS).rstrip(b" \t\r\n\v\f")
        if piece.startswith(b"#") or not piece:
            continue
        text = piece.decode(errors="surrogateescape")
        if compose or commandline.is_one(text):
            options = commandline.composed(text) if compose else commandline.split(text)
            found += [Line(number, name, value, cut, True) for name, value in options]
            continue
        name, value = setting(piece)
        decode = lambda part: part.decode(errors="surrogateescape")
        found.append(Line(number, decode(name), decode(value), cut))
    return found


# --- values ---------------------------------------------------------------------------------------


def flag(text):
    """A boolean. A letter is enough for coturn, and an empty value is true."""
    if text == "" or text in TRUE or text[0] in "yYtT123456789":
        return True
    if text in FALSE or text[0] in "0nNfF":
        return False
    raise Refused(f"coturn exits at the value '{text}': it accepts yes, no, true, false, on, off, 1, 0")


def number(text):
    """A whole number. Refuses texts that coturn would read as another number, or as 0."""
    if not re.fullmatch(r"\s*[+-]?\d+", text):
        sign, digits = re.match(r"\s*([+-]?)(\d*)", text).groups()
        raise Refused(f"'{text}' is not a number, coturn reads it as {int(sign + (digits or '0'))}")
    return int(text)


def port(text):
    """A port; 0 is no port."""
    value = int(text) if re.fullmatch(r"\s*\+?\d+", text) else 0 if text == "" else -1
    if not 0 <= value <= 65535:
        raise Refused(f"coturn exits at '{text}': a port is 0 to 65535")
    return value


def resolved(name):
    """The first address of a host's name, IPv4 before IPv6, as coturn chooses it."""
    try:
        found = [info[4][0] for info in socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)]
    except (OSError, UnicodeError):
        raise Refused(f"'{name}' is not an address, nor a name that can be resolved here") from None
    return sorted(found, key=lambda text: ":" in text)[0]


def address(text):
    """An address, or a name that has one; an empty text is 0.0.0.0."""
    text = text.strip(" ")
    if text == "":
        return ipaddress.ip_address("0.0.0.0")
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return ipaddress.ip_address(resolved(text).partition("%")[0])


def span(text):
    """(first, last) of "a" or "a-b"; and of "a/8", at which coturn exits."""
    if "/" in text:
        try:
            network = ipaddress.ip_network(text.strip(), strict=False)
        except ValueError:
            raise Refused(f"coturn exits at '{text}': it accepts an address or FIRST-LAST") from None
        return network[0], network[-1]
    low, dash, high = text.partition("-")
    first = address(low)
    last = address(high) if dash else first
    if first.version != last.version or first > last:
        raise Refused(f"'{text}' is empty: the ends have different families, or the wrong order")
    return first, last


def endpoint(text, default):
    """(address, port) of "a", "a:port" or "[a]:port"."""
    found = re.fullmatch(r" *(?:\[([^]]*)\]|([^:]*))(?: *:(.*))?", text)
    if not found or (found[2] == "" and not found[1]):
        raise Refused(f"'{text}' is not an address: IPv6 addresses need brackets")
    return address(found[1] or found[2]), port(found[3] or "") or default
