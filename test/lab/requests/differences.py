# SPDX-License-Identifier: BSD-3-Clause
"""Differences between this server's answers and those of Debian's coturn (4.6.1), with their
reasons and clauses.

A difference that is not listed fails the test, and so does an entry that no longer occurs.
doc/coturn.md describes those that matter to operators.
"""

import fnmatch
from dataclasses import dataclass

import turnlib

SAYS_401 = ("error 401", "error 438")
GRANTS = ("success",)


@dataclass(frozen=True)
class Attribute:
    """An attribute in our answers with these verdicts that coturn's answers do not have."""

    kind: int
    verdicts: tuple
    clause: str
    reason: str


@dataclass(frozen=True)
class Difference:
    """cases: patterns of names. ours, theirs: verdicts, the latter several, with the granted values
    if the verdicts are equal. over: the transport, if the difference occurs on one only."""

    cases: tuple
    ours: str
    theirs: tuple
    clause: str
    reason: str
    over: str = ""


ATTRIBUTES = (
    Attribute(turnlib.PASSWORD_ALGORITHMS, SAYS_401, "8489 9.2.4", "coturn knows SHA-1 alone"),
    Attribute(turnlib.SOFTWARE, GRANTS, "8489 14.14",
        "optional; coturn was started with --no-software-attribute, as 4.17 is by default"),
    Attribute(turnlib.MESSAGE_INTEGRITY, ("error 437",), "8489 9.2.4",
        "authenticated requests are answered with integrity; coturn checks the 5-tuple first"),
)  # fmt: skip

WITHOUT = ("permission*without allocation", "channel*without allocation",
           "credentials: permission with USERNAME REALM NONCE integrity",
           "credentials: channel with USERNAME REALM NONCE integrity",
           "method 0x008 request, signed", "method 0x009 request, signed")  # fmt: skip
PRIVATE = ("100.64.0.1", "169.254.1.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "203.0.113.1",
           "10.99.0.255", "10.99.0.0", "172.16.0.1")  # fmt: skip
WRONG_NAMES = ("an unknown user", "another user's name", "an empty name", "a name of *",
               "a name in capitals", "another realm", "an empty realm", "a realm in capitals",
               "a long realm")  # fmt: skip
BEHIND = ("an unknown one behind the integrity", "the transport behind the integrity")


def after_state(state, names):
    return tuple(f"credentials, {state}: {name}" for name in names)


DIFFERENCES = (
    # --- before and beside TURN
    Difference(("method 0x??? request, *",), "silence", ("error 400", "error 401", "error 403"),
        "8489 6.3", "a method that is not supported is silently discarded"),
    Difference(("method 0x00b request, *",), "silence", ("closed",), "8489 6.3",
        "the same; ConnectionBind of RFC 6062 ends the connection", over="tcp"),
    Difference(("framing: attribute of length *",), "silence", ("success",), "8489 5, 6.3",
        "an attribute that extends beyond the message is an error; coturn stops reading there"),
    Difference(("framing: first byte 0x04", "framing: first byte 0x10"), "silence", ("error 401",),
        "7983 7, 8656 12", "a first byte above 3 is not STUN's"),
    Difference(("channel to own",), "error 403", ("success",), "8656 12",
        "a port of the server that no allocation can have is no peer; coturn asks its kernel", over="udp"),
    Difference(("binding with PRIORITY of ICE",), "error 420", ("success",), "8489 6.3.1",
        "PRIORITY is comprehension-required, and defined for ICE only"),
    Difference(("binding with CHANGE-REQUEST 0", "binding with RESPONSE-PORT", "binding with PADDING"),
        "error 420", ("success", "error 400"), "8489 6.3.1", "NAT behaviour discovery is off"),
    Difference(("binding with LIFETIME", "binding with XOR-PEER-ADDRESS", "binding with DATA",
        "binding with MAPPED-ADDRESS", "allocate with a peer", "allocate with a channel",
        "refresh with a transport", "refresh with EVEN-PORT", "refresh with a peer",
        "permission with LIFETIME"), "success", ("error 420",), "8489 6.3",
        "attributes that are known but not expected SHOULD be ignored"),
    # --- credentials
    Difference(after_state("challenged", WRONG_NAMES), "error 401", ("error 437",), "8489 9.2.4",
        "an unauthenticated request is challenged; coturn ties a 5-tuple to its first user"),
    Difference(after_state("allocated", WRONG_NAMES), "error 401", ("error 441",), "8489 9.2.4, 8656 5",
        "441 is for valid credentials of another user"),
    Difference(("credentials, *: a name with a zero byte",), "error 401", ("success",), "8489 14.3",
        "the name is all bytes of the attribute; coturn's ends at a zero"),
    Difference(("credentials, *: wrong name and nonce",), "error 438", ("error 437", "error 441"),
        "8489 9.2.4", "the nonce is checked first (doc/decisions/0002), as coturn does otherwise"),
    Difference(tuple(f"credentials, *: {name}" for name in BEHIND), "success", ("error 400", "error 420"),
        "8489 14.5", "attributes after MESSAGE-INTEGRITY MUST be ignored"),
    # --- Allocate and Refresh
    Difference(("allocate with two transports",), "success", ("error 400",), "8489 14",
        "the first of two equal attributes counts"),
    Difference(("allocate with two LIFETIMEs",), "success 900 s IPv4", ("success 1800 s IPv4",),
        "8489 14", "the same; with coturn the last one counts"),
    Difference(("allocate with transport *",), "error 442", ("error 400",), "8656 7.2 (3)",
        "another transport is not supported, not malformed"),
    Difference(("allocate with transport 6",), "error 442", ("success",), "8656 7.2 (3)",
        "relay.tcp is off here", over="tcp"),
    Difference(("allocate with EVEN-PORT *",), "error 400", ("success",), "8656 18.7",
        "the attribute has one byte"),
    Difference(("allocate with a token of 8 bytes", "allocate with token and DONT-FRAGMENT"), "error 508",
        ("error 404", "success"), "8656 7.2 (5)", "no port is reserved for this token"),
    Difference(("allocate with token and EVEN-PORT", "allocate with token and family"), "error 400",
        ("success",), "8656 7.2 (5)", "neither is allowed together with a token"),
    Difference(("allocate with a family of ? bytes",), "error 400", ("error 440",), "8656 18.6",
        "the attribute has four bytes: it is malformed"),
    Difference(("refresh with a family of ? bytes",), "error 400", ("error 443",), "8656 18.6",
        "the attribute has four bytes: it is malformed"),
    Difference(("allocate with second family *", "allocate with both families"), "error 400",
        ("success",), "8656 7.2 (6)", "the second family is IPv6, and the first may not be named "
        "beside it; Debian's coturn knows the attribute by the number of a draft"),
    Difference(("allocate after the end of another",), "success", ("error 437",), "8656 7.2 (2)",
        "the 5-tuple is free again; coturn waits for late answers", over="udp"),
    Difference(("refresh after the end",), "error 437", ("success",), "8656 5",
        "there is no allocation", over="udp"),
    Difference(("refresh with an unknown attribute, without allocation",), "error 420", ("error 437",),
        "8489 6.3.1", "unknown attributes come before what the method requires"),
    # --- peers
    Difference(WITHOUT, "error 437", ("error 400",), "8656 5", "there is no allocation"),
    Difference(tuple(f"{request} {ip}" for request in ("permission for", "channel to") for ip in PRIVATE),
        "error 403", ("success",), "8656 10.2, 12.2, 21.3",
        "by policy: private, link-local and broadcast addresses are not public"),
    Difference(("permission for a peer of *", "permission for a good and a malformed peer"), "error 400",
        ("success",), "8656 10.2", "XOR-PEER-ADDRESS is malformed; coturn takes what it can read"),
    Difference(("channel number of ? bytes",), "error 400", ("success",), "8656 12.2, 18.1",
        "the attribute has four bytes"),
    Difference(("channel to port 0",), "error 403", ("error 400",), "8656 12.2",
        "a peer that cannot be reached: forbidden by policy, as everywhere else"),
    Difference(("send to port 0",), "silence", ("deaf",), "8656 11.2",
        "the datagram is dropped; coturn relays nothing more for this allocation"),
)  # fmt: skip


