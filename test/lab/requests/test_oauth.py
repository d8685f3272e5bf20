#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Third-party authorization (RFC 7635): coturn's client with access tokens that it seals itself,
and our client with tokens of turnutils_oauth. Invalid tokens are refused and counted, and a reload
removes a key."""

import base64
import os
import re
import subprocess
import time
from dataclasses import dataclass

import lab as labs
import turnlib
import uclient
from control import Control, ctl
from lab import PEER4, PEER6, SERVER4, SERVER6, until
from rereads import reload
from turnlib import SUCCESS, Auth

ACCESS_TOKEN, THIRD_PARTY_AUTHORIZATION = 0x001B, 0x802E
NAME = "relay.test"
# The keys of turnutils_uclient -J; coturn uses the first bytes of its 33 and 17.
KEYS = {
    "north": b"01234567890123456789012345678901",
    "union": b"1234567890123456",
    "oldempire": b"12345678901234567890123456789012",
}


def key(kid):
    return {"kid": kid, "secret": base64.b64encode(KEYS[kid]).decode()}


OAUTH = {"server-name": NAME, "keys": [key(kid) for kid in KEYS]}


@dataclass
class Token(Auth):
    """An access token and its key. Without the token only the key signs."""

    access: bytes = b""
    mac: bytes = b""

    def key(self):
        return self.mac

    def attrs(self):
        return ([(ACCESS_TOKEN, self.access)] if self.access else []) + super().attrs()

    def bring(self, token):
        self.user, self.access, self.mac = token.user, token.access, token.mac


def token(kid, name=NAME, made=None, lifetime=3600):
    """A token sealed by turnutils_oauth."""
    mac = os.urandom(20).replace(b"\0", b"\1")  # it would end at a zero byte
    made = int(time.time()) if made is None else made
    text = lambda value: base64.b64encode(value).decode()
    out = subprocess.run(
        ["turnutils_oauth", "-e", "-i", name, "-j", kid, "-k", text(KEYS[kid]), "-l", str(made),
         "-m", "86400", "-n", "A128GCM" if len(KEYS[kid]) == 16 else "A256GCM", "-p", text(mac),
         "-q", str(made << 16), "-r", str(lifetime)],
        check=True, capture_output=True, timeout=20,
    ).stdout  # fmt: skip
    access = re.search(rb'"access_token":"([^"]+)"', out)[1]  # the key next to it is raw bytes
    return Token(kid, "", access=base64.b64decode(access), mac=mac)


def real_clients(lab):
    """coturn's client: each Allocate and Refresh has another token, of a random key. It signs with
    16 bytes of the 20, like coturn's server."""
    uclient.start_peer(lab)
    runs = [
        uclient.start(lab, label, server, peer, *options, clients=2, messages=30, user=user)
        for label, server, peer, options, user in (
            ("tokens", SERVER4, PEER4, ("-c",), ("-J",)),
            ("tokens, pairs", SERVER4, PEER4, (), ("-J",)),
            ("tokens, indications, IPv6", SERVER6, PEER6, ("-c", "-x", "-s"), ("-J",)),
            ("tokens, both families, extra requests", SERVER4, PEER4, ("-c", "-Z", "-G"), ("-J",)),
            ("a password beside them", SERVER4, PEER4, ("-c",), uclient.USER),
        )
    ]
    assert not uclient.finish(runs)


def relays(client):
    client.send_channel(0x4000, b"media")
    return client.wait("channel") == ("channel", 0x4000, b"media")


def session(lab, echo):
    """A challenge names the server. The token limits the allocation's lifetime. The key alone signs
    requests that do not extend it."""
    client = lab.client(token("north", lifetime=60))
    answer = client.challenge()
    assert answer.get(THIRD_PARTY_AUTHORIZATION) == NAME.encode(), answer
    assert client.allocate().cls == SUCCESS and 55 <= client.granted <= 61, client.granted
    client.auth.access = b""
    assert client.bind(0x4000, echo.address).cls == SUCCESS
    assert relays(client)
    answer = client.refresh(600)
    assert answer.code == 401 and answer.has(THIRD_PARTY_AUTHORIZATION), answer
    client.auth.bring(token("union"))
    answer = client.refresh(600)
    assert answer.cls == SUCCESS and answer.lifetime == 600, answer
    client.auth.access = b""
    assert client.permit(echo.address).cls == SUCCESS
    assert relays(client)
    return client


def refusals(lab, server):
    """Each reason once, by name."""
    now = int(time.time())
    old = token("north", made=now - 7200)
    cases = {
        "access-token-expired": old,
        "access-token-future": token("north", made=now + 60),
        "access-token-forged": token("north", name="other.test"),
        "access-key-unknown": Token("east", "", access=old.access, mac=old.mac),
        "access-token-malformed": Token("north", "", access=old.access[:-1], mac=old.mac),
        "access-token-signature": Token("north", "", access=token("north").access, mac=old.mac),
    }
    before = server.refusals()
    for auth in cases.values():
        with lab.client(auth) as client:
            answer = client.allocate()
            assert answer.code == 401 and answer.has(THIRD_PARTY_AUTHORIZATION), answer
    # more than once if a client retransmitted on a busy machine
    counted = lambda now: all(now.get(reason, 0) > before.get(reason, 0) for reason in cases)
    until(lambda: counted(server.refusals()), 10, "each reason is counted")


def operator(path, client):
    """A session's user name is the key id of its token."""
    with Control(path) as ask:
        rows = ask.ask("allocations", user="union")["rows"]
        assert [row["user"] for row in rows] == ["union"], rows
        assert not ask.ask("allocations", user="north")["rows"]
        assert ask.ask("show", id=rows[0]["id"])["allocation"]["algorithm"] == "access-token"
    assert "access-token" in ctl(path, "show", rows[0]["id"])


def keys_go(lab, server, client, echo):
    """The sessions of a removed key end. Those of other keys continue."""
    second = lab.client(token("oldempire"))
    assert second.allocate().cls == SUCCESS and second.bind(0x4000, echo.address).cls == SUCCESS
    line = reload(server, {"auth": {"oauth": {"keys": [key("north"), key("oldempire")]}}})
    assert "1 allocation ended" in line, line
    assert relays(second)
    client.auth.bring(token("union"))
    assert client.refresh(600).code == 401
    second.auth.bring(token("oldempire"))
    assert second.refresh(600).cls == SUCCESS
    rows = lambda: labs.records(server.config["records"]["file"])
    told = lambda: [row for row in rows() if row.get("why") == "user-gone"]
    until(told, 10, "the record of its end")
    assert told()[0]["user"] == "union"


def main(lab):
    labs.need_own_server()
    path = os.path.join(lab.dir, "control.sock")
    config = {
        "auth": {"oauth": OAUTH},
        "control": {"socket": path},
        "records": {"file": os.path.join(lab.dir, "records.json")},
    }
    server = lab.server(config, allow={"no-allocation", "peer-no-allocation"})
    echo = lab.echo(PEER4)
    client = session(lab, echo)
    refusals(lab, server)
    operator(path, client)
    keys_go(lab, server, client, echo)
    reload(server, {})  # restores all keys
    real_clients(lab)


if __name__ == "__main__":
    labs.run(main)
