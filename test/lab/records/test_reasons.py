#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# long: unit tests provoke each reason under ASan (test_refusals)
"""Each reason for which a request is refused, provoked by a real client: its answer (RFC 8656, RFC
8489), and the operator finds the reason by user and by address, and in the records.
test_reasons_streams has the reasons of connections.
"""

import itertools

import lab as labs
import reasons
from control import ctl
from lab import PEER4, PEER6, SERVER4, SERVER6, until
from reasons import Cases, rest
from server import CONFIG
from turnlib import (
    ALLOCATE,
    BINDING,
    CREATE_PERMISSION,
    EVEN_PORT,
    NONCE,
    PASSWORD_ALGORITHM,
    PASSWORD_ALGORITHMS,
    REALM,
    REFRESH,
    REQUEST,
    REQUESTED_ADDRESS_FAMILY,
    REQUESTED_TRANSPORT,
    RESERVATION_TOKEN,
    SUCCESS,
    UDP,
    Auth,
    build,
)

# Reasons that no client can provoke here, or that cause no event, and the test that has them.
ELSEWHERE = {
    "draining": "an operator has to ask for it (test_drain)",
    "alternate": "an operator has to ask for it (test_drain)",
    "alternate-always": "there have to be other servers (test_alternate)",
    "alternate-allocations": "there have to be other servers (test_alternate)",
    "alternate-datagrams": "there have to be other servers (test_alternate)",
    "challenge": "how every client begins: counted only (test_exporter)",
    "nonce-stale": "how long sessions go on: counted only (test_limits)",
    "quota-realm": "there have to be several realms (test_realms)",
    **dict.fromkeys(
        (
            "access-key-unknown",
            "access-token-malformed",
            "access-token-forged",
            "access-token-signature",
            "access-token-expired",
            "access-token-future",
            "access-token-missing",
        ),
        "there have to be keys of tokens (test_oauth)",
    ),
    "lookup-unanswered": "users have to be looked up (test_lookup)",
    "lookup-full": "users have to be looked up (unit test lookup)",
    "relay-lost": "the network has to take an address back (test_addresses)",
    "tcp-client": "relay.tcp has to be on (test_tcp_relay)",
    "tcp-method": "relay.tcp has to be on (test_tcp_relay)",
    "tcp-own": "relay.tcp has to be on (test_tcp_relay)",
    "port-share": "one worker's share, which the quota hides (unit test refusals)",
    "redirects-full": "more redirects than a worker has room for (unit test refusals)",
    "peer-own": "a port of the box that is no relay port (lab test beside)",
    "no-memory": "a table that is full before limits are (unit test refusals)",
    "internal": "libcrypto has to fail (unit test refusals)",
}
ASK = (REQUESTED_TRANSPORT, UDP)
MOBILITY_TICKET = 0x8030
ASKED = [(MOBILITY_TICKET, b"")]
PEER = (PEER4, 5000)
FAR = "198.51.100.7"  # without a route
PUBLIC4 = "203.0.113.1"

wide, narrow, shared = Cases(), Cases(), Cases()

# --- credentials ----------------------------------------------------------------------------------


@wide.case(438, proved=False, named=False)  # on an unproved address any name is possible
def nonce_foreign(me):
    client = me.challenged()
    nonce = client.auth.nonce
    client.auth.nonce = nonce[:-1] + (b"A" if nonce[-1:] != b"A" else b"B")
    return client.exchange(client.signed(ALLOCATE, [ASK]))


@wide.case(400, proved=False, named=False)
def credentials_incomplete(me):
    client = me.challenged()
    attrs = [ASK, (REALM, client.auth.realm.encode()), (NONCE, client.auth.nonce)]
    return client.exchange(build(REQUEST, ALLOCATE, attrs, key=client.auth.key()))


@wide.case(403)
def user_blocked(me):
    """The workers have the order a moment after its answer; a granted allocation ends then."""
    ctl(me.server.config["control"]["socket"], "block", "--user", me.user)

    def blocked():
        answer = me.client().allocate()
        return answer if answer.code == 403 else None

    return until(blocked, 5, "the user is blocked")


@wide.case(400)
def password_algorithms(me):
    client = me.challenged()
    unknown = b"\0\7\0\0"
    attrs = [ASK, (PASSWORD_ALGORITHMS, unknown), (PASSWORD_ALGORITHM, unknown)]
    return client.exchange(client.signed(ALLOCATE, attrs))