class Judge:
    """Sorts outcomes into equal ones, listed differences, and unlisted ones."""

    def __init__(self, over):
        """over: {transport: True if all of its cases run}."""
        self.over = over
        self.seen = 0
        self.used = {}
        self.unlisted = []

    def look(self, case, transport, ours, theirs):
        self.seen += 1
        said = (ours.verdict, theirs.verdict)
        if ours.verdict == theirs.verdict:
            said = (ours.said, theirs.said)
        if said[0] != said[1]:
            fits = lambda entry: self.fits(entry, case.name, transport, said)
            entry = next(filter(fits, DIFFERENCES), None)
        else:
            entry = self.without_ours(ours, theirs)
        if entry is None:
            self.unlisted.append(f"{case.name}, {transport}: {ours}, coturn: {theirs}")

    def fits(self, entry, name, transport, said):
        if said[0] != entry.ours or said[1] not in entry.theirs:
            return False
        if entry.over not in ("", transport):
            return False
        patterns = [pattern for pattern in entry.cases if fnmatch.fnmatchcase(name, pattern)]
        for pattern in patterns:
            self.used.setdefault(entry, set()).add(pattern)
        return bool(patterns)

    def without_ours(self, ours, theirs):
        """True if the answers are equal except for listed attributes."""
        more = ours.attrs - theirs.attrs
        listed = [a for a in ATTRIBUTES if a.kind in more and ours.verdict in a.verdicts]
        for entry in listed:
            self.used.setdefault(entry, set())
        return theirs.attrs == ours.attrs - {a.kind for a in listed} or None

    def unused(self):
        """Texts of entries and patterns that did not occur."""
        for entry in ATTRIBUTES:
            if entry not in self.used:
                yield f"an attribute {entry.kind:#06x} in our answers only"
        for entry in DIFFERENCES:
            if self.over.get(entry.over, True):
                for pattern in set(entry.cases) - self.used.get(entry, set()):
                    yield f"{pattern}: {entry.ours}, coturn: {' or '.join(entry.theirs)}"

    def verdict(self):
        print(f"{self.seen} comparisons, {len(DIFFERENCES) + len(ATTRIBUTES)} entries of differences")
        for text in self.unlisted:
            print(f"not in the list: {text}")
        gone = list(self.unused())
        for text in gone:
            print(f"in the list, but it does not occur: {text}")
        assert not self.unlisted, f"{len(self.unlisted)} differences are not listed"
        assert not gone, f"{len(gone)} listed ones do not occur"
