#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Long-term credentials (RFC 8489 9.2): challenges, both integrities, USERHASH, REST, nonces."""

import struct
import time

import lab as labs
import turnlib
from cases import DIFFERS, ON_COTURN, case, run_all
from lab import ivan
from turnlib import (
    ALLOCATE,
    BINDING,
    ERROR_CODE,
    FINGERPRINT,
    LIFETIME,
    MESSAGE_INTEGRITY,
    MESSAGE_INTEGRITY_SHA256,
    NONCE,
    NONCE_COOKIE,
    PASSWORD_ALGORITHM,
    PASSWORD_ALGORITHMS,
    REALM,
    REFRESH,
    REQUEST,
    REQUESTED_TRANSPORT,
    SUCCESS,
    UDP,
    USERHASH,
    USERNAME,
    Auth,
    attr,
    build,
    integrity,
    rest_credentials,
)

TRANSPORT = (REQUESTED_TRANSPORT, UDP)


def challenged(lab, auth=None, ip=labs.CLIENT4):
    client = lab.client(auth or ivan(), ip=ip)
    client.challenge()
    return client


def raw(client, attrs, **kwargs):
    """An Allocate with exactly these attributes after REQUESTED-TRANSPORT."""
    return client.exchange(build(REQUEST, ALLOCATE, [TRANSPORT, *attrs], **kwargs))


def is_challenge(answer):
    """8489 9.2.4: the attributes that a 401 or 438 must have and must not have."""
    assert answer.get(REALM) == b"turn.test" and answer.has(NONCE), answer
    for unwanted in (USERNAME, USERHASH, MESSAGE_INTEGRITY, MESSAGE_INTEGRITY_SHA256):
        assert not answer.has(unwanted), answer
    if not ON_COTURN:
        algorithms = struct.pack("!4H", 2, 0, 1, 0)  # SHA-256, then MD5
        assert answer.get(PASSWORD_ALGORITHMS) == algorithms, answer
        assert not answer.has(turnlib.SOFTWARE) and answer.reason == "", answer
        nonce = answer.get(NONCE)
        assert nonce.startswith(NONCE_COOKIE) and len(nonce) <= 32, nonce
    return answer


def is_bare_400(answer):
    """8489 9.2.4: a 400 of the authentication has neither REALM nor NONCE."""
    assert answer.code != 400 or not (answer.has(REALM) or answer.has(NONCE)), answer
    return answer


# --- the challenge --------------------------------------------------------------------------------


@case(401, "8489 9.2.4-1")
def no_integrity(lab):
    answers = [is_challenge(lab.client().challenge()) for _ in range(3)]
    nonces = {a.get(NONCE) for a in answers}
    assert len(nonces) == 3, f"nonces of three clients: {nonces}"
    return answers[0]


@case(401, "8489 9.2.4-1: before anything else is looked at")
def no_integrity_and_all_wrong(lab):
    data = build(REQUEST, ALLOCATE, [(0x7F01, b""), (REQUESTED_TRANSPORT, b"\0")])
    return is_challenge(lab.client().exchange(data))


@case(401, "8489 9.2.4-1: other methods too")
def no_integrity_refresh(lab):
    return is_challenge(lab.client().exchange(build(REQUEST, REFRESH)))


@case(400, "8489 9.2.4-2", coturn=DIFFERS)
def no_username(lab):
    client = challenged(lab)
    user, realm, nonce = client.auth.attrs()
    return is_bare_400(raw(client, [realm, nonce], key=client.auth.key()))


@case(400, "8489 9.2.4-2", coturn=DIFFERS)
def no_realm(lab):
    client = challenged(lab)
    user, realm, nonce = client.auth.attrs()
    return is_bare_400(raw(client, [user, nonce], key=client.auth.key()))


@case(400, "8489 9.2.4-2", coturn=DIFFERS)
def no_nonce(lab):
    client = challenged(lab)
    user, realm, nonce = client.auth.attrs()
    return is_bare_400(raw(client, [user, realm], key=client.auth.key()))