@wide.case(400, named=False)
def name_long(me):
    client = me.challenged(auth=Auth("n" * 800, "pw"))
    return client.exchange(client.signed(ALLOCATE, [ASK]))


@wide.case(401)
def realm_wrong(me):
    client = me.challenged()
    client.auth.realm = "other.test"
    return client.exchange(client.signed(ALLOCATE, [ASK]))


@wide.case(401)
def user_unknown(me):
    return me.client(auth=Auth("nobody", "pw")).allocate()


@wide.case(401)
def password_wrong(me):
    return me.client(auth=Auth("ivan", "wrong")).allocate()


@wide.case(401)
def rest_expired(me):
    answer = me.client(auth=rest("rest-expired", after=-60)).allocate()
    me.user = "rest-expired"
    return answer


@wide.case(401)
def rest_name_wrong(me):
    """The timestamp is in milliseconds."""
    me.user = "1795911616000:rest-name-wrong"
    return me.client(auth=Auth(me.user, "pw")).allocate()


@wide.case(401)
def rest_password_wrong(me):
    answer = me.client(auth=rest("rest-password-wrong", secret="another")).allocate()
    me.user = "rest-password-wrong"
    return answer


@wide.case(method="Refresh")
def guesses(me):
    client = me.challenged(auth=Auth("ivan", "wrong"))
    for _ in range(8):
        client.send_raw(client.signed(REFRESH))


@wide.case(proved=False, named=False)
def unauthenticated(me):
    client = me.client()
    for _ in range(60):
        client.send_raw(build(REQUEST, ALLOCATE, [ASK]))


@wide.case(method="Binding", proved=False, named=False)
def binding(me):
    client = me.client()
    for _ in range(20):
        client.send_raw(build(REQUEST, BINDING))


# --- requests --------------------------------------------------------------------------------


@wide.case(420)
def attribute_unknown(me):
    return me.client().request(ALLOCATE, [ASK, (0x7F00, b"")])


@wide.case(400, "CreatePermission")
def malformed(me):
    return me.allocated().request(CREATE_PERMISSION)


@wide.case(437, "Refresh")
def no_allocation(me):
    return me.client().refresh()


@wide.case(437)
def allocated_already(me):
    return me.allocated().allocate()


@wide.case(441, "Refresh")
def other_user(me):
    client = me.allocated()
    client.auth = Auth("olga", "geheim", realm=client.auth.realm, nonce=client.auth.nonce)
    me.user = "olga"
    return client.refresh()


@wide.case(405)
def mobility_forbidden(me):
    return me.client().allocate(ASKED)


@shared.case(437, "Refresh")
def ticket_unknown(me):
    return me.client().request(REFRESH, [(MOBILITY_TICKET, b"x" * 32)])


@shared.case(508, "Refresh")
def moves_full(me):
    """There is room for one move, and another client of the user has it."""
    for _ in range(2):
        client, moved = me.client(), me.client()
        ticket = client.allocate(ASKED).get(MOBILITY_TICKET)
        moved.auth = client.auth
        answer = moved.request(REFRESH, [(MOBILITY_TICKET, ticket)])
    return answer


@wide.case(440)
def family(me):
    return me.client().allocate([(REQUESTED_ADDRESS_FAMILY, b"\5\0\0\0")])


@wide.case(442)
def transport(me):
    return me.client().allocate(transport=b"\x06\0\0\0")


@wide.case(443, "CreatePermission")
def peer_family(me):
    return me.allocated().permit((PEER6, 1))


@wide.case(508)
def reservation_unknown(me):
    return me.client().allocate([(RESERVATION_TOKEN, b"\x12" * 8)])


# --- peers ----------------------------------------------------------------------------------------


@wide.case(403, "CreatePermission")
def peer_never(me):
    return me.allocated().permit(("0.0.0.0", 9))


@wide.case(403, "CreatePermission")
def peer_denied(me):
    return me.allocated().permit(("10.1.2.3", 9))


@wide.case(403, "CreatePermission")
def peer_unreachable(me):
    return me.allocated().permit((FAR, 9))


@wide.case(508, "CreatePermission")
def permissions_full(me):
    return me.allocated().permit(*((f"10.99.0.{host}", 9) for host in range(240, 244)))


@wide.case(508, "ChannelBind")
def channels_full(me):
    client = me.allocated()
    for number in range(2):
        assert client.bind(0x4000 + number, (PEER4, 6000 + number)).cls == SUCCESS
    return client.bind(0x4002, (PEER4, 6002))


@wide.case(400, "ChannelBind")
def channel_number(me):
    return me.allocated().bind(0x3FFF, PEER)


