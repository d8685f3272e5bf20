# SPDX-License-Identifier: BSD-3-Clause
"""All keys of coturn 4.17, one row each, and removed keys of earlier releases.

When slipring gets a feature that a row calls NOT, the row becomes HERE, with slipring's key as `path`
and a function that converts the value as `take`. scripts/manual makes doc/coturn.md of this table.
"""

from coturn.key import ALWAYS, DECIDE, DO, HERE, NOT, NOTE, SAME, Key, bits, family, text, within
from coturn.syntax import address, endpoint, number, port, span

DATABASE = "`slipring-accounts` reads its users and secrets ([accounts.md](accounts.md))"
LOOKUP = "auth.lookup.enabled"
NO_ADMIN = "there is no administration over HTTPS"
NO_5780 = "add it by hand: `nat-discovery`, and a listener of UDP on both ports of both addresses"
OFF_5780 = "it is off unless `nat-discovery` names addresses"
NO_SOCKETS = "there are no UDP sockets and no such calls: the port's driver delivers bursts"
CONTROL = "`slipringctl` asks over a Unix socket: no port and no password"
EXPORTER = "a separate program has the metrics, `slipring-exporter`"
STDERR = "lines go to standard error, and from there to systemd's journal"
SERVERS = ("alternate.servers[].address", "alternate.servers[].port")
TLS_SERVERS = ("alternate.servers[].address", "alternate.servers[].tls-port")
BITS = "bytes a second for coturn, whole kilobits here: only the data, without headers"
EACH = ("limits.rates.allocation-to-peers", "limits.rates.allocation-from-peers")
ALL = ("limits.rates.realm-to-peers", "limits.rates.realm-from-peers")
TLS_SPOKEN = "TLS 1.2 and 1.3 are supported"
RSA_DH = "key exchange is only by ECDHE (X25519, P-256, P-384)"

