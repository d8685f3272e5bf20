# SPDX-License-Identifier: BSD-3-Clause
"""The records that slipring and slipring-accounts exchange: fixed sizes, big-endian (doc/accounts.md)."""

import collections
import ipaddress
import struct

QUESTION = struct.Struct(">4sBBHQ16sHH28x512s768s")
ANSWER = struct.Struct(">4sBBHQIIBBH4x16s32s256s768s")
NAME_MAX, REALM_MAX, SECRET_MAX, LIST_MAX = 508, 763, 256, 16  # the last one: secrets of a realm
USER = 1  # kind of a question
KEY, UNKNOWN, NO_ANSWER, SECRET = 1, 2, 3, 4  # kinds of an answer
HAS_MD5, HAS_SHA256 = 1, 2
TRANSPORTS = ("udp", "tcp", "tls", "dtls")

# name and realm are bytes, client the 16 bytes of an IPv6 address or of an IPv4 address mapped to one
Question = collections.namedtuple("Question", "id transport client port realm name")
Found = collections.namedtuple("Found", "md5 sha256 ttl", defaults=(b"", None))  # keys of a user, b"": no such key
Unknown = collections.namedtuple("Unknown", "ttl", defaults=(None,))


class Malformed(Exception):
    """The other side does not speak this protocol."""


def questions(data):
    """The whole questions at the beginning of the bytes, and the number of their bytes."""
    found, end = [], 0
    while len(data) - end >= QUESTION.size:
        found.append(question(data, end))
        end += QUESTION.size
    return found, end


def question(data, offset):
    magic, kind, transport, name, number, client, port, realm, names, realms = QUESTION.unpack_from(data, offset)
    if magic != b"SLQ1" or kind != USER or transport >= len(TRANSPORTS):
        raise Malformed("a record is no question")
    if name > NAME_MAX or realm > REALM_MAX:
        raise Malformed("a question has an impossible length")
    return Question(number, transport, client, port, realms[:realm], names[:name])


def address_of(client):
    """The text of a question's address."""
    address = ipaddress.IPv6Address(client)
    return str(address.ipv4_mapped or address)


def key(number, found, lifetime, stale):
    """The answer with the keys of a user."""
    flags = (HAS_MD5 if found.md5 else 0) | (HAS_SHA256 if found.sha256 else 0)
    return ANSWER.pack(b"SLA1", KEY, flags, 0, number, lifetime, stale, 0, 0, 0, found.md5, found.sha256, b"", b"")


def unknown(number, lifetime):
    return ANSWER.pack(b"SLA1", UNKNOWN, 0, 0, number, lifetime, 0, 0, 0, 0, b"", b"", b"", b"")


def no_answer(number):
    return ANSWER.pack(b"SLA1", NO_ANSWER, 0, 0, number, 0, 0, 0, 0, 0, b"", b"", b"", b"")


def secret_list(number, realm, secrets):
    """All answers of the list of a realm's secrets; one if it is empty. They hold until the next list."""
    return b"".join(
        ANSWER.pack(b"SLA1", SECRET, 0, len(secret), number, 0, 0, index, len(secrets),
            len(realm), b"", b"", secret, realm)
        for index, secret in enumerate(secrets or [b""])
    )  # fmt: skip
