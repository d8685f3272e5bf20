// SPDX-License-Identifier: BSD-3-Clause
// Warnings about a file without errors: with their key and position, and only with a reason.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_file.h"
#include "test.h"

// Two ports on the Internet, without anything to warn of.
static const char clean[] = "eal:\n"
			    "  lcores: 0@(0-1),1@0,2@1\n"
			    "  args: []\n"
			    "workers: {count: 2, idle: adaptive}\n"
			    "ports:\n"
			    "  - name: wan\n"
			    "    device: net_a\n"
			    "    addresses: [198.51.100.1/24, '2001:db8::1/64']\n"
			    "    gateway: [198.51.100.254, 'fe80::1']\n"
			    "    vlan: 0\n" // 10
			    "  - name: lan\n"
			    "    device: net_b\n"
			    "    addresses: [203.0.113.1-203.0.113.9/24]\n"
			    "    gateway: [203.0.113.254]\n"
			    "listeners:\n"
			    "  - {transport: udp, address: 198.51.100.1}\n"
			    "  - {transport: udp, address: '2001:db8::1'}\n"
			    "relay:\n"
			    "  addresses: [198.51.100.1, '2001:db8::1', 203.0.113.2-203.0.113.4]\n"
			    "  ports: 49152-65535\n" // 20
			    "auth:\n"
			    "  realm: turn.test\n"
			    "  users:\n"
			    "    - {name: ivan, password: hunter2}\n"
			    "  secrets: [hunter3hunter3hunter3, hunter4hunter4hunter4]\n" // 25
			    "  nonce: {secret: hunter4hunter4hunter4}\n"
			    "peers:\n"
			    "  allow: [10.0.0.0/24, 10.1.0.1-10.1.0.6]\n"
			    "  deny: ['fd00:1::/32']\n"
			    "state: {}\n";

struct heard {
	unsigned int nb;
	char text[8192];
};

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	struct heard *h = ctx;

	assert_int_equal(weight, CONF_WARNING);
	assert_int_equal(strncmp(line, conf_path, strlen(conf_path)), 0);
	assert_null(strstr(line, "hunter"));
	// the test machine may have only one CPU
	if (strstr(line, ": workers.count: ") != NULL)
		return;
	snprintf(h->text + strlen(h->text), sizeof(h->text) - strlen(h->text), "%s\n", line);
	h->nb++;
}

struct edit {
	const char *piece, *replacement;
};

static struct conf *load_text(const char *text)
{
	char error[CONF_ERROR_LEN];
	struct conf *c = conf_file_load(text, strlen(text), error);

	if (c == NULL)
		fail_msg("%s", error);
	return c;
}

static struct conf *load(const struct edit *edits, size_t nb)
{
	char *text = strdup(clean);
	struct conf *c;

	for (size_t i = 0; i < nb; i++) {
		char *next = conf_text_edit(text, edits[i].piece, edits[i].replacement);

		free(text);
		text = next;
	}
	c = load_text(text);
	free(text);
	return c;
}

static struct heard warnings_of(struct conf *c)
{
	struct heard h = {0};
	struct conf_report r = {.say = hear, .ctx = &h};

	conf_warnings(c, &r);
	conf_free(c);
	return h;
}

static struct heard warned_all(const struct edit *edits, size_t nb)
{
	return warnings_of(load(edits, nb));
}

static struct heard warned(const char *piece, const char *replacement)
{
	return warned_all(&(struct edit){piece, replacement}, 1);
}

// Asserts that clean with each mistake has one warning.
static void check(const struct conf_file_mistake *list, size_t nb)
{
	for (size_t i = 0; i < nb; i++) {
		char *text = conf_text_mistake(clean, &list[i]);
		char place[CONF_PLACE_LEN], want[1024];
		struct heard h;

		conf_text_unmark(text, strlen(text), place);
		h = warnings_of(load_text(text));
		free(text);
		snprintf(want, sizeof(want), "%s:%s%s", conf_path, place, list[i].error);
		if (h.nb != 1 || strncmp(h.text, want, strlen(want)) != 0)
			fail_msg("wanted: %s\n   got: %s", want, h.text);
	}
}

#define CHECK(list) check(list, sizeof(list) / sizeof(list[0]))

static void assert_silent(const char *piece, const char *replacement)
{
	const struct heard h = warned(piece, replacement);

	if (h.nb != 0)
		fail_msg("unwanted: %s", h.text);
}