LISTENERS = (
    Key("listening-ip", HERE, "one entry for each address; `all` without this key, and `all-ipv4` or "
        "`all-ipv6` for an unspecified one", address, "listeners[].address", many=True),
    Key("listening-port", HERE, "for UDP and TCP. A TCP listener is `auto` if there is a "
        "certificate: coturn accepts TLS there, too", port, "listeners[].port"),
    Key("tls-listening-port", HERE, "a second port, `auto`, and with `dtls` also for DTLS", port,
        "listeners[].port"),
    Key("aux-server", HERE, "one more listener for UDP and one for TCP", lambda v: endpoint(v, 0),
        "listeners", many=True),
    Key("no-udp", HERE, "no listener with `transport: udp`", path="listeners[].transport"),
    Key("no-tcp", HERE, "no listener with `transport: tcp`, and no TLS listener on `listening-port`",
        path="listeners[].transport"),
    Key("no-tls", HERE, "no listener for TLS", path="listeners[].transport"),
    Key("dtls", HERE, "listeners with `transport: dtls` on both ports. Before 4.17 coturn had them "
        "whenever there was a certificate", path="listeners[].transport"),
    Key("no-dtls", HERE, "no such listeners", path="listeners[].transport"),
    Key("listening-device", HERE, "`packet:NAME` shares an interface with the kernel", str,
        "ports[].device"),
    Key("relay-device", HERE, "like `listening-device`", str, "ports[].device"),
    Key("alt-listening-port", NOT, NO_5780, port, same=0),
    Key("alt-tls-listening-port", NOT, "`nat-discovery` is only over UDP", port, same=0),
    Key("tcp-proxy-port", HERE, "a TCP listener on that port with `proxy`. "
        "coturn believes any sender: name the balancers there", port, "listeners[].proxy"),
    Key("udp-self-balance", ALWAYS, "workers share the clients of every listener"),
    Key("acme-redirect", NOT, "listeners speak no HTTP: let the web server answer ACME "
        "requests", str, same="", told=DO),
    Key("respond-http-unsupported", NOT, "listeners speak no HTTP"),
    Key("sock-buf-size", ALWAYS, "the port has rings instead of socket buffers", number),
)  # fmt: skip
RELAY = (
    Key("relay-ip", HERE, "`all` without this key and `listening-ip`", address,
        "relay.addresses", many=True),
    Key("external-ip", HERE, "for each translated address; without `/PRIVATE` it belongs to the only "
        "relay address of its family. coturn always allows PRIVATE as a peer",
        str, "ports[].addresses[].external", many=True),
    Key("min-port", HERE, "from 1024 on", port, "relay.ports"),
    Key("max-port", HERE, "", port, "relay.ports"),
    Key("multiplex-peer", HERE, "`shared`, on as many ports as coturn uses for its relay threads",
        path="relay.mode", set=True),
    Key("multiplex-peer-port", HERE, "with `relay.mode: shared`", number, "relay.ports"),
    Key("multiplex-peer-max-peers", HERE, "", number, "relay.peers-per-allocation",
        within(1, 65535)),
    Key("relay-threads", HERE, "0 is one worker", number, "workers.count"),
    Key("cpus", HERE, "without `relay-threads`", number, "workers.count"),
    Key("no-udp-relay", NOT, "slipring always relays over UDP", told=DECIDE),
    Key("no-tcp-relay", ALWAYS, "off unless `relay.tcp.enabled`",
        off="TCP to peers needs `relay.tcp`, and ports of the kernel", told=DECIDE),
    Key("keep-address-family", HERE, "`client`", path="relay.default-family",
        take=lambda value: "client" if value else None),
    Key("allocation-default-address-family", HERE, "`client` for `keep`", str,
        "relay.default-family", family),
    Key("server-relay", NOT, "a peer needs a permission", told=DECIDE),
    Key("mobility", HERE, "", path="relay.mobility.enabled",
        take=lambda value: True if value else None),
)  # fmt: skip
USERS = (
    Key("realm", HERE, "", str, "auth.realm"),
    Key("user", HERE, "`name:password`, or `name:0xKEY` as `key`. With secrets coturn ignores them",
        str, "auth.users", many=True),
    Key("static-auth-secret", HERE, "up to 16", str, "auth.secrets", many=True),
    Key("use-auth-secret", ALWAYS, "secrets count if there are any (`auth.secrets`)", set=True),
    Key("lt-cred-mech", ALWAYS, "credentials are always demanded",
        off="credentials are always demanded"),
    Key("no-auth", NOT, "credentials are always demanded", told=DECIDE),
    Key("rest-api-separator", NOT, "the time of a REST name ends at a colon", str, same=":", told=DECIDE),
    Key("stale-nonce", HERE, "up to 86400; 0 means no limit for coturn, and becomes a day",
        lambda v: number(v) if v else 600, "auth.nonce.lifetime"),
    Key("stateless-nonce", ALWAYS, "nonces hold no state",
        off="nonces hold no state"),
    Key("stateless-nonce-secret", HERE, "coturn and slipring do not accept each other's nonces",
        str, "auth.nonce.secret", text(1023)),
    Key("secure-stun", NOT, "a Binding request needs no credentials; `limits.binding` bounds the "
        "answers", told=DECIDE),
    Key("no-auth-pings", ALWAYS, "slipring itself reads no database", set=True),
    Key("no-dynamic-ip-list", ALWAYS, "slipring itself reads no database", set=True),
    Key("no-dynamic-realms", ALWAYS, "slipring itself reads no database", set=True),
    Key("check-origin-consistency", NOT, "ORIGIN never moves an allocation to another realm"),
    Key("oauth", HERE, "the keys are in a database, which is not read: write them as `auth.oauth.keys`",
        path="auth.oauth.keys"),
    Key("server-name", HERE, "with `oauth`; without it both servers use the realm's name", str,
        "auth.oauth.server-name"),
    Key("userdb", HERE, DATABASE, str, LOOKUP),
    Key("db", HERE, DATABASE, str, LOOKUP),
    Key("psql-userdb", HERE, DATABASE, str, LOOKUP),
    Key("sql-userdb", HERE, DATABASE, str, LOOKUP),
    Key("mysql-userdb", HERE, DATABASE, str, LOOKUP),
    Key("mongo-userdb", NOT, "`slipring-accounts` reads no MongoDB; it can ask a program of yours", str,
        told=DECIDE),
    Key("redis-userdb", HERE, DATABASE, str, LOOKUP),
    Key("secret-key-file", NOT, "it is for the password of a database", str),
)  # fmt: skip
LIMITS = (
    Key("user-quota", HERE, "0: no limit; without the key a quarter of the relay ports", number, "limits.per-user", within(0, 16777216)),
    Key("total-quota", HERE, "0: as many as fit into memory; without the key one per relay port", number,
        "limits.allocations", within(0, 16777216)),
    Key("max-bps", HERE, BITS, number, EACH, bits),
    Key("bps-capacity", HERE, BITS + "; above it all sessions lose packets, where coturn refuses "
        "new ones", number, ALL, bits),
    Key("max-allocate-lifetime", HERE, "",
        lambda v: number(v) if v else 3600, "limits.lifetime.max", within(1, 86400)),
    Key("channel-lifetime", HERE, "", lambda v: number(v) if v else 600, "limits.lifetime.channel",
        within(1, 86400)),
    Key("permission-lifetime", HERE, "", lambda v: number(v) if v else 300,
        "limits.lifetime.permission", within(1, 86400)),
    Key("max-allocate-timeout", ALWAYS, "a client without an allocation has no state that could expire",
        number),
    Key("unauthorized-ratelimit", HERE, "the rate of `unauthorized-ratelimit-rps`; without it 500 a "
        "second, while coturn has no limit", path="limits.unauthenticated"),
    Key("unauthorized-ratelimit-rps", HERE, "", lambda v: number(v) if v else 10,
        "limits.unauthenticated.rate"),
    Key("alternate-server", HERE, "one list for all transports; the client's address decides its server, "
        "not the order", lambda v: endpoint(v, 3478), SERVERS, many=True),
    Key("tls-alternate-server", HERE, "one list for all transports: each server has a second port for TLS",
        lambda v: endpoint(v, 5349), TLS_SERVERS, many=True),
    Key("tcp-alternate-server", HERE, "one list for all transports", lambda v: endpoint(v, 3478),
        SERVERS, many=True),
    Key("udp-alternate-server", HERE, "one list for all transports", lambda v: endpoint(v, 3478),
        SERVERS, many=True),
    Key("drain-min-allocations", HERE, "", number, "drain.below", within(0, 16777216)),
)  # fmt: skip
PEERS = (
    Key("allowed-peer-ip", HERE, "for coturn it wins over any `denied-peer-ip`: allowed addresses are cut "
        "out of denied ranges", span, "peers.allow", many=True),
    Key("denied-peer-ip", HERE, "", span, "peers.deny", many=True),
    Key("no-multicast-peers", ALWAYS, "no peer is a multicast address",
        off="no peer is a multicast address"),
    Key("allow-loopback-peers", NOT, "no peer is a loopback address", told=DECIDE),
    Key("rfc5766-channel-numbers", HERE, "true by default here: clients of RFC 8489 are limited to 0x4FFF "
        "anyway", path="peers.rfc5766-channels", take=lambda value: value),
)  # fmt: skip
MESSAGES = (
    Key("fingerprint", ALWAYS, "if the request has one"),
    Key("software-attribute", ALWAYS, "SOFTWARE, without a version, is in answers to Allocate and "
        "Refresh that are authenticated"),
    Key("no-software-attribute", ALWAYS, "SOFTWARE, without a version, is in answers to Allocate and "
        "Refresh that are authenticated"),
    Key("include-reason-string", NOT, "reason phrases are the usual ones; `slipringctl explain` has the "
        "reasons"),
    Key("stun-only", NOT, "slipring cannot serve only Binding requests", told=DECIDE),
    Key("no-stun", HERE, "`none`, on every listener", path="listeners[].binding"),
    Key("rfc5780", NOT, NO_5780, set=True, told=DECIDE),
    Key("no-rfc5780", ALWAYS, OFF_5780, set=True),
    Key("response-origin-only-with-rfc5780", ALWAYS, OFF_5780, set=True),
    Key("stun-backward-compatibility", NOT, "MAPPED-ADDRESS is in answers to requests of RFC 3489, "
        "and in those of listeners in `nat-discovery`"),
    Key("rfc3489-compatibility", HERE, "the default; `rfc8489` for `no`", path="listeners[].binding"),
    Key("drop-invalid-packets", ALWAYS, "malformed packets are dropped, and counted by reason"),
    Key("drop-invalid-packets-log", ALWAYS, "drops are counted (`slipringctl drops`), not logged"),
)  # fmt: skip
TLS = (
    Key("cert", HERE, "relative names are searched for next to the file, as in coturn", str,
        "tls.certificate"),
    Key("pkey", HERE, "like `cert`", str, "tls.key"),
    Key("pkey-pwd", NOT, "the key has no pass phrase: `openssl pkey -in KEY -out NEW` removes it",
        str, told=DO),
    Key("cipher-list", HERE, "of TLS 1.2 and DTLS; coturn's default is `DEFAULT`", str,
        "tls.ciphers", text(1023)),
    Key("CA-file", NOT, "slipring requests no certificates from clients", str, told=DECIDE),
    Key("raw-public-keys", NOT, "RFC 7250 is not implemented"),
    Key("dh-file", NOT, RSA_DH, str),
    Key("dh566", NOT, RSA_DH),
    Key("dh1066", NOT, RSA_DH),
    Key("ec-curve-name", ALWAYS, "X25519, P-256 and P-384 are always offered", str),
    Key("tlsv1", NOT, TLS_SPOKEN, told=DECIDE),
    Key("tlsv1_1", NOT, TLS_SPOKEN, told=DECIDE),
    Key("no-tlsv1_2", HERE, "1.3, and no DTLS", path="tls.min-version"),
)  # fmt: skip
PROCESS = (
    Key("proc-user", HERE, "", str, "process.user", text(32)),
    Key("proc-group", NOT, "the groups are those of `process.user`", str),
    Key("daemon", NOT, "systemd runs it in the background (slipring.service)"),
    Key("pidfile", NOT, "systemd knows the process", str),
    Key("verbose", HERE, "`debug`", path="log.level"),
    Key("Verbose", HERE, "`debug`", path="log.level"),
    Key("log-min-level", HERE, "", str, "log.level"),
    Key("syslog", HERE, "`syslog`", path="log.to"),
    Key("syslog-facility", NOT, "the facility is daemon", str),
    Key("log-file", HERE, "`syslog` and `stdout` (`stderr` here); for a log file "
        "set `StandardError=append:FILE` in the unit", str, "log.to"),
    Key("no-stdout-log", ALWAYS, STDERR),
    Key("simple-log", ALWAYS, STDERR),
    Key("new-log-timestamp", ALWAYS, "the time of day in UTC, with milliseconds",
        off="the time of day in UTC, with milliseconds"),
    Key("new-log-timestamp-format", NOT, "the time of day in UTC, with milliseconds (RFC 3339)", str),
    Key("log-binding", NOT, "Binding requests are not logged"),
    Key("version", NOT, "coturn exits with it"),
)  # fmt: skip
WATCHING = (
    Key("prometheus", NOT, EXPORTER, set=True, told=DO),
    Key("prometheus-port", NOT, EXPORTER + " (`--listen`)", port),
    Key("prometheus-address", NOT, EXPORTER + " (`--listen`)", str),
    Key("prometheus-path", NOT, EXPORTER + ", at /metrics", str, same="/metrics"),
    Key("prometheus-username-labels", NOT, "no metric has a label of users", set=True),
    Key("prometheus-tls", NOT, EXPORTER + ", which speaks plain HTTP"),
    Key("prometheus-cert", NOT, EXPORTER + ", which speaks plain HTTP", str),
    Key("prometheus-key", NOT, EXPORTER + ", which speaks plain HTTP", str),
    Key("redis-statsdb", NOT, "see `records` and `slipring-exporter`", str),
    Key("cli", ALWAYS, CONTROL),
    Key("no-cli", ALWAYS, CONTROL, set=True),
    Key("cli-ip", NOT, CONTROL, str),
    Key("cli-port", NOT, CONTROL, port),
    Key("cli-password", NOT, CONTROL, str),
    Key("cli-max-output-sessions", NOT, "lists of `slipringctl` have pages", number),
    Key("web-admin", NOT, NO_ADMIN),
    Key("web-admin-ip", NOT, NO_ADMIN, str),
    Key("web-admin-port", NOT, NO_ADMIN, port),
    Key("web-admin-listen-on-workers", NOT, NO_ADMIN),
)  # fmt: skip
SYSTEM_CALLS = (
    Key("udp-recvmmsg", ALWAYS, NO_SOCKETS),
    Key("udp-recvmmsg-log", ALWAYS, NO_SOCKETS + "; telemetry has how full they are (`/slipring/bursts`)"),
    Key("udp-sendmmsg-log", ALWAYS, NO_SOCKETS + "; telemetry has how full they are (`/slipring/bursts`)"),
    Key("udp-gso", ALWAYS, "where it costs nothing (`ports[].uso`)"),
)
GROUPS = (
    ("Listeners", LISTENERS),
    ("Relaying", RELAY),
    ("Users", USERS),
    ("Limits, and other servers", LIMITS),
    ("Peers", PEERS),
    ("Messages", MESSAGES),
    ("TLS and DTLS", TLS),
    ("Process and log", PROCESS),
    ("Monitoring and control", WATCHING),
    ("System calls", SYSTEM_CALLS),
)
KEYS = {key.name: key for _, keys in GROUPS for key in keys}

# Keys of earlier releases, which 4.17 ignores with the warning "Bad configuration format": the last
# release that knew the key, the kind of message, and slipring's behaviour.
GONE = {
    "dh2066": ("4.5.1", NOTE, RSA_DH),
    "ne": ("4.9", SAME, "workers always share the work"),
    "no-http": ("4.5.0", SAME, "listeners speak no HTTP"),
    "no-loopback-peers": ("4.5.0", SAME, "no peer is a loopback address"),
    "no-sslv2": ("4.6", SAME, TLS_SPOKEN),
    "no-sslv3": ("4.6", SAME, TLS_SPOKEN),
    "no-stun-backward-compatibility": ("4.6", NOTE, "requests of RFC 3489 are answered, with "
        "MAPPED-ADDRESS, unless `listeners[].binding` is `rfc8489`"),
    "no-tlsv1": ("4.6", SAME, TLS_SPOKEN),
    "no-tlsv1_1": ("4.6", SAME, TLS_SPOKEN),
    "prod": ("4.6", SAME, "SOFTWARE has no version"),
    "secret-ts-exp-time": ("4.6", SAME, "a REST name expires at the time in it"),
}  # fmt: skip
