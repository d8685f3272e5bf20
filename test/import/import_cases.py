# SPDX-License-Identifier: BSD-3-Clause
"""Expected results of each file in this folder, for the unit and the lab test import_files.

The files are for a machine in the lab: 10.99.0.1 and fd99::1, behind a router that translates addresses.
One file has a second address.
"""

from dataclasses import dataclass

USERS = ("users: [] # required: a user, or a secret in `secrets`", "users: [{name: ivan, password: pw}]")
LOOKUP = ("  lookup:\n", f"  {USERS[1]}\n  lookup:\n")
PUBLIC = ("external: PUBLIC-ADDRESS", "external: 203.0.113.7")
SECRET = "secrets:\n    - north-of-the-river "
IVAN = "- {name: ivan, password: pw} "
OUTSIDE = "- {address: 10.99.0.1/24, external: 203.0.113.7} "


@dataclass
class Case:
    """decide: the lines that need a decision, as NUMBER: KEY, or the beginning of a message about the file;
    decided: edits of the result, (before, after); keys: texts in it; absent: texts not in it."""

    decide: tuple = ()
    decided: tuple = ()
    keys: tuple = ()
    absent: tuple = ()

    def decide_in(self, text):
        """The result after these edits."""
        for before, after in self.decided:
            assert before in text, (before, text)
            text = text.replace(before, after)
        return text


CASES = {
    "all-ports": Case(("relay ports 1024-65535 leave",), (("ports: 1024-65535", "ports: 40000-65535"),)),
    "blanks": Case(keys=("ports: 50000-51000 ", "realm: example.org ", IVAN, "{transport: tcp, address: all")),
    "both-families": Case(keys=(
        "- 10.99.0.0/24 # line 16\n", "- 10.99.0.1 # line 16: programs of this machine\n",
        '- "fd99::1" # line 17: programs', "- 0.0.0.0/0 ", '- "::/0" ', "default-family: client ",
        'address: "fd99::1", port: 3478', "count: 2 ")),
    "command-line": Case(keys=(OUTSIDE, "allow:\n    - 10.99.0.1 # line 2: coturn allows the private part\n",
        "ports: 50000-50999 ", IVAN, "level: debug")),
    "conference": Case(keys=(
        OUTSIDE, "{transport: auto, address: 10.99.0.1, port: 443}", "ports: 32769-65535 ", SECRET,
        "allow:\n    - 10.99.0.1 # line 25\n    - 203.0.113.7 # line 26\n  deny:\n    - 0.0.0.0/0 ")),
    "container": Case(("18: external-ip",), (PUBLIC,), ("ports: 49160-49200 ", IVAN, "realm: example.org ")),
    "databases": Case((), (LOOKUP,), ("realm: example.org ",
        "enabled: true # userdb in line 5, psql-userdb in line 6, redis-userdb in line 7")),
    "decade": Case(("29: server-relay", "30: secure-stun"), keys=(
        IVAN, "allocations: 100 ", "mobility:\n    enabled: true ", "user: turnserver ")),
    "home": Case(keys=(OUTSIDE, "ports: 49160-49200 ", IVAN)),
    "homeserver": Case(keys=(
        "allow:\n    - 10.99.0.1 # line 31\n  deny:", "- 10.0.0.0/8 ", "- 192.168.0.0/16 ", SECRET,
        "per-user: 12 ", "allocations: 1200 ", "{transport: auto, address: all, port: 5349}")),
    "kernels-ports": Case(keys=("ports: 32768-65535 ", "ip_local_port_range=\"10000 32767\"", IVAN)),
    "keys": Case(keys=("{name: ivan, key: acb99881c170b573eacc63b95f74bfce}",
        '{name: olga, key: "8e4f0f8b9c09f72dcaa587cdc6eed404"}', "to-peers: 512000 ", "per-user: 24 ")),
    "meetings": Case(keys=(
        OUTSIDE, "{transport: tls, address: all, port: 5349}", "allow:\n    - 10.99.0.1 # line 25\n",
        "- 10.0.0.0/8 ", SECRET, "to: syslog "), absent=("transport: tcp", "transport: auto")),
    "open": Case(("it has no users and no secrets", "3: no-auth"), (USERS,)),
    "prefixes": Case(keys=(
        "- 10.0.0.0/8 # line 5\n", "- 10.99.0.0/24 # line 10\n", "- 10.99.0.1 # line 10: programs", IVAN)),
    "remarks": Case(("3: lt-cred-mech", "4: min-port", "8: no-cli;"),
        (("ports: 49152-51000", "ports: 50000-51000"),), (IVAN,)),
    "talk": Case(keys=(SECRET, "allocations: 0 ", "to-peers: 0 "), absent=("\npeers:",)),
    "template": Case(
        ("it has no users and no secrets", "4: static-auth-secret", "5: realm", "6: external-ip"),
        (USERS,), ("- 192.168.0.0/16 ",), ("turn_secret", "REALM")),
    "two-externals": Case(keys=(
        OUTSIDE, "- {address: 10.99.0.9/24, external: 203.0.113.8} ", "addresses: [10.99.0.1, 10.99.0.9] ",
        "- before-the-river ", "allow:\n    - 10.99.0.3 # line 13\n    - 10.99.0.1 # line 6: coturn allows the",
        "    - 10.99.0.9 # line 7: coturn allows", "deny:\n    - 10.99.0.0/24 ")),
    "windows": Case(keys=("ports: 50000-51000 ", IVAN), absent=("transport: tcp", "\\r", "\r")),
}  # fmt: skip