static int open_private(void **state)
{
	return conf_file_open(state) != 0 || chmod(conf_path, 0600) != 0 ? -1 : 0;
}

static void test_none_without_reason(void **state)
{
	assert_silent("eal", "eal");
	assert_silent("device: net_a\n",
		"device: net_af_packet0,iface=e\n    exception: {name: sr0, netns: ns}\n");
	// a realm of 16 bytes is short enough
	assert_silent("turn.test", "turn.example.org");
	// next to refused ranges, or larger than such a range
	assert_silent("10.0.0.0/24", "169.253.0.0/16, 0.0.0.0/1, '::/1', 'fe00::/9', 168.0.0.0/6");
	// behind a translator: denied networks, with an exception; and prefixes that do not overlap
	assert_silent("allow:", "nat64: ['2a00:64::/96']\n  allow:");
	assert_silent("'fd00:1::/32'", "'2a00:64::a00:1']\n  nat64: ['2a00:64::/96'");
	assert_silent("10.0.0.0/24, 10.1.0.1-10.1.0.6]\n  deny: ['fd00:1::/32'",
		"'2a00:64::a00:1', '2a00:65::/96', '2a00::/16']\n  nat64: ['2a00:64::/96']\n"
		"  deny: ['2a00:64::/96'");
	assert_silent("hunter3hunter3hunter3", "'$hunter3hunter3hunter3', 'I do not change me'");
	// 16 are enough
	assert_silent("hunter3hunter3hunter3", "0123456789abcdef");
}

static void hear_workers(void *ctx, enum conf_weight weight, const char *line)
{
	*(bool *)ctx |=
		strstr(line, conf_file_at("64, idle", "workers.count: 64 workers share ")) != NULL;
}

static void test_workers(void **state)
{
	bool told = false;
	struct conf_report r = {.say = hear_workers, .ctx = &told};
	static const struct edit edits[] = {{"0@(0-1),1@0,2@1", "0-64"}, {"count: 2", "count: 64"}};
	struct conf *c = load(edits, 2);

	conf_warnings(c, &r);
	conf_free(c);
	assert_int_equal(told, sysconf(_SC_NPROCESSORS_ONLN) < 64);
}

static void hear_lcores(void *ctx, enum conf_weight weight, const char *line)
{
	*(bool *)ctx |=
		strstr(line,
			conf_file_at("0@(0-1)",
				"eal.lcores: names 4 lcores, and management and 2 workers use "
				"3: name fewer, or set workers.count to ")) != NULL;
}

// An unused lcore.
static void test_lcores(void **state)
{
	static const struct edit edits[] = {{"0@(0-1),1@0,2@1", "0@(0-1),1@0,2@1,3@0"}};
	bool told = false;
	struct conf_report r = {.say = hear_lcores, .ctx = &told};
	struct conf *c = load(edits, 1);

	conf_warnings(c, &r);
	conf_free(c);
	assert_true(told);
}

static void test_sizes(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"device: net_a\n", "device: net_af_packet0,iface=e\n    exception: {name: ^sr0}\n",
			"ports[0].exception.name: with net_af_packet the kernel receives"},
		{"device: net_a\n",
			"bond: {members: ['net_af_packet0,iface=e']}\n"
			"    exception: {name: ^sr0}\n",
			"ports[0].exception.name: with net_af_packet the kernel receives"},
		{"    device: net_a\n",
			"    bond: {members: ['net_af_packet0,iface=e']}\n    vlans:\n"
			"      - {id: 7, addresses: [203.0.113.99/32], gateway: [203.0.113.254],\n"
			"         exception: {name: ^sr0}}\n",
			"ports[0].vlans[0].exception.name: with net_af_packet the kernel receives"},
	};

	CHECK(list);
}

#define LAN_SR0 "device: net_b\n    exception: {name: sr0, allow: "

