// SPDX-License-Identifier: BSD-3-Clause
// The keys of listeners, relay addresses and users.
#include "reading/ctx.h"
#include "schema_rows.h"

// clang-format off
static const struct conf_key rows[] = {
{"listeners", CONF_ITEMS, MANY(conf, turn.listeners, turn.nb_listeners), REQUIRED, RANGE(1, 255),
	.help = "Where TURN clients are served."},
{"listeners[].transport", CONF_CHOICE, ONE(turn_listener, transport),
	.choices = conf_transport_choices, .def = "udp",
	.help = "Transport of the client leg: `udp`, `tcp`, `tls` (over TCP, with the certificate "
	"of `tls`), `auto`: TCP, where the first byte of each client tells whether it speaks TLS, "
	"or `dtls` (1.2, over UDP, with the same certificate). A `udp` and a `dtls` listener may "
	"have one address and port: the first byte of each datagram tells whose it is (RFC 7983)."},
{"listeners[].address", CONF_LISTEN_ADDR, ONE(turn_listener, endpoint.addr), REQUIRED,
	.count = offsetof(struct turn_listener, on),
	.help = "A `udp` or `dtls` listener has an address of a port. TCP is the kernel's: a "
	"`tcp`, `tls` or `auto` listener has any address that the kernel has, or will have (DHCP "
	"may bring it later): one of a port with `exception`, where it needs no `allow`, one of a "
	"`packet:` port, or of another interface. `all`, `all-ipv4` and `all-ipv6` stand for all "
	"addresses of the ports, for TCP of those that are the kernel's, too."},
{"listeners[].port", CONF_NUMBER, ONE(turn_listener, endpoint.port), RANGE(1, 65535), .def = "3478",
	.help = "Port number; customary for TLS and DTLS is 5349, for TLS also 443. It is taken "
	"out of the relay range of the same address."},
{"listeners[].dscp", CONF_DSCP, ONE(turn_listener, dscp), RANGE(0, 63), .def = "copy",
	.help = "DSCP of what leaves to the clients of this listener, and for them to their peers. "
	"`copy`: as it came, which each sender chooses; answers, and what no packet brings, have "
	"0. A number, 46 (EF) or 34 (AF41) for media: all has this one, answers and handshakes "
	"too. 0 trusts nobody's. ECN is always as it came. TCP and TLS: the kernel's packets to "
	"the client have it as well; with `copy` it is that of the client's SYN, both ways."},
{"listeners[].binding", CONF_CHOICE, ONE(turn_listener, binding),
	.choices = conf_binding_choices, .def = "all",
	.help = "Binding requests that are answered here, within `limits.binding`: `all`, over UDP "
	"also those of RFC 3489, which have no magic cookie (Asterisk, desk phones); `rfc8489`: "
	"with the cookie alone; `none`: this is no STUN server. Then clients get no server "
	"reflexive address here, and those that send Binding requests to keep an allocation's NAT "
	"open need another way."},
{"listeners[].realms", CONF_TEXTS, MANY(turn_listener, realms, nb_realms),
	OPAQUE, RANGE(1, TURN_REALMS_MAX + 1), .absent = "all",
	.help = "Names of the realms that are served here: `auth.realm`, and those of `realms`. "
	"Credentials of the first are asked for where a request names no realm and its ORIGIN "
	"chooses none. Without it: all, and `auth.realm` is the first."},
{"listeners[].tls", CONF_SECTION, .help = "For one listener with `transport: tls`, `auto` or "
	"`dtls`; what is not said here is as in `tls`. A session that began on a listener with "
	"another certificate or ALPN is not resumed here."},
{"listeners[].tls.certificate", CONF_TEXT, ONE(turn_listener, tls.certificate), RANGE(1, 4095),
	.help = "PEM file with the certificate of this listener, and behind it those between it "
	"and the root: `tls.chain` is of `tls.certificate` alone."},
{"listeners[].tls.key", CONF_TEXT, ONE(turn_listener, tls.key), RANGE(1, 4095),
	.help = "PEM file with its private key. Both, or none of the two."},
{"listeners[].tls.alpn", CONF_TEXTS, MANY(turn_listener, tls.alpn, tls.nb_alpn), RANGE(0, 16),
	.absent = "`tls.alpn`", .help = "As `tls.alpn`, which it replaces."},
{"listeners[].proxy", CONF_PREFIXES, MANY(turn_listener, proxy.sources, proxy.nb_from),
	RANGE(0, 4096), .help = "For one listener with `transport: tcp`, `tls` or `auto`: the "
	"addresses that balancers connect from, single ones, `a-b` and prefixes, 64 prefixes at "
	"most. Clients come by them: they write a header of the PROXY protocol, of version 1 or 2, "
	"in front of each connection. The address and port in it are the client's for all that the "
	"server does and tells. Nobody else may connect. Whoever connects from there can say whose "
	"address they have. Open connections stay as they are when a reload changes it."},

{"tls", CONF_SECTION, .help = "For listeners with `transport: tls`, `auto` or `dtls`. SIGUSR2, "
	"SIGHUP and `slipringctl config reload` read the files again, for connections and "
	"sessions from then on; where they are of no use, the old ones stay and the log says why. "
	"`--check`, each start and each renewal tell of a certificate that has expired, or of "
	"which less than a third of its validity is left, and less than 30 days. So does the log "
	"once a day, and `status`. Session tickets have another key every hour, and from "
	"each renewal on; the one of the hour before is still taken."},
{"tls.certificate", CONF_TEXT, ONE(conf, tls.certificate), RANGE(1, 4095),
	.help = "PEM file with the certificate of the server, and behind it those between it and "
	"the root. Required where there is TLS."},
{"tls.key", CONF_TEXT, ONE(conf, tls.key), RANGE(1, 4095),
	.help = "PEM file with its private key, without a pass phrase. Required where there is "
	"TLS."},
{"tls.chain", CONF_TEXT, ONE(conf, tls.chain), RANGE(1, 4095),
	.help = "PEM file with certificates between the server's and the root, where `certificate` "
	"does not have them."},
{"tls.ciphers", CONF_TEXT, ONE(conf, tls.ciphers), RANGE(1, 1023),
	.help = "Cipher list of TLS 1.2 and DTLS in OpenSSL's words. Without it: "
	"`ECDHE+AESGCM:ECDHE+CHACHA20`, the suites that RFC 9325 recommends; `DEFAULT` is what "
	"OpenSSL has, with static RSA and CBC. Those of TLS 1.3 are OpenSSL's. Groups are X25519, "
	"P-256 and P-384."},
{"tls.alpn", CONF_TEXTS, MANY(conf, tls.alpn, tls.nb_alpn), RANGE(0, 16),
	.def = "stun.turn, stun.nat-discovery",
	.help = "Names of protocols that clients may ask for (ALPN, RFC 7301), of up to 255 bytes "
	"each; the first that a client offers too is taken. A client that offers others alone is "
	"refused, one that offers none is not. With `[]` what clients offer is not looked at. The "
	"default has those of RFC 7443."},
{"tls.min-version", CONF_CHOICE, ONE(conf, tls.min_version),
	.choices = conf_tls_choices, .def = "1.2",
	.help = "Lowest version: `1.2` or `1.3`. With `1.3` there can be no `dtls` listener: there "
	"is no DTLS 1.3 here."},

{"streams", CONF_SECTION, .help = "TCP and TLS clients: threads of their own, on the CPUs of "
	"management, between the kernel's sockets and the workers."},
{"streams.threads", CONF_NUMBER, ONE(conf, streams.threads), RANGE(1, 16), .def = "1",
	.help = "How many. The kernel deals the connections over them."},
{"streams.connections", CONF_NUMBER, ONE(conf, streams.connections), RANGE(1, 1048576),
	.def = "10000", .help = "Connections at a time. Each takes an open file: `LimitNOFILE` of "
	"the unit must be higher. For one more the oldest gives way that has not sent a whole "
	"message yet; where there is none it is refused by a reset."},
{"streams.per-source", CONF_NUMBER, ONE(conf, streams.per_source), RANGE(0, 1048576),
	.def = "500", .help = "Connections at a time of one client address (IPv6: of its /64) that "
	"have no allocation; 0 = no limit. So whole offices come from one address; what it "
	"bounds is who connects and does nothing."},
{"streams.trusted", CONF_PREFIXES, MANY(conf, streams.trusted, streams.nb_trusted),
	RANGE(0, 4096), .help = "Addresses whose connections `per-source` does not "
	"count: single ones, `a-b` and prefixes, 64 prefixes at most. For what connects for many "
	"clients and cannot say for whom: a multiplexer by SNI, a carrier's NAT. A balancer that "
	"speaks the PROXY protocol wants `listeners[].proxy` instead. `connections` "
	"holds for them, too."},
{"streams.netns", CONF_TEXT, ONE(conf, streams.netns), RANGE(1, 63), .flags = CONF_WORD,
	.help = "Network namespace (`ip netns`) of the TCP listeners; that of the exception ports "
	"they are on. Without it: that of the process."},

{"dtls", CONF_SECTION, .help = "DTLS clients. Handshakes are made by the threads of "
	"`streams.threads`; the records of a session are the worker's. A session takes 3 KB of "
	"memory outside of EAL's, a handshake up to 56 KB, and one whose client means harm up to "
	"400 KB. Those of `tls.ciphers` with AES-GCM or ChaCha20-Poly1305 are used."},
{"dtls.sessions", CONF_NUMBER, ONE(conf, dtls.sessions), RANGE(1, 1048576), .def = "10000",
	.help = "Sessions at a time, handshakes included. What is more is not answered."},
{"dtls.per-source", CONF_NUMBER, ONE(conf, dtls.per_source), RANGE(0, 1048576), .def = "500",
	.help = "Sessions at a time of one client address (IPv6: of its /64); 0 = no limit."},

{"relay", CONF_SECTION, REQUIRED, .help = "Where relayed transport addresses come from."},
{"relay.addresses", CONF_RELAY_ADDRS, MANY(conf, turn.relay, turn.nb_relay), REQUIRED,
	RANGE(1, CONF_ADDRESSES_MAX),
	.help = "Addresses of the ports to relay from: single ones, `a-b` ranges and prefixes "
	"(the network and broadcast address of an IPv4 prefix are left out). `all`, `all-ipv4` and "
	"`all-ipv6` in place of the list stand for all addresses of the ports, except those of "
	"`relay.pools`."},
{"relay.pools", CONF_ITEMS, MANY(conf, turn.relay_pools, turn.nb_relay_pools), RANGE(0, 15),
	.help = "Addresses that stand in for `relay.addresses` towards some peers, as where public "
	"peers are behind one port and a private net of conference servers is behind another. An "
	"allocation has one relayed transport address, which its client is told. Peers of a pool "
	"see it by the pool's address with the same port, as behind a 1:1 translation."},
{"relay.pools[].name", CONF_TEXT, ONE(turn_relay_pool, name), .flags = CONF_REQUIRED | CONF_WORD,
	RANGE(1, 32), .help = "What the log calls it; unique."},
{"relay.pools[].addresses", CONF_ADDRS, MANY(turn_relay_pool, addresses, nb_addresses), REQUIRED,
	RANGE(1, CONF_ADDRESSES_MAX), .help = "Addresses of the ports, of a family as many as "
	"there are relay addresses of it: the first stands for the first, and so on."},
{"relay.pools[].for", CONF_PREFIXES, MANY(turn_relay_pool, peers, nb_peers), REQUIRED,
	RANGE(1, 256), .help = "The peers of the pool; the longest prefix of all pools decides. "
	"It does not allow them: `peers.allow` does."},
{"relay.mode", CONF_CHOICE, ONE(conf, turn.shared), .choices = conf_relay_choices, .def = "unique",
	.help = "`unique`: every allocation has a relayed transport address of its own, as RFC "
	"8656 wants it. `shared`: all of them share the few ports of `relay.ports`, for firewalls "
	"that open no more, and are told apart by the peer's address and port. Peers then have to "
	"send from the very port that the client has bound a channel or sent to, EVEN-PORT and "
	"RESERVATION-TOKEN get 508, and of all clients on one shared address one alone can have a "
	"given peer address and port: another's ChannelBind for it gets 508, and its Sends are "
	"dropped. New allocations go where there are fewest such peers, so N shared addresses of a "
	"worker carry N clients of one conference server."},
{"relay.ports", CONF_PORT_RANGE, .offset = offsetof(struct conf, turn.port_lo),
	.count = offsetof(struct conf, turn.port_hi), .size = 2, RANGE(1024, 65535),
	.def = "49152-65535", .help = "Port numbers to relay from, on every relay address. "
	"Shared ones are 3480-3487 by default, and at most 4096 with all addresses; each belongs "
	"to one worker, and there must be one of each family for every worker."},
{"relay.tcp", CONF_SECTION, .help = "TCP between the relay addresses and peers (RFC 6062), for "
	"clients over TCP and TLS that ask for it. The sockets are the kernel's: every relay "
	"address is on a port with `exception` in the namespace `streams.netns`, or on a `packet:` "
	"port. Of the addresses of this box only those that "
	"it relays TCP from are peers. Nothing of it outlives a restart."},
{"relay.tcp.enabled", CONF_BOOL, ONE(conf, turn.tcp.enabled), .def = "false",
	.help = "Whether REQUESTED-TRANSPORT may be TCP."},
{"relay.tcp.ports", CONF_PORT_RANGE, .offset = offsetof(struct conf, turn.tcp.ports_lo),
	.count = offsetof(struct conf, turn.tcp.ports_hi), .size = 2, RANGE(1024, 65535),
	.def = "61000-61999", .help = "TCP ports to relay from, so many allocations at a time. "
	"They may be among `relay.ports`: TCP and UDP are apart. The kernel must not give them to "
	"its own sockets: they are out of `net.ipv4.ip_local_port_range`, or in "
	"`net.ipv4.ip_local_reserved_ports`. Exception ports let them through, without an entry in "
	"`allow`."},
{"relay.default-family", CONF_CHOICE, ONE(conf, turn.default_family),
	.choices = conf_family_choices, .def = "ipv4",
	.help = "Family of the relayed transport address where an Allocate has neither "
	"REQUESTED-ADDRESS-FAMILY nor ADDITIONAL-ADDRESS-FAMILY: `ipv4`, as RFC 8656 wants it, "
	"`ipv6`, or `client`: that of the client's own address, or the other one where no relay "
	"address is of it. Clients that ask for a family get that one, and those that ask for both "
	"get both."},
{"relay.peers-per-allocation", CONF_NUMBER, ONE(conf, turn.limits.endpoints), RANGE(1, 65535),
	.def = "256",
	.help = "On shared ports: addresses and ports of peers that an allocation can have "
	"registered, by a channel or by sending to them. They stay as long as its permission for "
	"the address, or a channel, lives."},
{"relay.mobility", CONF_SECTION, .help = "Clients that change their address, port or connection "
	"and keep their allocation (RFC 8016)."},
{"relay.mobility.enabled", CONF_BOOL, ONE(conf, turn.mobility), .def = "false",
	.help = "Whether a client that asks for a ticket (MOBILITY-TICKET) gets one. Else it gets "
	"405. What there is memory for grows by 56 bytes for each relay port, and by 95 "
	"for each allocation that can exist."},

{"auth", CONF_SECTION, REQUIRED,
	.help = "Long-term credentials (RFC 8489 section 9.2). At least one user, one secret "
	"or one key of `auth.oauth`, unless there are `realms`."},
{"auth.realm", CONF_TEXT, ONE(conf, turn.realm), OPAQUE_REQUIRED, RANGE(1, 763),
	.help = "The realm. Up to 16 bytes keep unauthenticated answers within 3 times their "
	"request (amplification)."},
{"auth.users", CONF_ITEMS, MANY(conf, turn.users, turn.nb_users), RANGE(0, 65536),
	.help = "Configured users: each has a password, or keys made of it for this realm."},
{"auth.users[].name", CONF_TEXT, ONE(turn_user, name), OPAQUE_REQUIRED, RANGE(1, 508),
	.help = "User name; unique. Names, passwords and realms are prepared as OpaqueString (RFC "
	"8265): characters are composed (NFC), and every space is U+0020, as RFC 8489 has clients "
	"do it. A character that can be in none is an error."},
{"auth.users[].password", CONF_TEXT, ONE(turn_user, password), OPAQUE, RANGE(1, 1023),
	.help = "Password."},
{"auth.users[].password-file", CONF_SECRET_FILE, ONE(turn_user, password), OPAQUE,
	RANGE(1, 1023),
	.help = "Instead of a password: a file that has it, as `auth.secret-files`."},
{"auth.users[].key", CONF_HEX, ONE(turn_user, md5), RANGE(16, 16),
	.help = "Instead of a password: MD5 of `name:realm:password`. Serves MESSAGE-INTEGRITY."},
{"auth.users[].key-sha256", CONF_HEX, ONE(turn_user, sha256), RANGE(32, 32),
	.help = "Instead of a password, alone or beside `key`: SHA-256 of `name:realm:password`."},
{"auth.secrets", CONF_TEXTS, MANY(conf, turn.secrets, turn.nb_secrets), RANGE(0, 16),
	.help = "Secrets shared with a web service that hands out time-limited users "
	"(`expiry:id`, as coturn's `static-auth-secret`). Several, so that they can be rotated."},
{"auth.secret-files", CONF_SECRET_FILES, MANY(conf, turn.secrets, turn.nb_secrets), RANGE(0, 16),
	.help = "Files with one more such secret each, 16 with `auth.secrets` together. A relative "
	"name is looked for in `$CREDENTIALS_DIRECTORY` where that is set (systemd's "
	"`LoadCredential=`), else beside the configuration file that names it. The file is one "
	"line; a line feed at its end is no part of the secret. A reload reads it again."},
{"auth.oauth", CONF_SECTION, .help = "Third-party authorization (RFC 7635): clients bring access "
	"tokens, which an authorization server has sealed with a key that this box has, too. "
	"Beside users and secrets, or in their place."},
{"auth.oauth.server-name", CONF_TEXT, ONE(conf, turn.oauth.server_name), RANGE(1, 255),
	.help = "Name of this server: clients are told it (THIRD-PARTY-AUTHORIZATION), and tokens "
	"are made for it alone. All servers of a fleet may have the same. Without it: the realm."},
{"auth.oauth.keys", CONF_ITEMS, MANY(conf, turn.oauth.keys, turn.oauth.nb_keys),
	RANGE(0, TURN_OAUTH_KEYS_MAX),
	.help = "The keys: several, so that they can be rotated. A reload brings and takes keys; "
	"sessions whose last token was of one that is gone end with `user-gone`. Without any no "
	"token is taken."},
{"auth.oauth.keys[].kid", CONF_TEXT, ONE(turn_oauth_key, kid), REQUIRED, RANGE(1, 508),
	.help = "Name of the key, which clients send as USERNAME; unique, and no user's name."},
{"auth.oauth.keys[].secret", CONF_TEXT, ONE(turn_oauth_key, secret), RANGE(1, 127),
	.help = "The key, in base64 or hexadecimal: 32 bytes for A256GCM, 16 for A128GCM."},
{"auth.oauth.keys[].secret-file", CONF_SECRET_FILE, ONE(turn_oauth_key, secret), RANGE(1, 127),
	.help = "Instead of `secret`: a file that has it, as `auth.secret-files`."},
{"auth.rest-expiry", CONF_CHOICE, ONE(conf, turn.rest_expiry),
	.choices = conf_rest_expiry_choices, .def = "ignored",
	.help = "What the time in the name of a time-limited user means to an allocation that was "
	"made before: `ignored`: nothing, as with coturn and eturnal, so that no call ends by it; "
	"only new allocations are refused with that name; `refresh-refused`: requests get 401 from "
	"then on, so that it ends with the lifetime that it has; `ends-session`: it is granted no "
	"lifetime beyond. A reload holds for the next request of each client."},
{"auth.origins", CONF_TEXTS, MANY(conf, turn.origins, turn.nb_origins), RANGE(0, 16),
	.help = "As `realms[].origins`, for `auth.realm`."},
{"auth.relay-pools", CONF_TEXTS, MANY(conf, turn.relay_pool_names, turn.nb_relay_pool_names),
	RANGE(0, 15), .absent = "all", .help = "As `realms[].relay-pools`, for `auth.realm`."},
{"auth.nonce", CONF_SECTION, .help = "Nonces hold no state: any server that has the secret takes "
	"them."},
{"auth.nonce.lifetime", CONF_TIME, ONE(conf, turn.nonce_lifetime_s), RANGE(1, 86400),
	.def = "600", .help = "Seconds until a nonce is stale and the client is told a new one."},
{"auth.nonce.secret", CONF_TEXT, ONE(conf, turn.nonce_secret), RANGE(0, 1023), .def = "\"\"",
	.help = "The same on all servers of a fleet, or to keep nonces good over a restart. "
	"Empty: a random one for the life of the process."},
{"auth.nonce.secret-file", CONF_SECRET_FILE, ONE(conf, turn.nonce_secret), RANGE(1, 1023),
	.help = "Instead of `secret`: a file that has it, as `auth.secret-files`."},

{"realms", CONF_ITEMS, MANY(conf, turn.realms, turn.nb_realms), RANGE(0, TURN_REALMS_MAX),
	.help = "Realms beside `auth.realm`, as of tenants: each has users, secrets and quotas of "
	"its own, so users of one name in two realms have nothing in common. What stands in "
	"`limits` and `peers` is for all. An allocation stays in the realm that it was made in. A "
	"reload brings and takes realms; the allocations of one that is gone end with "
	"`user-gone`."},
{"realms[].name", CONF_TEXT, ONE(turn_realm, name), OPAQUE_REQUIRED, RANGE(1, 763),
	.help = "The realm; unique. As with `auth.realm`, up to 16 bytes do not amplify."},
{"realms[].origins", CONF_TEXTS, MANY(turn_realm, origins, nb_origins), RANGE(0, 16),
	.help = "Web origins, such as `https://app.example.org`: a request without credentials "
	"whose ORIGIN is one of them is asked for those of this realm, if its listener serves "
	"it. Letter case does not count, nor the usual port of http and https."},
{"realms[].users", CONF_ITEMS, .like = "auth.users", MANY(turn_realm, users, nb_users),
	RANGE(0, 65536),
	.help = "Configured users, as `auth.users`. A realm has at least one user, one "
	"secret or one key of `oauth`."},
{"realms[].secrets", CONF_TEXTS, MANY(turn_realm, secrets, nb_secrets), RANGE(0, 16),
	.help = "Secrets of the realm's web service, as `auth.secrets`."},
{"realms[].secret-files", CONF_SECRET_FILES, MANY(turn_realm, secrets, nb_secrets), RANGE(0, 16),
	.help = "Files with one more such secret each, as `auth.secret-files`."},
{"realms[].oauth", CONF_SECTION, .like = "auth.oauth",
	.offset = offsetof(struct turn_realm, oauth), .count = offsetof(struct conf, turn.oauth),
	.help = "Access tokens of the realm, as `auth.oauth`."},
{"realms[].limits", CONF_SECTION, .help = "Quotas of the realm, beside those of all."},
{"realms[].limits.allocations", CONF_NUMBER, ONE(turn_realm, allocations), RANGE(1, 16777216),
	.help = "Allocations of the realm in all. Without it: as many as `limits.allocations` "
	"leaves."},
{"realms[].limits.per-user", CONF_NUMBER, ONE(turn_realm, per_user), RANGE(1, 16777216),
	.absent = "`limits.per-user`", .help = "Allocations of one user of the realm."},
{"realms[].peers", CONF_SECTION, .help = "Rules of the realm beside `peers`. The longest prefix "
	"of both decides; at equal length deny wins."},
{"realms[].peers.allow", CONF_PREFIXES, MANY(turn_realm, allow, nb_allow), RANGE(0, 65536),
	.help = "As `peers.allow`."},
{"realms[].peers.deny", CONF_PREFIXES, MANY(turn_realm, deny, nb_deny), RANGE(0, 65536),
	.help = "As `peers.deny`."},
{"realms[].relay-pools", CONF_TEXTS, MANY(turn_realm, relay_pool_names, nb_relay_pool_names),
	RANGE(0, 15), .absent = "all",
	.help = "Names of those `relay.pools` that the realm's peers can be in. "
	"Without it: all; `[]`: none. Two pools that no realm has together may be for the same "
	"peers. A port that has addresses of pools named here and none of `relay.addresses` is "
	"apart: its subnets, routes and gateway are for its own addresses, and these have no "
	"others. A restart changes the list, as peers know allocations by these addresses."},
};
// clang-format on

const struct conf_table conf_schema_turn = TABLE(rows, &conf_schema_limits);
