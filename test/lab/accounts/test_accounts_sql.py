# SPDX-License-Identifier: BSD-3-Clause
"""slipring-accounts with PostgreSQL, MariaDB and SQLite, and the tables of coturn's schema: keys in padded
columns, collations that ignore case and blanks, character sets without the letters of a name, and what happens
while the server is dead or stuck.
"""

import os
import sqlite3

import accounts
import lab as labs
from accounts import KEY, NO_ANSWER, POSTGRESQL, REALM, UNKNOWN, Accounts, Database, Postgresql, key

KNOWN = {(f"user{number}", realm) for number in range(50) for realm in (REALM, "other.example")}
KNOWN |= {("ivan", REALM), ("a b", REALM), ("o'neill\\", REALM), ("müller", REALM), ("blank ", REALM)}
STRANGERS = [f"stranger{number}" for number in range(300)]
# as in coturn's schema.sql
SCHEMA = """
create table turnusers_lt (realm varchar(127) default '', name varchar(512), hmackey char(128), primary key (realm, name));
create table turn_secret (realm varchar(127) default '', value varchar(256), primary key (realm, value));
"""


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def statements(sha256=False):
    yield from SCHEMA.strip().splitlines()
    if sha256:
        yield "alter table turnusers_lt add column key_sha256 char(64);"
    for name, realm in sorted(KNOWN):
        more = f", {quoted(key(name, realm, 'sha256').hex())}" if sha256 else ""
        yield f"insert into turnusers_lt values ({quoted(realm)}, {quoted(name)}, {quoted(key(name, realm).hex())}{more});"
    yield f"insert into turnusers_lt (realm, name, hmackey) values ({quoted(REALM)}, 'long', {quoted('0' * 64)});"
    yield f"insert into turn_secret values ({quoted(REALM)}, 'one'), ({quoted(REALM)}, 'two words');"


class Mariadb(Database):
    user = "mysql"

    def command(self):
        return ("mariadbd", "--no-defaults", f"--datadir={self.path}/data", f"--socket={self.path}/socket", "--skip-networking",
            f"--pid-file={self.path}/pid", "--innodb-buffer-pool-size=16M")  # fmt: skip

    def start(self):
        if not os.path.exists(f"{self.path}/data"):
            self.run("mariadb-install-db", "--no-defaults", f"--datadir={self.path}/data", "--skip-test-db",
                "--auth-root-authentication-method=normal")  # fmt: skip
        super().start()

    def answers(self):
        self("select 1;", "mysql")

    def __call__(self, text, database="coturn"):
        return self.run("mariadb", "--no-defaults", "-u", "root", "-S", f"{self.path}/socket", "-N",
            "--default-character-set=utf8mb4", database, input=text).strip()  # fmt: skip

    def source(self):
        return {"type": "mariadb", "socket": f"{self.path}/socket", "user": "reader", "password": "a 'word", "database": "coturn"}


