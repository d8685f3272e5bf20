# SPDX-License-Identifier: BSD-3-Clause
"""Clients of several realms: who is asked for what, and who knows of himself."""

import turnlib
from lab import CLIENT4
from turnlib import ALLOCATE, NONCE, REQUEST, REQUESTED_TRANSPORT, UDP, Auth

ORIGIN = 0x802F


def challenge(client, origin=None):
    """The answer to an Allocate without credentials, with this ORIGIN."""
    attrs = [(REQUESTED_TRANSPORT, UDP)] + ([(ORIGIN, origin.encode())] if origin else [])
    answer = client.exchange(turnlib.build(REQUEST, ALLOCATE, attrs))
    assert answer.code == 401 and answer.has(NONCE), answer
    return answer


def client_of(lab, realm, password, origin=None, ip=CLIENT4):
    """A client that has been asked for credentials of a realm, or knows its own."""
    client = lab.client(Auth("ivan", password), ip=ip)
    client.auth.learn(challenge(client, origin))
    client.auth.realm = realm
    return client