// Packets that the data path handles never reach the kernel.
static void test_taken(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"vlan: 0", "exception: {name: sr0, allow: [udp/161, ^udp/3478]}",
			"ports[0].exception.allow[1]: udp/3478 never comes to the kernel, "
			"because every address of port 'wan' has a listener or a relay port "
			"there: remove it"},
		{"vlan: 0", "exception: {name: sr0, allow: [^udp/49152]}",
			"ports[0].exception.allow[0]: udp/49152 never comes to the kernel, "
			"because every address of port '"},
		{"vlan: 0", "exception: {name: sr0, allow: [^udp/65535]}",
			"ports[0].exception.allow[0]: udp/65535 never comes to the kernel, "
			"because every address of port '"},
	};

	CHECK(list);
	assert_silent(
		"vlan: 0", "exception: {name: sr0, allow: [tcp/3478, udp-to/3478, udp/49151]}");
	// an address without listener and relay
	assert_silent("device: net_b\n", LAN_SR0 "[udp/3478, udp/50000]}\n");
}

static void test_auth(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"realm: turn.test", "realm: ^12345678901234567", "auth.realm: has 17 bytes"},
		{"secret: hunter4hunter4hunter4", "secret: ^hunter4",
			"auth.nonce.secret: has fewer than 16 characters and may be guessed: "
			"make it longer"},
		{"hunter3hunter3hunter3", "^0123456789abcde",
			"auth.secrets[0]: has fewer than 16 characters and may be guessed: "
			"make it longer"},
		{"state:", "limits: {lifetime: {permission: ^60}}\nstate:",
			"limits.lifetime.permission: clients know the 300 s of RFC 8656"},
		{"state:", "limits: {lifetime: {channel: ^60}}\nstate:",
			"limits.lifetime.channel: clients know the 600 s of RFC 8656"},
	};

	CHECK(list);
	assert_int_equal(chmod(conf_path, 0644), 0);
	assert_string_equal(warned("eal", "eal").text,
		conf_file_at("eal",
			"auth: everyone on this host can read the secrets in the file: "
			"chmod o-r\n"));
	assert_int_equal(chmod(conf_path, 0600), 0);
}

// A placeholder where a secret should be.
static void test_placeholders(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"hunter4hunter4hunter4]", "^change me]",
			"auth.secrets[1]: is the published secret of the examples: write your "
			"own (openssl rand -hex 24)"},
		{"hunter3hunter3hunter3", "^'Change me: now'",
			"auth.secrets[0]: is the published secret of the examples: write your "
			"own (openssl rand -hex 24)"},
		{"hunter3hunter3hunter3", "^changeme",
			"auth.secrets[0]: is the published secret of the examples: write your "
			"own (openssl rand -hex 24)"},
		{"hunter3hunter3hunter3", "^'${TURN_SECRET}'",
			"auth.secrets[0]: looks like a variable, which slipring does not fill "
			"in: write the value itself"},
		{"hunter3hunter3hunter3", "^'{{ secret }}'",
			"auth.secrets[0]: looks like a variable, which slipring does not fill "
			"in: write the value itself"},
		{"hunter3hunter3hunter3", "^$(cat secret)",
			"auth.secrets[0]: looks like a variable, which slipring does not fill "
			"in: write the value itself"},
		{"hunter3hunter3hunter3", "^\xe2\x80\x9chunter3\xe2\x80\x9d",
			"auth.secrets[0]: has curly quotes, which become part of the value: "
			"use \" or '"},
		{"hunter3hunter3hunter3", "^\xe2\x80\x98hunter3\xe2\x80\x99",
			"auth.secrets[0]: has curly quotes, which become part of the value: "
			"use \" or '"},
		{"hunter2", "^change-me",
			"auth.users[0].password: is the published secret of the examples: "
			"write your own (openssl rand -hex 24)"},
		{"hunter2", "^'${PW}'",
			"auth.users[0].password: looks like a variable, which slipring does "
			"not fill in: write the value itself"},
		{"realm: turn.test", "realm: ^'${REALM}'",
			"auth.realm: looks like a variable, which slipring does not fill in: "
			"write the value itself"},
		{"secret: hunter4hunter4hunter4", "secret: ^'change me, change me'",
			"auth.nonce.secret: is the published secret of the examples: write "
			"your own (openssl rand -hex 24)"},
	};

	CHECK(list);
}

