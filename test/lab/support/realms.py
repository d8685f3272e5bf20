# SPDX-License-Identifier: BSD-3-Clause
"""Clients of several realms: the server chooses the realm, or the client knows its own."""

import turnlib
from lab import CLIENT4
from turnlib import ALLOCATE, NONCE, REQUEST, REQUESTED_TRANSPORT, UDP, Auth

ORIGIN = 0x802F


def challenge(client, origin=None):
    """The answer to an Allocate request without credentials, with this ORIGIN."""
    attrs = [(REQUESTED_TRANSPORT, UDP)] + ([(ORIGIN, origin.encode())] if origin else [])
    answer = client.exchange(turnlib.build(REQUEST, ALLOCATE, attrs))
    assert answer.code == 401 and answer.has(NONCE), answer
    return answer


def client_of(lab, realm, password, origin=None, ip=CLIENT4):
    """A client that was challenged for a realm, or knows its realm."""
    client = lab.client(Auth("ivan", password), ip=ip)
    client.auth.learn(challenge(client, origin))
    client.auth.realm = realm
    return client