@case(0, "8489 9.2.4")
def sha1(lab):
    return challenged(lab).allocate()


@case(0, "8489 14.7")
def with_fingerprint(lab):
    return lab.client(with_fingerprint=True).allocate()


@case(0, "8489 9.2.4-3, 14.6", coturn=DIFFERS)
def sha256(lab):
    return challenged(lab, ivan(sha256=True)).allocate()


@case(0, "8489 14.4", coturn=DIFFERS)
def userhash(lab):
    return challenged(lab, ivan(sha256=True, anonymous=True)).allocate()


@case(0, "8489 14.4: with the MD5 key", coturn=DIFFERS)
def userhash_md5(lab):
    return challenged(lab, ivan(anonymous=True)).allocate()


@case(0, "8489 14.6: over IPv6, and every method", coturn=DIFFERS)
def sha256_methods(lab):
    client = challenged(lab, ivan(sha256=True), labs.CLIENT6)
    for answer in (
        client.allocate(),
        client.permit((labs.PEER4, 1)),
        client.bind(0x4000, (labs.PEER4, 1)),
    ):
        assert answer.cls == SUCCESS, answer
    return client.refresh(0)


# --- bid-down (8489 9.2.4-3) ----------------------------------------------------------------------


def with_algorithms(lab, *algorithms):
    """An Allocate signed with SHA-256 with these algorithm attributes."""
    client = challenged(lab, ivan(sha256=True))
    user, realm, nonce, *_ = client.auth.attrs()
    data = [user, realm, nonce, *algorithms]
    return is_bare_400(raw(client, data, key=client.auth.key(), sha256=True))


BOTH, MD5_ONLY = struct.pack("!4H", 2, 0, 1, 0), struct.pack("!2H", 1, 0)
CHOSE_SHA256, CHOSE_OTHER = struct.pack("!2H", 2, 0), struct.pack("!2H", 3, 0)


@case(400, "8489 9.2.4-3: the list was cut on its way", coturn=DIFFERS)
def algorithms_cut(lab):
    return with_algorithms(lab, (PASSWORD_ALGORITHMS, MD5_ONLY), (PASSWORD_ALGORITHM, MD5_ONLY))


@case(400, "8489 9.2.4-3: choice without list", coturn=DIFFERS)
def algorithms_absent(lab):
    return with_algorithms(lab, (PASSWORD_ALGORITHM, CHOSE_SHA256))


@case(400, "8489 9.2.4-3: list without choice", coturn=DIFFERS)
def algorithm_absent(lab):
    return with_algorithms(lab, (PASSWORD_ALGORITHMS, BOTH))


@case(400, "8489 9.2.4-3: not in the list", coturn=DIFFERS)
def algorithm_unknown(lab):
    return with_algorithms(lab, (PASSWORD_ALGORITHMS, BOTH), (PASSWORD_ALGORITHM, CHOSE_OTHER))


def md5_chosen(lab, sha256):
    """The answer has the request's kind of integrity, and no other."""
    client = challenged(lab)
    data = client.auth.attrs() + [(PASSWORD_ALGORITHMS, BOTH), (PASSWORD_ALGORITHM, MD5_ONLY)]
    answer = raw(client, data, key=client.auth.key(), sha256=sha256)
    assert answer.integrity_ok(client.auth.key(), sha256), answer
    assert not answer.has(MESSAGE_INTEGRITY if sha256 else MESSAGE_INTEGRITY_SHA256), answer
    return answer


@case(0, "8489 9.2.4: MD5 chosen, signed with SHA-256", coturn=DIFFERS)
def algorithm_md5_chosen(lab):
    return md5_chosen(lab, True)


@case(0, "MD5 chosen, signed with SHA-1, as stun-proto does; a deviation", coturn=DIFFERS)
def algorithm_md5_chosen_sha1(lab):
    return md5_chosen(lab, False)


# --- wrong credentials ----------------------------------------------------------------------------


@case(401, "8489 9.2.4-4")
def unknown_user(lab):
    return is_challenge(challenged(lab, Auth("nobody", "pw")).allocate())


