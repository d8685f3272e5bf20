# SPDX-License-Identifier: BSD-3-Clause
"""`alternate.servers`: one list for all transports, where coturn has one for each."""

from coturn.key import NOTE

PLAIN = ("alternate-server", "udp-alternate-server", "tcp-alternate-server")
SECURE = "tls-alternate-server"


def collected(settings):
    """{address: ({key: value}, [source lines])} of all servers, in the order of the file."""
    servers = {}
    named = [(line, end, name) for name in (*PLAIN, SECURE) for line, end in settings.all(name)]
    for line, (address, port), name in sorted(named, key=lambda one: one[0].number):
        entry, lines = servers.setdefault(address, ({"address": str(address)}, []))
        if entry.setdefault("tls-port" if name == SECURE else "port", port) != port:
            settings.tell(line, "an address has one port here, and another line names a different one")
        lines.append(f"{name} in line {line.number}")
    return servers


def is_own(settings, servers):
    """True if one of them is this server: then coturn redirects no client."""
    local = {address for _, address in settings.all("listening-ip")} & servers.keys()
    for line, (address, _) in (pair for name in (*PLAIN, SECURE) for pair in settings.all(name)):
        if address in local:
            settings.tell(line, "this server itself: then coturn redirects no client, so no list is written",
                NOTE)  # fmt: skip
    return bool(local)


def put(settings, document, secure):
    """secure: there are listeners for TLS."""
    servers = collected(settings)
    if not servers or is_own(settings, servers):
        return
    for entry, lines in servers.values():
        document.add("alternate.servers", entry, ", ".join(lines))
    plain = next((settings.line(name) for name in PLAIN if settings.line(name)), None)
    if secure and not settings.line(SECURE):
        settings.tell(plain, "clients of TLS and DTLS are sent there, too: there is one list for all")
    if not plain:
        settings.tell(settings.line(SECURE), "clients of UDP and TCP are sent there, too: there is"
            " one list for all")  # fmt: skip