@wide.case(400, "ChannelBind")
def channel_clash(me):
    client = me.allocated()
    assert client.bind(0x4000, PEER).cls == SUCCESS
    return client.bind(0x4000, (PEER4, 5001))


# --- quotas; the last case fills the server -------------------------------------------------------


@wide.case(486)
def quota_user(me):
    assert all(me.allocated() for _ in range(2))
    return me.client().allocate()


@wide.case(508)
def quota_pair(me):
    me.allocated()
    return me.client().allocate([(EVEN_PORT, b"\x80")])


@wide.case(486)
def quota_source(me):
    assert all(me.allocated(user=f"one of {number}") for number in range(4))
    return me.client().allocate()


@wide.case(486)
def quota_total(me):
    """Each of the others has its own address, so no other quota applies."""
    for number in itertools.count():
        filler = me.lab.client(rest(f"filler {number}"), ip=reasons.address(me.lab))
        if filler.allocate().code:
            break
    return me.client().allocate()


# --- few relay ports, and translated ones -----------------------------------


@narrow.case(508, "ChannelBind")
def channel_form(me):
    """By the peer's external address and by its own: it has one channel (508: no error of the
    client)."""
    peer, client = me.allocated(user="peer"), me.allocated()
    assert client.bind(0x4000, peer.relayed).cls == SUCCESS
    return client.bind(0x4001, (SERVER4, peer.relayed[1]))


@narrow.case(508)
def no_port(me):
    for number in range(64):
        # separate users, since each may have only a share of the ports
        answer = me.client(user=f"one of {number}").allocate()
        if answer.code:
            break
    return answer


# --- shared relay ports ----------------------------------------------------------


@shared.case(508)
def shared_no_pair(me):
    return me.client().allocate([(EVEN_PORT, b"\0")])


@shared.case(508, "ChannelBind")
def shared_peer(me):
    """One peer on each shared address, and one more."""
    for number in range(16):
        client = me.allocated(user=f"user {number}")
        answer = client.bind(0x4000, (PEER4, 7000))
        if answer.code:
            break
    return answer


@shared.case(508, "ChannelBind")
def shared_share(me):
    """One user has the peer on more than half of the shared addresses."""
    for _ in range(16):
        answer = me.allocated().bind(0x4000, (PEER4, 7001))
        if answer.code:
            break
    return answer


@shared.case(508, "ChannelBind")
def shared_full(me):
    client = me.allocated()
    for number in range(2):
        assert client.bind(0x4000 + number, (PEER4, 7100 + number)).cls == SUCCESS
    return client.bind(0x4002, (PEER4, 7102))


def main(lab):
    labs.need_own_server()
    whole = {**CONFIG["ports"][0], "addresses": [SERVER4 + reasons.NETWORK, SERVER6 + "/64"]}
    port = {key: value for key, value in whole.items() if key != "gateway"}
    quick = {"rate": 1, "burst": 4}
    limits = {"allocations": 24, "per-user": 2, "per-source": 4, "permissions": 3, "channels": 2}
    limits |= {"guesses": quick, "binding": quick, "unauthenticated": {"rate": 1, "burst": 16}}
    peers = {"allow": ["10.99.0.0/24", "fd99::/64", FAR]}
    config = reasons.config(lab, "wide", ports=[port], limits=limits, peers=peers)
    server = lab.server(config, allow={"guess-rate", "binding-rate", "unauthenticated-rate"})
    reasons.check(lab, server, wide)
    server.finish()

    address = {"address": SERVER4 + reasons.NETWORK, "external": PUBLIC4}
    port = {**whole, "addresses": [address]}
    config = reasons.config(lab, "narrow", ports=[port],
        listeners=[{"transport": "udp", "address": SERVER4}],
        relay={"addresses": [SERVER4], "ports": "49152-49159"})  # fmt: skip
    server = lab.server(config)
    reasons.check(lab, server, narrow)
    server.finish()

    relay = {"mode": "shared", "ports": "3480-3483", "peers-per-allocation": 2, "peer-share": 50}
    relay["mobility"] = {"enabled": True}
    limits = {"allocations": 200, "pool": {"moves": 1}}
    server = lab.server(reasons.config(lab, "shared", ports=[whole], relay=relay, limits=limits))
    reasons.check(lab, server, shared)
    server.finish()
    reasons.complete("lib/turn/public/turn_refusal.h", "TURN_REFUSALS", (wide, narrow, shared), ELSEWHERE)


if __name__ == "__main__":
    labs.run(main)
