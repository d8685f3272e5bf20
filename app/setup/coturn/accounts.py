# SPDX-License-Identifier: BSD-3-Clause
"""Credentials: realm, users, secrets, nonces."""

import re
import socket

from coturn.key import DO, NOTE

NAME_MAX, TEXT_MAX, REALM_MAX, SECRETS_MAX, SERVER_NAME_MAX = 508, 1023, 763, 16, 255
KEY = re.compile(r"[0-9a-fA-F]{32}")
DAY = 86400
# Keys of databases, and the type of each for slipring-accounts
SQLITE = "sqlite"
DATABASES = {"userdb": SQLITE, "db": SQLITE, "psql-userdb": "postgresql", "sql-userdb": "postgresql",
             "mysql-userdb": "mariadb", "redis-userdb": "redis"}  # fmt: skip


def put_realm(settings, document):
    """coturn without a realm takes the NIS domain's name, or no realm, which slipring does not support."""
    realm, line = settings.get("realm", ""), settings.line("realm")
    if len(realm.encode()) > REALM_MAX:
        settings.tell(line, f"a realm has {REALM_MAX} bytes at most")
        realm = ""
    if realm:
        document.put("auth.realm", realm, settings.where("realm"))
        return
    keyed = next((line for line, value in settings.all("user") if ":0x" in value), None)
    if keyed:
        settings.tell(keyed, "there is no realm, but keys are made for one: write that realm")
    document.put("auth.realm", socket.gethostname() or "turn", "the file has no realm: this machine's name")


def put_secrets(settings, document):
    """True if there are secrets. coturn then ignores the users of the file."""
    pairs = [(line, value) for line, value in settings.all("static-auth-secret") if value]
    for line, _ in pairs[SECRETS_MAX:]:
        settings.tell(line, f"there can be {SECRETS_MAX} secrets at most")
    for line, value in settings.all("static-auth-secret"):
        if not value:
            settings.tell(line, "it is empty")
    for line, value in pairs[:SECRETS_MAX]:
        document.add("auth.secrets", value, f"static-auth-secret in line {line.number}")
    return bool(pairs or settings.line("use-auth-secret"))


def put_lookup(settings, document):
    """Users and secrets in a database. Without another one coturn has them in a file of SQLite."""
    named = {name: kind for name, kind in DATABASES.items() if settings.line(name)}
    elsewhere = settings.all("static-auth-secret") or settings.line("mongo-userdb")
    elsewhere = elsewhere or "static-auth-secret" in settings.variables
    if not named and settings.line("use-auth-secret") and not elsewhere:
        named = {"use-auth-secret": SQLITE}
    for name, kind in named.items():
        settings.tell(settings.line(name), f"install slipring-accounts, with a source of type {kind} in"
            " /etc/slipring/accounts.yaml", DO)  # fmt: skip
    if named:
        document.put("auth.lookup.enabled", True, settings.where(*named))
    return bool(named)


def parted(value):
    """(name, password) of "name:password"; None if coturn refuses it."""
    name, colon, password = value.partition(":")
    password = password.lstrip(" \t\n")
    return (name, password) if colon and name and password else None


def one_user(value):
    """The mapping of one user, or a text that says why it is refused."""
    pair = parted(value)
    if pair is None:
        return "coturn needs NAME:PASSWORD or NAME:0xKEY"
    name, password = pair
    if len(name.encode()) > NAME_MAX or len(password.encode()) > TEXT_MAX:
        return f"a name has {NAME_MAX} bytes at most, a password {TEXT_MAX}"
    if not password.startswith("0x"):
        return {"name": name, "password": password}
    key = KEY.match(password[2:])
    return {"name": name, "key": key[0].lower()} if key else "a key has 32 hexadecimal digits after 0x"


def put_users(settings, document, with_secrets):
    users = {}
    for line, value in settings.all("user"):
        made = one_user(value)
        if with_secrets:
            settings.tell(line, "coturn ignores users if there are secrets: left out", NOTE)
        elif isinstance(made, str):
            settings.tell(line, made)
        else:
            if made["name"] in users:
                settings.tell(users[made["name"]][1], f"line {line.number} has the same name, and that"
                    " line counts", NOTE)  # fmt: skip
            users[made["name"]] = (made, line)
    for made, line in users.values():
        document.add("auth.users", made, f"line {line.number}")
    return bool(users)


def put_nonce(settings, document):
    lifetime, line = settings.get("stale-nonce"), settings.line("stale-nonce")
    if lifetime is None:
        return
    if not 1 <= lifetime <= DAY:
        settings.tell(line, f"a nonce lasts {DAY} s at most here: this value is written", NOTE)
        lifetime = DAY
    document.put("auth.nonce.lifetime", lifetime, settings.where("stale-nonce"))


def put_oauth(settings, document):
    """The keys of access tokens are in coturn's database. Without them no token is accepted."""
    name, line = settings.get("server-name"), settings.line("server-name")
    if not settings.get("oauth"):
        if name:
            settings.tell(line, "it is for access tokens, and there is no `oauth`", NOTE)
        return
    if name and len(name.encode()) > SERVER_NAME_MAX:
        settings.tell(line, f"a server's name has {SERVER_NAME_MAX} bytes at most")
    elif name:
        document.put("auth.oauth.server-name", name, settings.where("server-name"))
    document.put("auth.oauth.keys", [], "kid, ikm_key and as_rs_alg of each are in coturn's table oauth_key")
    settings.tell(settings.line("oauth"), "the keys of access tokens are in a database, which is not"
                  " read: write them as `auth.oauth.keys`")  # fmt: skip


def put(settings, document):
    """The section `auth`. False without users and secrets: then slipring does not start with the result."""
    put_realm(settings, document)
    with_secrets = put_secrets(settings, document)
    with_users = put_users(settings, document, with_secrets)
    put_nonce(settings, document)
    put_oauth(settings, document)
    with_lookup = put_lookup(settings, document)
    if with_users or with_lookup or document.has("auth.secrets"):
        return True
    document.put("auth.users", [], "required: a user, or a secret in `secrets`")
    return False