@case(401, "8489 9.2.4-4", coturn=DIFFERS)
def unknown_userhash(lab):
    return is_challenge(challenged(lab, Auth("nobody", "pw", anonymous=True)).allocate())


@case(401, "8489 9.2.4-5")
def wrong_password(lab):
    return is_challenge(challenged(lab, Auth("ivan", "wrong")).allocate())


@case(401, "8489 9.2.4-5", coturn=DIFFERS)
def wrong_password_sha256(lab):
    return is_challenge(challenged(lab, Auth("ivan", "wrong", sha256=True)).allocate())


@case(401, "8489 9.2.4-5: of both integrities SHA-256 is the one checked", coturn=DIFFERS)
def both_integrities(lab):
    client = challenged(lab)
    data = build(REQUEST, ALLOCATE, [TRANSPORT, *client.auth.attrs()], key=client.auth.key())
    data += attr(MESSAGE_INTEGRITY_SHA256, integrity(data, b"wrong", sha256=True))
    return is_challenge(client.exchange(data[:2] + struct.pack("!H", len(data) - 20) + data[4:]))


@case((401, 400), "8489 14.5: 20 bytes, no less", coturn=DIFFERS)
def short_integrity(lab):
    client = challenged(lab)
    attrs = [TRANSPORT, *client.auth.attrs()]
    whole = build(REQUEST, ALLOCATE, attrs, key=client.auth.key())
    offset = len(whole) - 20
    data = whole[: offset - 4] + attr(MESSAGE_INTEGRITY, whole[offset : offset + 16])
    return client.exchange(data[:2] + struct.pack("!H", len(data) - 20) + data[4:])


@case((401, 400), "8489 14.3: up to 508 bytes, never truncated")
def long_username(lab):
    for size in (508, 509, 763, 764, 1000):
        code = challenged(lab, Auth("u" * size, "pw")).allocate().code
        assert code == 401 or (code == 400 and size > 508), (size, code)
    return challenged(lab, Auth("ivan" + "\0" * 60, "pw")).allocate()


@case((401, 400, 437, 441), "8489 9.2.4: another realm", coturn=DIFFERS)
def other_realm(lab):
    client = challenged(lab)
    client.auth.realm = "elsewhere.test"
    return client.exchange(client.signed(ALLOCATE, [TRANSPORT]))


@case(0, "8489 14.5: what follows the integrity is ignored", coturn=DIFFERS)
def after_integrity(lab):
    client = challenged(lab)
    data = (
        client.signed(ALLOCATE, [TRANSPORT]) + attr(0x7F01, b"late") + attr(LIFETIME, b"\0\0\1\1")
    )
    answer = client.exchange(data[:2] + struct.pack("!H", len(data) - 20) + data[4:])
    assert answer.lifetime == 600, answer.lifetime
    return answer


# --- nonces ---------------------------------------------------------------------------------------


def with_nonce(client, nonce):
    client.auth.nonce = nonce
    answer = client.exchange(client.signed(ALLOCATE, [TRANSPORT]))
    if answer.code == 438:
        is_challenge(answer)
        client.auth.learn(answer)
        assert client.allocate().cls == SUCCESS, "the nonce of a 438 is good at once"
    return answer


@case(438, "8489 9.2.4-6: never given")
def nonce_forged(lab):
    client = challenged(lab)
    good = client.auth.nonce
    return with_nonce(client, good[:-1] + (b"A" if good[-1:] != b"A" else b"B"))


@case(438, "8489 9.2.4-6: short")
def nonce_short(lab):
    return with_nonce(challenged(lab), b"obMatJos2AAAA")


@case(438, "8489 9.2.4-1: given to another port of the same host")
def nonce_of_another(lab):
    return with_nonce(challenged(lab), challenged(lab).auth.nonce)


@case(438, "8489 9.2.4-3: the feature bits are protected", coturn=DIFFERS)
def nonce_bits_cut(lab):
    client = challenged(lab)
    return with_nonce(client, NONCE_COOKIE + b"AAAA" + client.auth.nonce[13:])