static void test_gateways(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"    gateway: [203.0.113.254]\n", "",
			"ports[1].addresses[0]: port 'lan' has no IPv4 gateway, so it reaches "
			"no clients and peers beyond its own subnets: name the router in "
			"ports[1].gateway, or for some networks in ",
			"203.0.113.1-203.0.113.9/24"},
		{"[203.0.113.254]", "[]",
			"ports[1].addresses[0]: port 'lan' has no IPv4 gateway, so it reaches "
			"no clients and peers beyond its own subnets: name the router in ",
			"203.0.113.1-203.0.113.9/24"},
		{", 'fe80::1'", "",
			"ports[0].gateway[0]: port 'wan' has no IPv6 gateway, so it reaches no "
			"clients and peers beyond its own subnets: name the router in ",
			"198.51.100.254"},
		{"198.51.100.254, ", "",
			"ports[0].gateway[0]: port 'wan' has no IPv4 gateway, so it reaches no "
			"clients and peers beyond its own subnets: name the router in ",
			"'fe80::1'"},
	};

	CHECK(list);
}

static void test_private_relay(void **state)
{
	static const struct {
		const char *address, *text;
	} list[] = {{"10.2.3.4", "a private address (RFC 1918)"},
		{"172.16.0.9", "a private address (RFC 1918)"},
		{"172.31.255.1", "a private address (RFC 1918)"},
		{"192.168.1.2", "a private address (RFC 1918)"},
		{"100.64.0.1", "an address behind a carrier's NAT (RFC 6598)"},
		{"100.127.255.1", "an address behind a carrier's NAT (RFC 6598)"},
		{"fd12::7", "a unique local address (RFC 4193)"}, {"172.15.0.9", NULL},
		{"172.32.0.9", NULL}, {"100.63.0.1", NULL}, {"100.128.0.1", NULL},
		{"2001:470::1", NULL}};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		const char *a = list[i].address;
		char replacement[256], reason[256], piece[64];
		const char *want = "";
		struct heard h;

		snprintf(replacement, sizeof(replacement),
			"203.0.113.1-203.0.113.9/24, '%s/%s']\n    gateway: [203.0.113.254%s]\n"
			"listeners:\n  - {transport: udp, address: 198.51.100.1}\n"
			"  - {transport: udp, address: '2001:db8::1'}\n"
			"relay:\n  addresses: ['%s', ",
			a, strchr(a, ':') != NULL ? "64" : "24",
			strchr(a, ':') != NULL ? ", 'fe80::1'" : "", a);
		h = warned("203.0.113.1-203.0.113.9/24]\n"
			   "    gateway: [203.0.113.254]\n"
			   "listeners:\n"
			   "  - {transport: udp, address: 198.51.100.1}\n"
			   "  - {transport: udp, address: '2001:db8::1'}\n"
			   "relay:\n"
			   "  addresses: [",
			replacement);
		if (list[i].text != NULL) {
			snprintf(piece, sizeof(piece), "'%s', ", a);
			snprintf(reason, sizeof(reason),
				"relay.addresses[0]: clients are told %s, which is %s, and ", a,
				list[i].text);
			want = conf_file_at(piece, reason);
		}
		if (h.nb != (list[i].text != NULL) || strncmp(h.text, want, strlen(want)) != 0)
			fail_msg("%s: wanted: %s\n   got: %s", a, want, h.text);
	}
}

// A range is one entry of the file, and so gives one warning.
static void test_private_range(void **state)
{
	static const struct edit edits[] = {
		{"203.0.113.1-203.0.113.9/24", "10.2.0.1-10.2.0.9/24"},
		{"203.0.113.254", "10.2.0.254"},
		{"203.0.113.2-203.0.113.4", "10.2.0.2-10.2.0.4"},
	};
	const struct heard h = warned_all(edits, 3);

	assert_int_equal(h.nb, 1);
	assert_non_null(strstr(h.text,
		conf_file_at("10.2.0.2-",
			"relay.addresses[2]: clients are told 10.2.0.2, which is a private")));
}

