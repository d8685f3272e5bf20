# SPDX-License-Identifier: BSD-3-Clause
"""Redis or Valkey with the keys of coturn's redis-userdb, read only."""

import ssl

import source
from records import Unknown
from source import TIMEOUT_S, Trouble

PAGE = 1000  # keys that SCAN looks at before it answers
USER, SECRET = b"turn/realm/%b/user/%b/key", b"turn/realm/%b/secret"


class Redis(source.Source):
    has_secrets = True

    def load(self):
        self.redis = source.library("redis", "python3-redis")

    def connect(self):
        given = self.settings
        common = {"db": given["database"], "username": given["user"], "password": given["password"],
            "socket_timeout": TIMEOUT_S}  # fmt: skip
        connections = self.redis.connection
        if given["socket"]:
            return connections.UnixDomainSocketConnection(path=given["socket"], **common)
        common.update(host=given["host"], port=given["port"] or 6379, socket_connect_timeout=TIMEOUT_S)
        if not given["tls"]:
            return connections.Connection(**common)
        tls = given["tls"]
        return connections.SSLConnection(
            ssl_ca_certs=tls["ca"], ssl_certfile=tls["certificate"], ssl_keyfile=tls["key"],
            ssl_cert_reqs="required", ssl_check_hostname=True, **common,
        )  # fmt: skip

    def close(self, connection):
        connection.disconnect()

    def command(self, connection, *words):
        connection.send_command(*words)
        return connection.read_response()

    def look_up(self, connection, flights):
        # "/user/" in a name could make the key of another realm and name
        plain = [flight.asked for flight in flights if not any(b"/user/" in part for part in flight.asked)]
        answers = {flight.asked: Unknown() for flight in flights}
        if plain:
            values = self.command(connection, "MGET", *(USER % asked for asked in plain))
            if not isinstance(values, list) or len(values) != len(plain):
                raise Trouble("MGET has another number of answers")
            for asked, value in zip(plain, values):
                answers[asked] = Unknown() if value is None else self.found(value)
        return answers

    def secrets(self, connection):
        before, after = SECRET.split(b"%b")
        keys, cursor = set(), b"0"
        if self.settings["realms"] is not None:
            keys = {SECRET % realm.encode() for realm in self.settings["realms"]}
            cursor = None
        while cursor is not None:
            cursor, page = self.command(connection, "SCAN", cursor, "MATCH", SECRET % b"*", "COUNT", PAGE)
            keys.update(page)
            cursor = None if cursor == b"0" else cursor
        return {key[len(before) : -len(after)]: set(self.command(connection, "SMEMBERS", key)) for key in keys}

    def describe(self, error):
        if isinstance(error, self.redis.ResponseError):
            return f"error {str(error).split()[0]}" if str(error) else "error"
        if isinstance(error, self.redis.RedisError):
            cause = error.__cause__ or error.__context__ or error
            return getattr(cause, "strerror", None) or type(error).__name__
        if isinstance(error, ssl.SSLError):
            return error.reason or "TLS"
        return super().describe(error)
