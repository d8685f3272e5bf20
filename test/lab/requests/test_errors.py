#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every error code of Allocate, Refresh, CreatePermission and ChannelBind (RFC 8656)."""

import struct

import lab as labs
from cases import DIFFERS, case, run_all
from lab import GATEWAY4, PEER4, PEER6
from turnlib import (
    ADDITIONAL_ADDRESS_FAMILY,
    ALLOCATE,
    CHANNEL_BIND,
    CHANNEL_NUMBER,
    CREATE_PERMISSION,
    DONT_FRAGMENT,
    EVEN_PORT,
    LIFETIME,
    REQUESTED_ADDRESS_FAMILY,
    REQUESTED_TRANSPORT,
    RESERVATION_TOKEN,
    SUCCESS,
    UDP,
    XOR_MAPPED_ADDRESS,
    XOR_PEER_ADDRESS,
    XOR_RELAYED_ADDRESS,
    Auth,
    new_tid,
    u32,
    xor_address,
)

V4, V6, V5 = b"\1\0\0\0", b"\2\0\0\0", b"\5\0\0\0"
ALONE, PAIR = b"\0", b"\x80"
PEER = (PEER4, 5000)
PERMISSIONS = 6  # limits.permissions and limits.channels of this test


def allocated(lab, *attrs):
    client = lab.client()
    answer = client.allocate(list(attrs))
    assert answer.cls == SUCCESS, answer
    return client


def peers(*addresses):
    return lambda tid: [(XOR_PEER_ADDRESS, xor_address(a, tid)) for a in addresses]


def channel(number, peer, rffu=0):
    return lambda tid: [
        (CHANNEL_NUMBER, struct.pack("!HH", number, rffu)),
        *([] if peer is None else [(XOR_PEER_ADDRESS, xor_address(peer, tid))]),
    ]


# --- Allocate -------------------------------------------------------------------------------------


@case(0, "8656 7.2: what a success contains")
def allocate(lab):
    client = lab.client()
    answer = client.allocate()
    for wanted in (XOR_RELAYED_ADDRESS, LIFETIME, XOR_MAPPED_ADDRESS):
        assert answer.has(wanted), answer
    assert client.mapped == client.sock.getsockname() and not answer.has(RESERVATION_TOKEN)
    return answer


@case(437, "8656 7.2 (2)")
def allocate_twice(lab):
    return allocated(lab).allocate()


@case(0, "8656 7.2 (2), 8489 6.3.1: same id, same answer")
def allocate_retransmitted(lab):
    client, tid = lab.client(), new_tid()
    first = client.allocate(tid=tid)
    relayed = client.relayed
    again = client.exchange(client.signed(ALLOCATE, [(REQUESTED_TRANSPORT, UDP)], tid))
    assert again.address(XOR_RELAYED_ADDRESS) == relayed, (first, again)
    return again


@case(400, "8656 7.2 (3)")
def allocate_without_transport(lab):
    return lab.client().allocate(transport=None)


@case(400, "8656 7.2 (3)")
def allocate_with_short_transport(lab):
    return lab.client().allocate(transport=b"\x11")


@case(442, "8656 7.2 (3)", coturn=400)
def allocate_other_transport(lab):
    return lab.client().allocate(transport=b"\x63\0\0\0")


@case(442, "8656 7.2 (3): RFC 6062 is off here", coturn=400)
def allocate_tcp(lab):
    return lab.client().allocate(transport=b"\x06\0\0\0")


@case(0, "8656 18.7: RFFU is ignored")
def allocate_transport_rffu(lab):
    return lab.client().allocate(transport=b"\x11\1\2\3")


@case(0, "8656 7.2 (4)")
def allocate_dont_fragment(lab):
    return lab.client().allocate([(DONT_FRAGMENT, b"")])


@case(400, "8656 7.2 (5)", coturn=DIFFERS)
def token_and_even_port(lab):
    return lab.client().allocate([(RESERVATION_TOKEN, bytes(8)), (EVEN_PORT, ALONE)])


@case(400, "8656 7.2 (5)", coturn=DIFFERS)
def token_and_family(lab):
    return lab.client().allocate([(RESERVATION_TOKEN, bytes(8)), (REQUESTED_ADDRESS_FAMILY, V4)])


@case(508, "8656 7.2 (5)", coturn=DIFFERS)
def token_never_given(lab):
    return lab.client().allocate([(RESERVATION_TOKEN, b"\x12" * 8)])