def names(program, database, sha256):
    """Known and unknown names, wrong realms, and changes. `run` takes a statement."""
    found = program.settled(*sorted(KNOWN))
    assert [answer.kind for answer in found] == [KEY] * len(KNOWN), program.log()
    wanted = [key(name, realm, "sha256") if sha256 else None for name, realm in sorted(KNOWN)]
    assert [answer.sha256 for answer in found] == wanted
    others = ("blank", "Ivan", "ivan ", " ivan", "i%", "' or ''='", "muller", "MÜLLER", "☃", "\U0001f600", "a" * 508)
    realms = (("ivan", "other.example"), ("ivan", REALM.upper()), ("ivan", REALM + " "), ("ivan", ""))
    assert program.settled_kinds(*others, *realms) == [UNKNOWN] * (len(others) + len(realms)), program.log()
    assert (program.kinds("long"), program.settled_kinds("ivan")) == ([NO_ANSWER], [KEY])
    # a letter that the table cannot have, among many others, in one request
    users = [(f"user{number}", REALM) for number in range(20)]
    mixed = [*users[:10], "☃", *users[10:], "\U0001f600"]
    for _ in range(3):
        kinds = program.settled_kinds(*mixed)
        assert kinds == [UNKNOWN if isinstance(user, str) else KEY for user in mixed], kinds
        labs.until(lambda: program.kinds("expired") == [UNKNOWN], 5, "answers expire")
    program.check(KNOWN)
    labs.until(lambda: program.secrets(REALM) == [b"one", b"two words"], 10, "secrets are told")
    database("delete from turn_secret where value = 'one'; insert into turn_secret values ('new.example', 'three');")
    labs.until(lambda: program.secrets(REALM) == [b"two words"], 10, "a change is told")
    labs.until(lambda: program.secrets("new.example") == [b"three"], 10, "a new realm is told")
    database("delete from turnusers_lt where name = 'ivan';")
    labs.until(lambda: program.kinds("ivan") == [UNKNOWN], 10, "a deletion is seen", 0.2)
    columns = f"values ('{REALM}', 'ivan', '{key('ivan').hex()}')"
    database(f"insert into turnusers_lt (realm, name, hmackey) {columns};")
    labs.until(lambda: program.kinds("ivan") == [KEY], 10, "the user is back", 0.2)
    error = program.status()["sources"][0]["error"]
    assert not error or "time" in error, error


def postgresql():
    """PostgreSQL in LATIN1, with a column for SHA-256."""
    with accounts.folder() as path, accounts.running(Postgresql(f"{path}/postgresql")) as database:
        database("\n".join(statements(sha256=True)))
        program = Accounts(path, [database.source()])
        names(program, database, True)
        program.stop()
        program = Accounts(path, [database.source()])
        accounts.outages(program, database, KNOWN, STRANGERS)
        program.stop()


def mariadb():
    """MariaDB with a collation that ignores case, blanks and accents, and with a table in latin1."""
    with accounts.folder() as path, accounts.running(Mariadb(f"{path}/mariadb")) as database:
        database("create user reader@localhost identified by 'a ''word'; grant select on *.* to reader@localhost;", "mysql")
        for charset in ("utf8mb4", "latin1"):
            database(f"create or replace database coturn character set {charset};", "mysql")
            database("set sql_mode = concat(@@sql_mode, ',NO_BACKSLASH_ESCAPES');" + "\n".join(statements()))
            program = Accounts(path, [database.source()])
            names(program, database, False)
            program.stop()
        program = Accounts(path, [database.source()])
        accounts.outages(program, database, KNOWN, STRANGERS)
        program.stop()


class Sqlite:
    def __init__(self, path):
        self.path = f"{path}/turndb"
        self("\n".join(statements()))

    def __call__(self, text):
        with sqlite3.connect(self.path) as connection:
            connection.executescript(text)
        connection.close()


def sqlite():
    """SQLite: another file takes the place, a file that is away, and one that somebody locks."""
    with accounts.folder() as path:
        database = Sqlite(path)
        program = Accounts(path, [{"type": "sqlite", "file": database.path}])
        names(program, database, False)
        os.rename(database.path, f"{path}/old")
        labs.until(lambda: program.kinds("new") == [NO_ANSWER], 10, "a missing file is noticed", 0.2)
        Sqlite(path)(f"insert into turnusers_lt values ('{REALM}', 'new', '{key('new').hex()}');")
        labs.until(lambda: program.kinds("new") == [KEY], 60, "the new file is read", 0.2)
        locking = sqlite3.connect(database.path)
        locking.execute("begin exclusive")
        labs.until(lambda: program.kinds("stranger") == [NO_ANSWER], 10, "a locked file gives no answer", 0.2)
        locking.rollback()
        locking.close()
        labs.until(lambda: program.kinds("stranger") == [UNKNOWN], 60, "it answers again", 0.2)
        program.stop()


if __name__ == "__main__":
    accounts.need(f"{POSTGRESQL}/initdb", "mariadbd")
    accounts.main((sqlite, postgresql, mariadb))