static void test_peers(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"'fd00:1::/32'", "^'64:ff9b::/96'", "peers.deny[0]: 64:ff9b::/96 never ma"},
		{"'fd00:1::/32'", "^'::10.0.0.0/104'", "peers.deny[0]: ::10.0.0.0/104 nev"},
		// all of IPv4, which is hardly intended
		{"'fd00:1::/32'", "^'::ffff:0:0/96'", "peers.deny[0]: denies all IPv4 peers"},
		{"'fd00:1::/32'", "^'::ffff:0.0.0.0-::ffff:255.255.255.255'",
			"peers.deny[0]: denies all IPv4 peers"},
		{"10.0.0.0/24", "^'2a00:64::/96']\n  nat64: ['2a00:64::/96'] # ",
			"peers.allow[0]: 2a00:64::/96 never matches, because the IPv4 address "
			"embedded in it is judged: write that"},
		{"10.0.0.0/24", "^'2a00:64::a00:1', 10.0.0.0/24]\n  nat64: ['2a00:64::/96'] # ",
			"peers.allow[0]: 2a00:64::a00:1/128 never matches, because the IPv4 "
			"address embedded in it is judged: write that"},
		// allowed anyway
		{"10.0.0.0/24", "^0.0.0.0/0",
			"peers.allow[0]: opens nothing, because longer prefixes deny private "
			"networks: name those, like 10.0.0.0/8"},
		{"10.0.0.0/24", "^'::/0'",
			"peers.allow[0]: opens nothing, because longer prefixes deny private "
			"networks: name those, like fd00::/8"},
		// denied as well
		{"'fd00:1::/32'", "10.0.0.0/24", "peers.allow[0]: is in peers.deny too, w",
			"10.0.0.0/24"},
		{"'fd00:1::/32'", "10.1.0.1-10.1.0.6", "peers.allow[1]: is in peers.deny ",
			"10.1.0.1-10.1.0.6"},
		// refused whatever is allowed
		{"10.0.0.0/24", "^198.51.100.1",
			"peers.allow[0]: has no effect: addresses of this box are never "
			"peers (programs of this machine are where the port is a packet: port, "
			"relay ports by peers.hairpin): remove it"},
		{"10.0.0.0/24", "^127.0.0.0/8", "peers.allow[0]: has no effect: loopback a"},
		{"10.0.0.0/24", "^127.0.0.1", "peers.allow[0]: has no effect: loopback add"},
		{"10.0.0.0/24", "^'::1'", "peers.allow[0]: has no effect: loopback address"},
		{"10.0.0.0/24", "^0.0.0.0/8", "peers.allow[0]: has no effect: unspecified "},
		{"10.0.0.0/24", "^169.254.169.254", "peers.allow[0]: has no effect: link-l"},
		{"10.0.0.0/24", "^'fe80::/10'", "peers.allow[0]: has no effect: link-local"},
		{"10.0.0.0/24", "^224.0.0.0/4", "peers.allow[0]: has no effect: multicast "},
		{"10.0.0.0/24", "^'ff02::/16'", "peers.allow[0]: has no effect: multicast "},
		{"10.0.0.0/24", "^255.255.255.255", "peers.allow[0]: has no effect: reserv"},
		{"10.0.0.0/24", "^'2002::/16'", "peers.allow[0]: has no effect: addresses "},
		// an address of the box that is no relay address
		{"10.0.0.0/24", "^203.0.113.9", "peers.allow[0]: has no effect: addresses"},
	};

	CHECK(list);
}

// Other hosts may share an external address.
static void a_shared_external_address_may_be_allowed(void **state)
{
	const struct edit edits[] = {{"[203.0.113.1-203.0.113.9/24]",
					     "[{address: 203.0.113.1-203.0.113.9/24, "
					     "external: 9.9.9.1-9.9.9.9}]"},
		{"10.0.0.0/24", "9.9.9.2"}};
	const struct heard h = warned_all(edits, 2);

	if (h.nb != 0)
		fail_msg("unwanted: %s", h.text);
}

// A subnet or route of any port makes peers reachable, and so does the gateway of a port with relay
// addresses. A pool neither allows its peers nor routes to them.
static void a_pools_peers_are_allowed_and_reached(void **state)
{
#define POOL(for_)                                     \
	"  addresses: [198.51.100.1, '2001:db8::1']\n" \
	"  pools: [{name: lan, addresses: [203.0.113.2], for: [" for_ "]}]\n"
#define RELAY "  addresses: [198.51.100.1, '2001:db8::1', 203.0.113.2-203.0.113.4]\n"
	static const struct edit denied[] = {{RELAY, POOL("192.168.0.0/16")}};
	static const struct edit allowed[] = {{RELAY, POOL("10.0.0.0/8")}};
	static const struct edit lost[] = {{RELAY, POOL("10.0.0.0/8")},
		{"    gateway: [203.0.113.254]\n",
			"    routes: [{to: 9.9.9.0/24, via: 203.0.113.254}]\n"}};
	struct heard h = warned_all(denied, 1);

	assert_int_equal(h.nb, 1);
	assert_non_null(strstr(h.text,
		conf_file_at("192.168.0.0/16",
			"relay.pools[0].for[0]: peers.allow allows no peer of it")));
	h = warned_all(allowed, 1);
	assert_int_equal(h.nb, 0);
	// wan has a gateway, but not for the address that these peers see
	h = warned_all(lost, 2);
	assert_int_equal(h.nb, 3);
	assert_non_null(strstr(h.text, "relay.pools[0].for[0]: no route leads to these peers"));
	assert_non_null(strstr(h.text,
		"peers.allow[0]: no relay address reaches these peers: "
		"no port has them in a subnet or behind a route, and no port with the address "
		"that they see has an IPv"));
}

