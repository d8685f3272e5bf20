// SPDX-License-Identifier: BSD-3-Clause
// The keys of listeners, relay addresses and users.
#include "conf_features.h"
#include "reading/ctx.h"
#include "schema/schema_rows.h"

// clang-format off
static const struct conf_key rows[] = {
{"listeners", CONF_ITEMS, MANY(conf, turn.listeners, turn.nb_listeners), REQUIRED, RANGE(1, 255),
	.help = "Addresses and ports that serve TURN clients."},
{"listeners[].transport", CONF_CHOICE, ONE(turn_listener, transport),
	.choices = conf_transport_choices, .def = "udp",
	.help = "`udp`. `tcp`. `tls`: over TCP, with the certificate of `tls`. `auto`: TCP with or "
	"without TLS, by the first byte of each client. `dtls`: DTLS 1.2 over UDP, with the same "
	"certificate. A `udp` and a `dtls` listener may share an address and port: the first byte "
	"of a datagram tells them apart (RFC 7983)."},
{"listeners[].address", CONF_LISTEN_ADDR, ONE(turn_listener, endpoint.addr), REQUIRED,
	.count = offsetof(struct turn_listener, on),
	.help = "`udp` and `dtls` need an address of a port. `tcp`, `tls` and `auto` use the "
	"kernel's TCP, and take any address that the kernel has or will have: one of a port with "
	"`exception` (without an entry in `allow`), of a `packet:` port, or of another interface. "
	"`all`, `all-ipv4` and `all-ipv6`: all addresses of the ports; for TCP, only of ports "
	"whose addresses the kernel has, too."},
{"listeners[].port", CONF_NUMBER, ONE(turn_listener, endpoint.port), RANGE(1, 65535), .def = "3478",
	.help = "Port number. The usual ports are 5349 for TLS and DTLS, and 443 for TLS. It "
	"cannot be a relay port of the same address."},
{"listeners[].dscp", CONF_DSCP, ONE(turn_listener, dscp), RANGE(0, 63), .def = "copy",
	.help = "DSCP of packets to clients of this listener, and of their packets to peers. "
	"`copy`: a relayed packet keeps the DSCP of its sender; answers and other packets of the "
	"server have 0. A number, such as 46 (EF) or 34 (AF41) for media: all packets have it, "
	"including answers and handshakes. 0 trusts no sender. ECN never changes. With TCP and TLS "
	"the kernel's packets to the client have it, too; with `copy` that of the client's SYN, "
	"both ways."},
{"listeners[].binding", CONF_CHOICE, ONE(turn_listener, binding),
	.choices = conf_binding_choices, .def = "all",
	.help = "Binding requests that get an answer, within `limits.binding`. `all`: over UDP "
	"also those of RFC 3489, without magic cookie (Asterisk, desk phones). `rfc8489`: only "
	"those with the cookie. `none`: no answers. Clients then get no server-reflexive address "
	"here, and need another way to keep the NAT open for an allocation."},
#define X(...) __VA_ARGS__,
CONF_LISTENER_ROWS(X)
#undef X

{"listeners[].tls", CONF_SECTION, .help = "For one listener with `transport: tls`, `auto` or "
	"`dtls`. Keys that are left out here are as in `tls`. A session from a listener with "
	"another certificate or ALPN cannot be resumed here."},
{"listeners[].tls.certificate", CONF_TEXT, ONE(turn_listener, tls.certificate), RANGE(1, 4095),
	.help = "PEM file with the certificate of this listener, followed by the intermediate "
	"certificates. `tls.chain` belongs to `tls.certificate` only."},
{"listeners[].tls.key", CONF_TEXT, ONE(turn_listener, tls.key), RANGE(1, 4095),
	.help = "PEM file with its private key. Give both files or neither."},
{"listeners[].tls.alpn", CONF_TEXTS, MANY(turn_listener, tls.alpn, tls.nb_alpn), RANGE(0, 16),
	.absent = "`tls.alpn`", .help = "As `tls.alpn`, which it replaces."},
{"listeners[].proxy", CONF_PREFIXES, MANY(turn_listener, proxy.sources, proxy.nb_from),
	RANGE(0, 4096), .help = "For one listener with `transport: tcp`, `tls` or `auto`: source "
	"addresses of balancers, as single addresses, `a-b` ranges and prefixes, 64 prefixes at "
	"most. No other host may connect. A balancer writes a PROXY protocol header of version 1 "
	"or 2 in front of each connection. The server takes its address and port for the client's "
	"everywhere, so a host at these addresses can claim any client address. A reload leaves "
	"open connections unchanged."},

{"tls", CONF_SECTION, .help = "For listeners with `transport: tls`, `auto` or `dtls`. SIGUSR2, "
	"SIGHUP and `slipringctl config reload` read the files again, for new connections and "
	"sessions. Unusable files leave the old ones in use, and the log says why. `--check`, each "
	"start, each renewal, `status`, and the log once a day warn of a certificate that has "
	"expired, or has less than a third of its validity and less than 30 days left. Session "
	"tickets get a new key every hour and at each renewal; the previous hour's key is still "
	"accepted."},
{"tls.certificate", CONF_TEXT, ONE(conf, tls.certificate), RANGE(1, 4095),
	.help = "PEM file with the certificate of the server, followed by the intermediate "
	"certificates. Required for TLS and DTLS."},
{"tls.key", CONF_TEXT, ONE(conf, tls.key), RANGE(1, 4095),
	.help = "PEM file with its private key, without a pass phrase. Required for TLS and DTLS."},
{"tls.chain", CONF_TEXT, ONE(conf, tls.chain), RANGE(1, 4095),
	.help = "PEM file with intermediate certificates, if `certificate` lacks them."},
{"tls.ciphers", CONF_TEXT, ONE(conf, tls.ciphers), RANGE(1, 1023),
	.help = "OpenSSL cipher list of TLS 1.2 and DTLS. Default: `ECDHE+AESGCM:ECDHE+CHACHA20`, "
	"the suites that RFC 9325 recommends. `DEFAULT` is OpenSSL's own list, with static RSA and "
	"CBC. TLS 1.3 uses OpenSSL's suites. Groups are X25519, P-256 and P-384."},
{"tls.alpn", CONF_TEXTS, MANY(conf, tls.alpn, tls.nb_alpn), RANGE(0, 16),
	.def = "stun.turn, stun.nat-discovery",
	.help = "Protocol names (ALPN, RFC 7301) of up to 255 bytes each. The first name that a "
	"client offers too is chosen. A client that offers only other names is refused; a client "
	"without ALPN is accepted. `[]` ignores ALPN. The default has the names of RFC 7443."},
{"tls.min-version", CONF_CHOICE, ONE(conf, tls.min_version),
	.choices = conf_tls_choices, .def = "1.2",
	.help = "Lowest version: `1.2` or `1.3`. `1.3` excludes `dtls` listeners, because slipring "
	"has no DTLS 1.3."},

{"streams", CONF_SECTION, .help = "TCP and TLS clients. Stream threads connect the kernel's "
	"sockets with the workers. They run on the CPUs of management."},
{"streams.threads", CONF_NUMBER, ONE(conf, streams.threads), RANGE(1, 16), .def = "1",
	.help = "Number of threads. The kernel spreads the connections over them."},
{"streams.connections", CONF_NUMBER, ONE(conf, streams.connections), RANGE(1, 1048576),
	.def = "10000", .help = "Concurrent connections. Each takes an open file: `LimitNOFILE` of "
	"the unit must be higher. A further connection replaces the oldest one that has not sent a "
	"whole message yet, or else is refused by a reset."},
{"streams.per-source", CONF_NUMBER, ONE(conf, streams.per_source), RANGE(0, 1048576),
	.def = "500", .help = "Concurrent connections without an allocation from one client "
	"address (IPv6: from its /64); 0 = no limit. Clients with an allocation do not count, so "
	"whole offices can use one address."},
{"streams.trusted", CONF_PREFIXES, MANY(conf, streams.trusted, streams.nb_trusted),
	RANGE(0, 4096), .help = "Addresses that `per-source` does not limit, but `connections` "
	"does: single addresses, `a-b` ranges and prefixes, 64 prefixes at most. For hosts that "
	"connect for many clients and cannot name them: an SNI multiplexer, a carrier's NAT. For "
	"balancers with the PROXY protocol use `listeners[].proxy`."},
{"streams.netns", CONF_TEXT, ONE(conf, streams.netns), RANGE(1, 63), .flags = CONF_WORD,
	.help = "Network namespace (`ip netns`) of the TCP listeners: that of their exception "
	"ports. Default: that of the process."},

{"dtls", CONF_SECTION, .help = "DTLS clients. The threads of `streams.threads` make the "
	"handshakes, the workers handle the records. Memory outside of EAL's: 3 KB per session, up "
	"to 56 KB per handshake, and up to 400 KB for one of a malicious client. DTLS uses the "
	"suites of `tls.ciphers` with AES-GCM or ChaCha20-Poly1305."},
{"dtls.sessions", CONF_NUMBER, ONE(conf, dtls.sessions), RANGE(1, 1048576), .def = "10000",
	.help = "Concurrent sessions, with handshakes. Further clients get no answer."},
{"dtls.per-source", CONF_NUMBER, ONE(conf, dtls.per_source), RANGE(0, 1048576), .def = "500",
	.help = "Concurrent sessions of one client address (IPv6: of its /64); 0 = no limit."},

{"relay", CONF_SECTION, REQUIRED, .help = "Relayed transport addresses."},
{"relay.addresses", CONF_RELAY_ADDRS, MANY(conf, turn.relay, turn.nb_relay), REQUIRED,
	RANGE(1, CONF_ADDRESSES_MAX),
	.help = "Addresses of the ports to relay from: single addresses, `a-b` ranges and prefixes "
	"(without the network and broadcast address of an IPv4 prefix). `all`, `all-ipv4` and "
	"`all-ipv6` instead of the list: all addresses of the ports, except those of "
	"`relay.pools`."},
{"relay.pools", CONF_ITEMS, MANY(conf, turn.relay_pools, turn.nb_relay_pools), RANGE(0, 15),
	.help = "Addresses that replace `relay.addresses` towards some peers: for example public "
	"peers behind one port, and a private network of conference servers behind another. The "
	"client is told the one relayed transport address of its allocation. Peers of a pool see "
	"the pool's address with the same port, as behind a 1:1 translation."},
{"relay.pools[].name", CONF_TEXT, ONE(turn_relay_pool, name), .flags = CONF_REQUIRED | CONF_WORD,
	RANGE(1, 32), .help = "Unique name of the pool in the log."},
{"relay.pools[].addresses", CONF_ADDRS, MANY(turn_relay_pool, addresses, nb_addresses), REQUIRED,
	RANGE(1, CONF_ADDRESSES_MAX), .help = "Addresses of the ports: for each family of the pool "
	"as many as there are relay addresses of this family. The first replaces the first, and so "
	"on."},
{"relay.pools[].for", CONF_PREFIXES, MANY(turn_relay_pool, peers, nb_peers), REQUIRED,
	RANGE(1, 256), .help = "Peers of the pool. The longest prefix of all pools decides. "
	"`peers.allow` must allow them, too."},
{"relay.ports", CONF_PORT_RANGE, .offset = offsetof(struct conf, turn.port_lo),
	.count = offsetof(struct conf, turn.port_hi), .size = 2, RANGE(1024, 65535),
	.def = "49152-65535", .help = "Relay ports on every relay address."},
{"relay.default-family", CONF_CHOICE, ONE(conf, turn.default_family),
	.choices = conf_family_choices, .def = "ipv4",
	.help = "Family of the relayed transport address if an Allocate has neither "
	"REQUESTED-ADDRESS-FAMILY nor ADDITIONAL-ADDRESS-FAMILY. `ipv4`: as RFC 8656 requires. "
	"`ipv6`. `client`: the family of the client's address, or the other one if no relay "
	"address has that family."},
#define X(...) __VA_ARGS__,
CONF_RELAY_ROWS(X)
#undef X

{"auth", CONF_SECTION, REQUIRED,
	.help = "Long-term credentials (RFC 8489 section 9.2). At least one user, secret or other "
	"key, unless there are `realms`."},
{"auth.realm", CONF_TEXT, ONE(conf, turn.first.name), OPAQUE_REQUIRED, RANGE(1, 763),
	.help = "The realm. With up to 16 bytes unauthenticated answers have at most 3 times the "
	"size of their request (amplification)."},
{"auth.users", CONF_ITEMS, MANY(conf, turn.first.users, turn.first.nb_users), RANGE(0, 65536),
	.help = "Users with a password, or with keys made from it for this realm."},
{"auth.users[].name", CONF_TEXT, ONE(turn_user, name), OPAQUE_REQUIRED, RANGE(1, 508),
	.help = "Unique user name. Names, passwords and realms are prepared as OpaqueString (RFC "
	"8265), as RFC 8489 requires of clients: characters are composed (NFC), and every space "
	"becomes U+0020. A forbidden character is an error."},
{"auth.users[].password", CONF_TEXT, ONE(turn_user, password), OPAQUE, RANGE(1, 1023),
	.help = "Password."},
{"auth.users[].password-file", CONF_SECRET_FILE, ONE(turn_user, password), OPAQUE,
	RANGE(1, 1023),
	.help = "Instead of a password: a file with the password, as `auth.secret-files`."},
{"auth.users[].key", CONF_HEX, ONE(turn_user, md5), RANGE(16, 16),
	.help = "Instead of a password: MD5 of `name:realm:password`, for MESSAGE-INTEGRITY."},
{"auth.users[].key-sha256", CONF_HEX, ONE(turn_user, sha256), RANGE(32, 32),
	.help = "Instead of a password, alone or with `key`: SHA-256 of `name:realm:password`."},
{"auth.secrets", CONF_TEXTS, MANY(conf, turn.first.secrets, turn.first.nb_secrets), RANGE(0, 16),
	.help = "Secrets shared with a web service that issues time-limited users (`expiry:id`, as "
	"coturn's `static-auth-secret`). Several allow rotation. The service makes passwords with "
	"HMAC-SHA1 or HMAC-SHA256: both are tried."},
{"auth.secret-files", CONF_SECRET_FILES, MANY(conf, turn.first.secrets, turn.first.nb_secrets),
	RANGE(0, 16),
	.help = "Files with one more such secret each; at most 16 together with `auth.secrets`. A "
	"relative name starts at `$CREDENTIALS_DIRECTORY` if set (systemd's `LoadCredential=`), "
	"else at the directory of the configuration file that has the key. The secret is one line, "
	"without the line feed at its end. A reload reads it again."},

#define X(...) __VA_ARGS__,
CONF_AUTH_ROWS(X)
#undef X

{"auth.rest-expiry", CONF_CHOICE, ONE(conf, turn.rest_expiry),
	.choices = conf_rest_expiry_choices, .def = "ignored",
	.help = "Effect of a time-limited user's expiry on existing allocations. New ones are "
	"always refused. `ignored`: no effect, as with coturn and eturnal. `refresh-refused`: "
	"requests get 401, so an allocation ends with its current lifetime. `ends-session`: no "
	"lifetime goes beyond the expiry. A reload applies to a client's next request."},
{"auth.nonce", CONF_SECTION, .help = "Nonces hold no state: any server that has the secret accepts "
	"them."},
{"auth.nonce.lifetime", CONF_TIME, ONE(conf, turn.nonce_lifetime_s), RANGE(1, 86400),
	.def = "600", .help = "Seconds until a nonce is stale and the client gets a new one."},
{"auth.nonce.secret", CONF_TEXT, ONE(conf, turn.nonce_secret), RANGE(0, 1023), .def = "\"\"",
	.help = "Give all servers of a fleet one secret. A secret also keeps nonces valid over a "
	"restart. Empty: a random secret for the life of the process."},
{"auth.nonce.secret-file", CONF_SECRET_FILE, ONE(conf, turn.nonce_secret), RANGE(1, 1023),
	.help = "Instead of `secret`: a file with the secret, as `auth.secret-files`."},

#define X(...) __VA_ARGS__,
CONF_ROWS(X)
#undef X
};
// clang-format on

const struct conf_table conf_schema_turn = TABLE(rows, &conf_schema_limits);