@case(400, "8656 18.9: a token has 8 bytes", coturn=(400, 508))
def token_of_wrong_length(lab):
    return lab.client().allocate([(RESERVATION_TOKEN, b"\x12" * 4)])


@case(400, "8656 7.2 (6): one family, and both", coturn=DIFFERS)
def family_and_both(lab):
    attrs = [(REQUESTED_ADDRESS_FAMILY, V4), (ADDITIONAL_ADDRESS_FAMILY, V6)]
    return lab.client().allocate(attrs)


@case(400, "8656 7.2 (8): both families, and a pair of each", coturn=DIFFERS)
def both_and_pair(lab):
    return lab.client().allocate([(ADDITIONAL_ADDRESS_FAMILY, V6), (EVEN_PORT, PAIR)])


@case(400, "8656 7.2 (9): IPv4 is no additional family", coturn=DIFFERS)
def additional_ipv4(lab):
    return lab.client().allocate([(ADDITIONAL_ADDRESS_FAMILY, V4)])


@case(440, "8656 7.2 (7)")
def family_unknown(lab):
    return lab.client().allocate([(REQUESTED_ADDRESS_FAMILY, V5)])


@case(0, "8656 7.2 (7): IPv4 when no family is asked for, over IPv6 too")
def family_default(lab):
    client = lab.client(ip=labs.CLIENT6)
    answer = client.allocate()
    assert client.relayed[0] == labs.SERVER4, client.relayed
    return answer


@case(0, "8656 7.2 (8): R = 0 gives an even port")
def even_port(lab):
    for _ in range(8):
        client = allocated(lab, (EVEN_PORT, ALONE))
        assert client.relayed[1] % 2 == 0 and client.token is None, client.relayed
    return client.refresh()


@case(0, "8656 7.2 (8), 18.9: R = 1 reserves the next port, for any 5-tuple", coturn=DIFFERS)
def even_port_pair(lab):
    first = allocated(lab, (EVEN_PORT, PAIR))
    assert first.relayed[1] % 2 == 0 and len(first.token) == 8, first.relayed
    for ip in (labs.CLIENT4, labs.CLIENT6):  # the second one finds the token used
        second = lab.client(ip=ip)
        answer = second.allocate([(RESERVATION_TOKEN, first.token)])
        if ip == labs.CLIENT4:
            assert second.relayed == (first.relayed[0], first.relayed[1] + 1), second.relayed
            good = answer
    assert answer.code == 508, answer
    return good


@case(0, "8656 7.2: LIFETIME is raised to the default and cut to the maximum")
def lifetimes(lab):
    for wanted, granted in ((1, 600), (599, 600), (1000, 1000), (3600, 3600), (0xFFFFFFFF, 3600)):
        client = lab.client()
        answer = client.allocate([(LIFETIME, u32(wanted))])
        assert client.granted == granted, (wanted, client.granted)
    return answer


@case(420, "8489 6.3.1: unknown attributes, all listed")
def unknown_attributes(lab):
    client = lab.client()
    answer = client.allocate([(0x7F01, b"x"), (0x7F02, b""), (0xFF01, b"optional")])
    assert set(answer.unknown) == {0x7F01, 0x7F02}, answer.unknown
    return answer


@case(0, "8489 14: unknown optional attributes are ignored")
def optional_attributes(lab):
    return lab.client().allocate([(0xFF01, b"?"), (0xC0DE, b"")])


@case(405, "8016: a ticket is asked for, and mobility is off here")
def ticket(lab):
    return lab.client().allocate([(0x8030, b"")])


@case(0, "8489 14: padding ignored, the first of two attributes counts", coturn=DIFFERS)
def padding_and_duplicates(lab):
    odd = struct.pack("!HH", 0xFF01, 1) + b"abcd"
    extra = [odd, (LIFETIME, u32(900)), (LIFETIME, u32(1800))]
    client = lab.client()
    answer = client.allocate(extra)
    assert client.granted == 900, client.granted
    return answer


# --- without an allocation, with another user's ---------------------------------------------------


@case(437, "8656 5")
def refresh_without_allocation(lab):
    return lab.client().refresh()


@case(437, "8656 5", coturn=400)
def permission_without_allocation(lab):
    return lab.client().permit(PEER)


@case(437, "8656 5", coturn=400)
def channel_without_allocation(lab):
    return lab.client().bind(0x4000, PEER)


