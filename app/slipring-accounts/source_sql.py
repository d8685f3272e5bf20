# SPDX-License-Identifier: BSD-3-Clause
"""PostgreSQL, MariaDB and SQLite with the tables of coturn's schema, read only."""

import collections
import os
import select
import sqlite3
import time
import urllib.parse

import source
from records import Unknown
from source import TIMEOUT_S, Rows, Trouble

COLUMNS = "select * from turnusers_lt where 1 = 0"
USERS = "select realm, name, hmackey{} from turnusers_lt where realm = {} and name in ({})"
SECRETS = "select realm, value from turn_secret"


class Unwritable(Exception):
    """The store's character set does not have a letter of the question."""


class Sql(source.Source):
    """Subclasses have open() and rows(connection, statement, values). Rows are lists of bytes, str or None."""

    has_secrets = True
    mark = "%s"

    def connect(self):
        connection = self.open()
        try:
            names = self.columns(connection)
        except Exception:
            self.close(connection)
            raise
        self.sha256 = ", key_sha256" if "key_sha256" in names else ""
        return connection

    def marks(self, number, first):
        return ", ".join(self.mark.replace("#", str(first + i)) for i in range(number))

    def look_up(self, connection, flights):
        found = Rows(flights)
        names = collections.defaultdict(list)
        for flight in flights:
            names[flight.asked[0]].append(flight.asked[1])
        for realm, group in names.items():
            try:
                self.add(found, connection, realm, group)
            except Unwritable:
                for name in group if len(group) > 1 else ():
                    try:
                        self.add(found, connection, realm, [name])
                    except Unwritable:
                        continue  # so the table cannot have it: it is unknown
        return found.answers

    def add(self, found, connection, realm, names):
        statement = USERS.format(self.sha256, self.marks(1, 1), self.marks(len(names), 2))
        values = [part.decode() for part in (realm, *names)]
        for row in self.rows(connection, statement, values):
            row = [to_bytes(value) for value in row]
            found.add(row[0], row[1], self.found(row[2] or b"?", *row[3:]))

    def secrets(self, connection):
        wanted = self.settings["realms"]
        lists = {realm.encode(): set() for realm in wanted or ()}
        for realm, value in self.rows(connection, SECRETS, []):
            if wanted is None or to_bytes(realm) in lists:
                lists.setdefault(to_bytes(realm), set()).add(to_bytes(value))
        return lists


def to_bytes(value):
    return value.encode() if isinstance(value, str) else value


class Postgresql(Sql):
    """Speaks to libpq itself, because psycopg's own calls wait without a limit for a server that is stuck."""

    threads = 2
    mark = "$#"

    def load(self):
        psycopg = source.library("psycopg", "python3-psycopg")
        self.pq = psycopg.pq
        try:
            self.conninfo = psycopg.conninfo.make_conninfo(self.settings["conninfo"], client_encoding="UTF8").encode()
        except psycopg.Error as error:
            raise Trouble(f"conninfo: {error}".strip()) from None

    def open(self):
        end = time.monotonic() + TIMEOUT_S
        connection = self.pq.PGconn.connect_start(self.conninfo)
        state = self.pq.PollingStatus.WRITING
        while state != self.pq.PollingStatus.OK:
            if state == self.pq.PollingStatus.FAILED or connection.status == self.pq.ConnStatus.BAD:
                raise Trouble(self.message(connection))
            wait(connection.socket, state == self.pq.PollingStatus.WRITING, end)
            state = connection.connect_poll()
        connection.nonblocking = 1
        return connection

    def message(self, connection):
        """The error of a connection that could not be made; it has no text of clients."""
        return " ".join(connection.error_message.decode(errors="replace").split())[:200] or "no connection"

    def close(self, connection):
        connection.finish()

    def result(self, connection, statement, values):
        end = time.monotonic() + TIMEOUT_S
        connection.send_query_params(statement.encode(), [value.encode() for value in values])
        while connection.flush():
            wait(connection.socket, True, end)
        results = []
        while True:
            while connection.is_busy():
                wait(connection.socket, False, end)
                connection.consume_input()
            if (result := connection.get_result()) is None:
                break
            results.append(result)
        if len(results) != 1 or results[0].status != self.pq.ExecStatus.TUPLES_OK:
            code = results and results[0].error_field(self.pq.DiagnosticField.SQLSTATE)
            if code in (b"22P05", b"22021"):
                raise Unwritable
            if not code:
                raise ConnectionError(0, "the connection is gone")
            raise Trouble(f"SQLSTATE {code.decode()}")
        return results[0]

    def columns(self, connection):
        result = self.result(connection, COLUMNS, [])
        return {result.fname(column).decode() for column in range(result.nfields)}

    def rows(self, connection, statement, values):
        result = self.result(connection, statement, values)
        for row in range(result.ntuples):
            yield [result.get_value(row, column) for column in range(result.nfields)]


def wait(descriptor, is_writing, end):
    left = max(end - time.monotonic(), 0)
    sets = ([], [descriptor], []) if is_writing else ([descriptor], [], [])
    if not any(select.select(*sets, left)):
        raise Trouble("timeout")


class Mariadb(Sql):
    threads = 2

    def load(self):
        self.pymysql = source.library("pymysql", "python3-pymysql")

    def open(self):
        given = self.settings
        place = {"unix_socket": given["socket"]} if given["socket"] else {"host": given["host"], "port": given["port"] or 3306}
        if given["tls"]:
            place["ssl"] = source.tls_context(given["tls"])
        return self.pymysql.connect(
            user=given["user"], password=given["password"] or "", database=given["database"], charset="utf8mb4",
            autocommit=True, connect_timeout=TIMEOUT_S, read_timeout=TIMEOUT_S, write_timeout=TIMEOUT_S, **place,
        )  # fmt: skip

    def columns(self, connection):
        with connection.cursor() as cursor:
            cursor.execute(COLUMNS)
            return {column[0] for column in cursor.description}

    def rows(self, connection, statement, values):
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement, values)
                return cursor.fetchall()
        except self.pymysql.Error as error:
            if error.args and error.args[0] in (1267, 1270, 1271, 3854):  # collations do not fit
                raise Unwritable from None
            raise

    def describe(self, error):
        if isinstance(error, self.pymysql.Error) and error.args:
            # texts about a connection have no words of a question
            text = f": {error.args[1]}" if error.args[0] in (1044, 1045, 2003, 2013) and len(error.args) > 1 else ""
            return f"error {error.args[0]}{text}"
        return super().describe(error)


class File(sqlite3.Connection):
    """A connection that knows which file it reads."""

    identity = None


class Sqlite(Sql):
    mark = "?"

    def open(self):
        path = urllib.parse.quote(self.settings["file"])
        identity = self.identity()
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=TIMEOUT_S / 2, factory=File)
        connection.identity = identity
        return connection

    def identity(self):
        found = os.stat(self.settings["file"])
        return found.st_dev, found.st_ino

    def columns(self, connection):
        return {column[0] for column in connection.execute(COLUMNS).description}

    def rows(self, connection, statement, values):
        if self.identity() != connection.identity:
            raise ConnectionError(0, "the file was replaced")
        return connection.execute(statement, values).fetchall()

    def describe(self, error):
        # its texts are about the file and the statement, in which values are marks
        return str(error) if isinstance(error, sqlite3.Error) else super().describe(error)