static void test_unreached(void **state)
{
	static const struct edit none[] = {
		{"198.51.100.254, ", ""},
		{"    gateway: [203.0.113.254]\n", "\n"},
		{"10.0.0.0/24", "203.0.113.0/24, 192.168.9.0/24"},
		{", 10.1.0.1-10.1.0.6", ""},
	};
	static const struct edit behind[] = {
		{"198.51.100.254, ", ""},
		{", 203.0.113.2-203.0.113.4", ""},
		{"10.0.0.0/24", "203.0.113.77, 192.168.9.0/24"},
		{", 10.1.0.1-10.1.0.6", ""},
	};
	static const struct edit routed[] = {
		{"198.51.100.254, ", ""},
		{", 203.0.113.2-203.0.113.4", ""},
		{"10.0.0.0/24", "203.0.113.77, 192.168.9.0/24"},
		{", 10.1.0.1-10.1.0.6", ""},
		{"    gateway: [203.0.113.254]\n",
			"    gateway: [203.0.113.254]\n"
			"    routes: [{to: 192.168.0.0/16, via: 203.0.113.253}]\n"},
	};
	struct heard h = warned_all(none, 4);

	// lan's subnet is reachable; no other IPv4 address is
	assert_int_equal(h.nb, 3); // two of them about gateways
	assert_non_null(strstr(h.text,
		conf_file_at("192.168.9.0",
			"peers.allow[1]: no relay address reaches these peers: no port has them "
			"in a subnet or behind a route, and no port with the address that they see "
			"has an IPv4 gateway. Add a route or a gateway\n")));
	// lan has a gateway, but its addresses are no relay addresses
	h = warned_all(behind, 4);
	assert_int_equal(h.nb, 2);
	assert_non_null(strstr(h.text,
		conf_file_at("192.168.9.0",
			"peers.allow[1]: no relay address reaches these peers: no port has "
			"them in a subnet or behind a route, and no port with the address that "
			"they see has an IPv")));
	// a route serves all addresses
	h = warned_all(routed, 5);
	assert_int_equal(h.nb, 1);
}

// Long lists with one kind of mistake are not reported to their end.
static void test_enough(void **state)
{
	char replacement[4096] = "10.0.0.0/24";

	for (unsigned int i = 0; i < 200; i++)
		sprintf(replacement + strlen(replacement), ", 127.0.0.%u", i);
	// one may be about the CPUs of this machine, and is filtered out
	assert_in_range(warned("10.0.0.0/24", replacement).nb, 49, 50);
}

static void test_log(void **state)
{
	static const struct edit edits[][1] = {
		{{"peers:", "log: {to: journal, format: json}\npeers:"}},
		{{"peers:", "log: {to: journal}\npeers:"}},
		{{"peers:", "log: {to: syslog, format: json}\npeers:"}},
	};
	struct heard h = warned_all(edits[0], 1);

	assert_int_equal(h.nb, 1);
	assert_string_equal(h.text,
		conf_file_at("json",
			"log.format: the journal takes fields instead: remove this key, or write "
			"to: stderr\n"));
	h = warned_all(edits[1], 1);
	assert_int_equal(h.nb, 0);
	h = warned_all(edits[2], 1);
	assert_int_equal(h.nb, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_without_reason),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_lcores),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_auth),
		cmocka_unit_test(test_placeholders),
		cmocka_unit_test(test_gateways),
		cmocka_unit_test(test_private_relay),
		cmocka_unit_test(test_private_range),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_unreached),
		cmocka_unit_test(a_shared_external_address_may_be_allowed),
		cmocka_unit_test(a_pools_peers_are_allowed_and_reached),
		cmocka_unit_test(test_enough),
		cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests(tests, open_private, conf_file_close);
}