def as_olga(client):
    """The client continues with other valid credentials."""
    client.auth = Auth("olga", "geheim", realm=client.auth.realm, nonce=client.auth.nonce)
    return client


@case(441, "8656 5")
def refresh_by_another_user(lab):
    return as_olga(allocated(lab)).refresh(0)


@case(441, "8656 5")
def permission_by_another_user(lab):
    return as_olga(allocated(lab)).permit(PEER)


@case(441, "8656 5")
def channel_by_another_user(lab):
    return as_olga(allocated(lab)).bind(0x4000, PEER)


@case((437, 441), "8656 7.2 (2)")
def allocate_by_another_user(lab):
    return as_olga(allocated(lab)).allocate()


# --- Refresh --------------------------------------------------------------------------------------


@case(0, "8656 8.2: max(600, min(requested, 3600)); none = 600")
def refresh_lifetimes(lab):
    client = allocated(lab)
    for wanted, granted in ((None, 600), (1, 600), (1200, 1200), (0xFFFFFFFF, 3600)):
        answer = client.refresh(wanted)
        assert answer.lifetime == granted, (wanted, answer.lifetime)
    return answer


@case(0, "8656 8.2: LIFETIME 0 deletes; the answer says 0", coturn=DIFFERS)
def refresh_zero(lab):
    client = allocated(lab)
    answer = client.refresh(0)
    assert answer.lifetime == 0 and client.refresh().code == 437, answer
    assert client.allocate().cls == SUCCESS  # the 5-tuple is free again
    return answer


@case(443, "8656 8.2")
def refresh_other_family(lab):
    return allocated(lab).refresh(attrs=[(REQUESTED_ADDRESS_FAMILY, V6)])


@case(0, "8656 8.2")
def refresh_same_family(lab):
    return allocated(lab).refresh(attrs=[(REQUESTED_ADDRESS_FAMILY, V4)])


@case(420, "8489 6.3.1")
def refresh_unknown_attribute(lab):
    return allocated(lab).refresh(attrs=[(0x7F01, b"")])


# --- CreatePermission -----------------------------------------------------------------------------


@case(0, "8656 10.2: several peers, the port does not matter")
def permission_several(lab):
    return allocated(lab).permit((PEER4, 1), (PEER4, 0), ("10.99.0.77", 9))


@case(400, "8656 10.2")
def permission_without_peer(lab):
    return allocated(lab).request(CREATE_PERMISSION)


@case(400, "8656 10.2: malformed, and none is installed", coturn=DIFFERS)
def permission_malformed(lab):
    echo = lab.echo()
    client = allocated(lab)
    broken = lambda tid: peers(echo.address)(tid) + [(XOR_PEER_ADDRESS, b"\0\1\2")]
    answer = client.request(CREATE_PERMISSION, broken, new_tid())
    client.send(echo.address, b"x")
    assert client.fence() == [] and echo.seen == []
    return answer


@case(443, "8656 10.2: a peer of the other family")
def permission_other_family(lab):
    return allocated(lab).permit((PEER6, 1))


@case(403, "8656 10.2: forbidden by policy (loopback)")
def permission_forbidden(lab):
    return allocated(lab).permit(("127.0.0.1", 1))


@case(403, "8656 10.2: one of several is forbidden, and none is installed", coturn=(0, 403))
def permission_partly_forbidden(lab):
    echo = lab.echo()
    client = allocated(lab)
    answer = client.permit(echo.address, ("127.0.0.1", 1))
    client.send(echo.address, b"x")
    assert client.fence() == [] or answer.code == 0, "the first peer was permitted"
    return answer


@case(508, "8656 10.2: more than limits.permissions", coturn=0)
def permission_cap(lab):
    client = allocated(lab)
    for i in range(PERMISSIONS):
        assert client.permit((f"10.99.0.{100 + i}", 0)).cls == SUCCESS
    answer = client.permit(("10.99.0.200", 0))
    assert client.permit(("10.99.0.100", 0)).cls == SUCCESS  # the installed ones are intact
    return answer


@case(508, "8656 10.2: too many in one request, and none is installed", coturn=0)
def permission_cap_at_once(lab):
    client = allocated(lab)
    answer = client.permit(*[(f"10.99.0.{100 + i}", 0) for i in range(PERMISSIONS + 1)])
    for i in range(PERMISSIONS):
        assert client.permit((f"10.99.0.{120 + i}", 0)).cls == SUCCESS
    return answer


