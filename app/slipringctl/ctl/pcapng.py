# SPDX-License-Identifier: BSD-3-Clause
"""Writes pcapng (draft-ietf-opsawg-pcapng): sections, interfaces, packets with comments."""

import struct

ETHERNET = 1  # LINKTYPE_ETHERNET
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
COMMENT, APPLICATION = 1, 4
IF_NAME, IF_TSRESOL = 2, 9
FLAGS = 2
INBOUND, OUTBOUND = 1, 2


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def text(code, value):
    return option(code, value.encode()[:65532])


class Writer:
    """Writes one section, in whole blocks: a truncated capture has only whole blocks, too."""

    def __init__(self, file, comment):
        self.file, self.interfaces = file, {}
        magic = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
        self.block(SECTION, magic, [text(COMMENT, comment), text(APPLICATION, "slipringctl")])

    def block(self, kind, body, options):
        if options:
            options = [*options, option(0, b"")]
        body += bytes(-len(body) % 4) + b"".join(options)
        size = struct.pack("<I", len(body) + 12)
        self.file.write(struct.pack("<I", kind) + size + body + size)

    def interface(self, name):
        """The number of an interface. Its block is written at its first use."""
        if name not in self.interfaces:
            head = struct.pack("<HHI", ETHERNET, 0, 0)
            options = [text(IF_NAME, name), option(IF_TSRESOL, b"\x09")]
            self.block(INTERFACE, head, options)
            self.interfaces[name] = len(self.interfaces)
        return self.interfaces[name]

    def packet(self, name, ns, data, size, comment, flags=0):
        """Writes a packet of size bytes, of which data was captured; ns since 1970."""
        number = self.interface(name)
        head = struct.pack("<IIIII", number, ns >> 32, ns & 0xFFFFFFFF, len(data), size)
        options = [text(COMMENT, comment)] if comment else []
        if flags:
            options.append(option(FLAGS, struct.pack("<I", flags)))
        self.block(PACKET, head + data, options)