# --- Binding --------------------------------------------------------------------------------------


@case(0, "8489 12: needs no credentials")
def binding(lab):
    for ip in (labs.CLIENT4, labs.CLIENT6):
        client = lab.client(ip=ip)
        answer = client.binding([(0xC057, b"network cost")])
        assert answer.address(turnlib.XOR_MAPPED_ADDRESS) == client.sock.getsockname()[:2], answer
    return answer


@case(0, "8489 14.7")
def binding_with_fingerprint(lab):
    return lab.client().exchange(build(REQUEST, BINDING, with_fingerprint=True))


@case(420, "8489 6.3.1", coturn=DIFFERS)
def binding_unknown_attribute(lab):
    answer = lab.client().binding([(0x7F01, b"x"), (0x0003, bytes(4))])
    assert set(answer.unknown) == {0x7F01, 0x0003}, answer.unknown
    assert answer.has(ERROR_CODE) and not answer.has(FINGERPRINT)
    return answer


# --- REST -----------------------------------------------------------------------------------------


def rest(lab, secret, expiry, name="olga"):
    user, password = rest_credentials(secret, expiry, name)
    return lab.client(Auth(user, password))


def soon(seconds=60):
    return time.time() + seconds


def rest_cases(lab):
    """These run against coturn, too, in a separate server (it has either users or secrets)."""
    assert rest(lab, "s3cret", soon()).allocate().cls == SUCCESS
    assert rest(lab, "older", soon()).allocate().cls == SUCCESS, "the second secret"
    assert rest(lab, "s3cret", soon(), None).allocate().cls == SUCCESS, "expiry alone"
    assert rest(lab, "unknown", soon()).allocate().code == 401
    assert rest(lab, "s3cret", soon(-5)).allocate().code == 401, "expired"
    # An expired name makes no allocation. Its existing allocation continues.
    end = int(time.time()) + 2
    client = rest(lab, "s3cret", end)
    assert client.allocate().cls == SUCCESS
    again = lambda: rest(lab, "s3cret", end).allocate().code
    labs.until(lambda: again() == 401, 4, "an expired user is refused an Allocate")
    assert client.refresh().cls == SUCCESS and client.permit((labs.PEER4, 1)).cls == SUCCESS
    if ON_COTURN:
        return
    sha256 = Auth(*rest_credentials("s3cret", soon(), "ivan"), sha256=True)
    assert lab.client(sha256).allocate().cls == SUCCESS
    anonymous = Auth(*rest_credentials("s3cret", soon(), "ivan"), anonymous=True)
    assert lab.client(anonymous).allocate().code == 401, "USERHASH is for configured users"


# --- OpaqueString ---------------------------------------------------------------------------------


def prepared(lab):
    """8489 9.2.2, 14.3, 14.4: a configuration with combining marks and another space character, and
    clients that send the OpaqueString form of it. A client that does not prepare its strings is
    another user."""
    name, password, realm = "Zoe\u0308", "pa\u0308ss\u3000word", "re\u0301alm.test"
    user = {"name": name, "password": password}
    lab.server({"auth": {"realm": realm, "users": [user], "secrets": []}})
    composed = "Zo\u00eb", "p\u00e4ss word"
    for how in ({}, {"sha256": True}, {"sha256": True, "anonymous": True}):
        client = lab.client(Auth(*composed, **how))
        assert client.challenge().get(REALM).decode() == "r\u00e9alm.test"
        assert client.allocate().cls == SUCCESS, how
        client.close()
    for account in ((name, composed[1]), (composed[0], password)):
        assert lab.client(Auth(*account)).allocate().code == 401


def main(lab):
    lab.server()
    run_all(lab)
    if ON_COTURN:
        lab.servers[0].stop()
        lab.server(args=("rest",))
    rest_cases(lab)
    print("ok     REST secrets")
    if not ON_COTURN:
        lab.servers[0].finish()
        prepared(lab)
        print("ok     OpaqueString")


if __name__ == "__main__":
    labs.run(main)