# --- ChannelBind ----------------------------------------------------------------------------------


@case(0, "8656 12.2: the same pair again refreshes; RFFU is ignored")
def channel_again(lab):
    client = allocated(lab)
    assert client.bind(0x4000, PEER).cls == SUCCESS
    return client.request(CHANNEL_BIND, channel(0x4000, PEER, rffu=0xFFFF), new_tid())


@case(0, "8656 12: both ends of the range")
def channel_range(lab):
    client = allocated(lab)
    assert client.bind(0x4000, (PEER4, 1)).cls == SUCCESS
    return client.bind(0x4FFF, (PEER4, 2))


for number in (0x4FFF, 0x5000, 0x7FFF, 0x8000, 0x3FFF, 0, 0xFFFF):

    def channel_of_8656(lab, number=number):
        client = lab.client(labs.ivan(sha256=True))
        assert client.allocate().cls == SUCCESS
        return client.bind(number, PEER)

    def channel_of_5766(lab, number=number):
        return allocated(lab).bind(number, PEER)

    channel_of_8656.__name__ = f"channel_0x{number:04x}"
    channel_of_5766.__name__ = f"channel_0x{number:04x}_of_an_older_client"
    case(0 if number == 0x4FFF else 400, "8656 12.2", coturn=DIFFERS)(channel_of_8656)
    # A client that does not send PASSWORD-ALGORITHMS back does not support RFC 8489
    # (doc/decisions).
    case(0 if 0x4000 <= number <= 0x7FFF else 400, "5766 11")(channel_of_5766)


@case(400, "8656 12.2")
def channel_without_peer(lab):
    return allocated(lab).request(CHANNEL_BIND, channel(0x4000, None), new_tid())


@case(400, "8656 12.2")
def channel_without_number(lab):
    return allocated(lab).request(CHANNEL_BIND, peers(PEER), new_tid())


@case(400, "8656 12.2: bound to another peer")
def channel_taken(lab):
    client = allocated(lab)
    assert client.bind(0x4000, PEER).cls == SUCCESS
    return client.bind(0x4000, (PEER4, 5001))


@case(400, "8656 12.2: the peer has another channel")
def channel_peer_taken(lab):
    client = allocated(lab)
    assert client.bind(0x4000, PEER).cls == SUCCESS
    return client.bind(0x4001, PEER)


@case(443, "8656 12.2")
def channel_other_family(lab):
    return allocated(lab).bind(0x4000, (PEER6, 1))


@case(403, "8656 12.2")
def channel_forbidden(lab):
    return allocated(lab).bind(0x4000, ("127.0.0.1", 1))


@case(403, "the gateway is denied unless allowed by its own prefix", coturn=0)
def channel_to_gateway(lab):
    return allocated(lab).bind(0x4000, (GATEWAY4, 1))


@case(403, "port 0 is no destination", coturn=400)
def channel_to_port_zero(lab):
    return allocated(lab).bind(0x4000, (PEER4, 0))


@case(508, "8656 12.2: more than limits.channels", coturn=0)
def channel_cap(lab):
    client = allocated(lab)
    for i in range(PERMISSIONS):
        assert client.bind(0x4000 + i, (PEER4, 6000 + i)).cls == SUCCESS
    return client.bind(0x4100, (PEER4, 7000))


def check_nothing_left(lab, server):
    """8656 7.2: a refused Allocate leaves no state (conformance 50)."""
    for attrs in (
        [(0x7F01, b"")],
        [(RESERVATION_TOKEN, bytes(8))],
        [(REQUESTED_ADDRESS_FAMILY, V5)],
        [(EVEN_PORT, b"")],
    ):
        assert lab.client().allocate(attrs).code
    rows = server.allocations()
    assert rows == [], rows  # the workers fill them in after their answers


def main(lab):
    limits = {"permissions": PERMISSIONS, "channels": PERMISSIONS}
    server = lab.server({"limits": limits}, allow=("no-permission", "neighbour-failed"))
    if server.name == "slipring":
        check_nothing_left(lab, server)
    run_all(lab, signed=True)
    if server.name != "slipring":
        return
    server.finish()
    lab.server({"peers": {"rfc5766-channels": False}})
    client = allocated(lab)
    assert client.bind(0x5000, PEER).code == 400 and client.bind(0x4FFF, PEER).cls == SUCCESS


if __name__ == "__main__":
    labs.run(main)
