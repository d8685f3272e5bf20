// SPDX-License-Identifier: BSD-3-Clause
// Permitted peers: the lists of the configuration, addresses that are never allowed, and every way
// to hide an address in another one. Also the users of a configuration, and its nonce key.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "addr_text.h"
#include "policy_fixture.h"
#include "test.h"
#include "test_rand.h"
#include "auth/denied.h"
#include "auth/policy.h"

// The configuration of the tests, with a second address of the box, a public subnet and a public
// gateway.
static void box_init(struct policy_fixture_box *b)
{
	policy_fixture_box(b);
	b->listeners[0] = (struct turn_listener){{addr_text("10.99.0.1"), 3478}, TURN_OVER_UDP};
	b->listeners[1] = (struct turn_listener){{addr_text("fd99::1"), 3478}, TURN_OVER_UDP};
	b->gateways[2] = addr_text("8.8.8.1");
	b->local[4] = (struct turn_local){addr_text("8.8.8.2"), addr_text_prefix("8.8.8.0/28")};
	b->local[5] = (struct turn_local){addr_text("9.9.9.0"), addr_text_prefix("9.9.9.0/31")};
	b->c.listeners = b->listeners;
	b->c.nb_listeners = 2;
	b->c.nb_gateways = 3;
	b->c.nb_local = 6;
}

// --- encodings of an IPv4 address in IPv6 -------------------------------------------------------

struct encoding {
	const char *name, *prefix; // the IPv4 address overwrites the bytes from offset on
	uint8_t offset;
	bool same; // means the IPv4 address; otherwise always refused
};

static const struct encoding encodings[] = {
	{"IPv4-mapped", "::ffff:0:0", 12, true},
	{"IPv4-compatible", "::", 12, true},
	{"NAT64", "64:ff9b::", 12, true},
	{"local NAT64 /96", "64:ff9b:1::", 12, false},
	{"local NAT64 deeper", "64:ff9b:1:abcd:ef01:2345::", 12, false},
	{"6to4", "2002::1", 2, false},
	{"Teredo server", "2001::1", 4, false},
	{"Teredo client", "2001::", 12, false},
	{"ISATAP", "2a00:1450::5efe:0:0", 12, false},
	{"ISATAP, universal", "2a00:1450::200:5efe:0:0", 12, false},
	{"ISATAP, link-local", "fe80::5efe:0:0", 12, false},
	{"SIIT", "::ffff:0:0:0", 12, false},
};

#define NB_ENCODINGS (sizeof(encodings) / sizeof(encodings[0]))

static struct addr encode(const struct encoding *e, const struct addr *v4)
{
	struct addr a = addr_text(e->prefix);

	memcpy(a.b + e->offset, v4->b + 12, 4);
	return a;
}

static bool refused(enum turn_peer_class c)
{
	return c == TURN_PEER_NEVER || c == TURN_PEER_DENY;
}

static void check_encodings(const struct turn_policy *p, const struct addr *v4)
{
	const enum turn_peer_class plain = policy_fixture_judge(p, *v4);
	char text[ADDR_TEXT_LEN];

	for (size_t k = 0; k < NB_ENCODINGS; k++) {
		const enum turn_peer_class c = policy_fixture_judge(p, encode(&encodings[k], v4));

		if (encodings[k].same ? c != plain : !refused(c))
			fail_msg("%s as %s: class %d, plain %d",
				addr_format(v4, text, sizeof(text)), encodings[k].name, c, plain);
	}
}

// --- matrix P1 ----------------------------------------------------------------------------------

static const struct target {
	const char *addr;
	enum turn_peer_class expected;
} matrix[] = {
	// our relay addresses are the one exception, only inside the process; our other addresses
	// are not
	{"10.99.0.1", TURN_PEER_OWN},
	{"fd99::1", TURN_PEER_OWN},
	{"10.99.0.2", TURN_PEER_NEVER},
	{"fd99::2", TURN_PEER_NEVER},
	{"8.8.8.2", TURN_PEER_NEVER},
	{"9.9.9.0", TURN_PEER_NEVER},
	// gateways, although the first two are in an allowed prefix
	{"10.99.0.254", TURN_PEER_DENY},
	{"fd99::fe", TURN_PEER_DENY},
	{"8.8.8.1", TURN_PEER_DENY},
	// subnet broadcasts, the first in an allowed prefix; 9.9.9.0/31 has no broadcast address
	{"10.99.0.255", TURN_PEER_NEVER},
	{"10.99.0.0", TURN_PEER_NEVER},
	{"8.8.8.15", TURN_PEER_NEVER},
	{"8.8.8.0", TURN_PEER_NEVER},
	{"9.9.9.1", TURN_PEER_ALLOW},
	// never allowed
	{"0.0.0.0", TURN_PEER_NEVER},
	{"0.0.0.1", TURN_PEER_NEVER},
	{"0.255.255.255", TURN_PEER_NEVER},
	{"127.0.0.1", TURN_PEER_NEVER},
	{"127.255.255.254", TURN_PEER_NEVER},
	{"169.254.169.254", TURN_PEER_NEVER},
	{"224.0.0.1", TURN_PEER_NEVER},
	{"239.255.255.255", TURN_PEER_NEVER},
	{"240.0.0.1", TURN_PEER_NEVER},
	{"255.255.255.254", TURN_PEER_NEVER},
	{"255.255.255.255", TURN_PEER_NEVER},
	{"::", TURN_PEER_NEVER},
	{"::1", TURN_PEER_NEVER},
	{"fe80::1", TURN_PEER_NEVER},
	{"febf:ffff::1", TURN_PEER_NEVER},
	{"fec0::1", TURN_PEER_NEVER},
	{"ff02::1", TURN_PEER_NEVER},
	{"ff0e::1", TURN_PEER_NEVER},
	{"2001::1", TURN_PEER_NEVER},
	{"2002:808:808::1", TURN_PEER_NEVER},
	{"64:ff9b:1::808:808", TURN_PEER_NEVER},
	// denied by default: first and last address, and their neighbours that are not denied
	{"9.255.255.255", TURN_PEER_ALLOW},
	{"10.0.0.0", TURN_PEER_DENY},
	{"10.255.255.255", TURN_PEER_DENY},
	{"11.0.0.0", TURN_PEER_ALLOW},
	{"172.15.255.255", TURN_PEER_ALLOW},
	{"172.16.0.0", TURN_PEER_DENY},
	{"172.31.255.255", TURN_PEER_DENY},
	{"172.32.0.0", TURN_PEER_ALLOW},
	{"192.167.255.255", TURN_PEER_ALLOW},
	{"192.168.0.0", TURN_PEER_DENY},
	{"192.168.255.255", TURN_PEER_DENY},
	{"192.169.0.0", TURN_PEER_ALLOW},
	{"100.63.255.255", TURN_PEER_ALLOW},
	{"100.64.0.0", TURN_PEER_DENY},
	{"100.127.255.255", TURN_PEER_DENY},
	{"100.128.0.0", TURN_PEER_ALLOW},
	{"192.0.0.0", TURN_PEER_DENY},
	{"192.0.0.255", TURN_PEER_DENY},
	{"192.0.1.0", TURN_PEER_ALLOW},
	{"198.17.255.255", TURN_PEER_ALLOW},
	{"198.18.0.0", TURN_PEER_DENY},
	{"198.19.255.255", TURN_PEER_DENY},
	{"198.20.0.0", TURN_PEER_ALLOW},
	{"192.0.2.1", TURN_PEER_DENY},
	{"198.51.100.255", TURN_PEER_DENY},
	{"203.0.113.1", TURN_PEER_DENY},
	{"203.0.114.0", TURN_PEER_ALLOW},
	{"192.88.99.1", TURN_PEER_DENY},
	{"fbff:ffff::1", TURN_PEER_ALLOW},
	{"fc00::1", TURN_PEER_DENY},
	{"fd00::1", TURN_PEER_DENY},
	{"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", TURN_PEER_DENY},
	{"100::", TURN_PEER_DENY},
	{"100::ffff:ffff:ffff:ffff", TURN_PEER_DENY},
	{"100:0:0:1::1", TURN_PEER_DENY},
	{"2001:db8::1", TURN_PEER_DENY},
	{"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", TURN_PEER_DENY},
	{"2001:db9::1", TURN_PEER_ALLOW},
	{"2001:1ff:ffff::1", TURN_PEER_DENY},
	{"2001:200::1", TURN_PEER_ALLOW},
	{"3fff:fff::1", TURN_PEER_DENY},
	{"3fff:1000::1", TURN_PEER_ALLOW},
	{"5f00::1", TURN_PEER_DENY},
	{"::1:0:0:1", TURN_PEER_DENY},
	{"ff:ffff::1", TURN_PEER_DENY},
	// anycast addresses of our subnets: the routers', and those of RFC 2526
	{"fd99::", TURN_PEER_DENY},
	{"fd99::fdff:ffff:ffff:ff7f", TURN_PEER_ALLOW},
	{"fd99::fdff:ffff:ffff:ff80", TURN_PEER_DENY},
	{"fd99::fdff:ffff:ffff:ffff", TURN_PEER_DENY},
	{"fd99::fe00:0:0:0", TURN_PEER_ALLOW},
	// service addresses of clouds
	{"168.63.129.15", TURN_PEER_ALLOW},
	{"168.63.129.16", TURN_PEER_DENY},
	{"168.63.129.17", TURN_PEER_ALLOW},
	{"161.25.255.255", TURN_PEER_ALLOW},
	{"161.26.0.0", TURN_PEER_DENY},
	{"161.26.255.255", TURN_PEER_DENY},
	{"161.27.0.0", TURN_PEER_ALLOW},
	{"166.7.255.255", TURN_PEER_ALLOW},
	{"166.8.0.0", TURN_PEER_DENY},
	{"166.11.255.255", TURN_PEER_DENY},
	{"166.12.0.0", TURN_PEER_ALLOW},
	{"199.36.153.3", TURN_PEER_ALLOW},
	{"199.36.153.4", TURN_PEER_DENY},
	{"199.36.153.11", TURN_PEER_DENY},
	{"199.36.153.12", TURN_PEER_ALLOW},
	{"2600:2d00:2:1000::1", TURN_PEER_DENY},
	{"2600:2d00:2:3000::1", TURN_PEER_ALLOW},
	{"100.100.100.200", TURN_PEER_DENY},
	{"192.0.0.192", TURN_PEER_DENY},
	{"fd00:ec2::254", TURN_PEER_DENY},
	// all other addresses, and those that the operator allows
	{"8.8.8.8", TURN_PEER_ALLOW},
	{"8.8.8.16", TURN_PEER_ALLOW},
	{"2606:4700::1111", TURN_PEER_ALLOW},
	{"10.99.0.3", TURN_PEER_ALLOW},
	{"10.99.1.0", TURN_PEER_DENY},
	{"fd99::3", TURN_PEER_ALLOW},
	{"fd99:0:0:1::", TURN_PEER_DENY},
};

#define NB_TARGETS (sizeof(matrix) / sizeof(matrix[0]))

static void test_p1(void **state)
{
	struct policy_fixture_box b;
	struct turn_policy *p;
	unsigned int cases = 0, owned = 0;

	box_init(&b);
	p = policy_fixture_create(&b.c);
	for (size_t i = 0; i < NB_TARGETS; i++) {
		const struct addr a = addr_text(matrix[i].addr);
		const enum turn_peer_class c = policy_fixture_judge(p, a);

		if (c != matrix[i].expected)
			fail_msg("%s: class %d, not %d", matrix[i].addr, c, matrix[i].expected);
		assert_int_equal(turn_policy_peer(p, &a, 0), TURN_PEER_NEVER);
		cases += 2;
		owned += c == TURN_PEER_OWN;
		if (addr_is_v4(&a)) {
			check_encodings(p, &a);
			cases += NB_ENCODINGS;
		}
	}
	printf("P1: %u cases\n", cases);
	assert_int_equal(owned, 2); // exception (b) and nothing else
	turn_policy_free(p);
}

// Without hairpin the exception does not apply; nothing else changes.
static void test_p1_no_hairpin(void **state)
{
	struct policy_fixture_box b;
	struct turn_policy *p;

	box_init(&b);
	b.c.hairpin = false;
	p = policy_fixture_create(&b.c);
	for (size_t i = 0; i < NB_TARGETS; i++) {
		const enum turn_peer_class e = matrix[i].expected;

		assert_int_equal(policy_fixture_judge(p, addr_text(matrix[i].addr)),
			e == TURN_PEER_OWN ? TURN_PEER_DENY : e);
	}
	turn_policy_free(p);
}

// V1: no allow rule opens an address that is never allowed.
static void test_no_rule_opens_forbidden_addresses(void **state)
{
	struct prefix all[] = {addr_text_prefix("0.0.0.0/0"), addr_text_prefix("::/0"),
		addr_text_prefix("127.0.0.1"), addr_text_prefix("::1"),
		addr_text_prefix("10.99.0.2"), addr_text_prefix("fd99::2"),
		addr_text_prefix("10.99.0.255"), addr_text_prefix("169.254.169.254"),
		addr_text_prefix("2002::/16"), addr_text_prefix("2001::/32")};
	struct policy_fixture_box b;
	struct turn_policy *p;

	box_init(&b);
	b.c.allow = all;
	b.c.nb_allow = sizeof(all) / sizeof(all[0]);
	p = policy_fixture_create(&b.c);
	for (size_t i = 0; i < NB_TARGETS; i++) {
		if (matrix[i].expected == TURN_PEER_NEVER)
			assert_int_equal(policy_fixture_judge(p, addr_text(matrix[i].addr)),
				TURN_PEER_NEVER);
	}
	turn_policy_free(p);
}

// class(x) == class(canonical(encode(x))) for any x: V2, V3.
static void test_encodings_property(void **state)
{
	static const char *const near[] = {
		"10.99.0.0", "8.8.8.0", "127.0.0.0", "192.168.1.0", "0.0.0.0", "172.31.255.0"};
	struct test_rand r = test_rand_start("encodings");
	struct policy_fixture_box b;
	struct turn_policy *p;

	box_init(&b);
	p = policy_fixture_create(&b.c);
	for (int i = 0; i < 50000; i++) {
		struct addr a = addr_text(near[test_rand_below(&r, 6)]);

		if (i % 2 == 0)
			test_rand_fill(&r, a.b + 12, 4);
		else
			a.b[15] = (uint8_t)test_rand(&r);
		check_encodings(p, &a);
	}
	turn_policy_free(p);
}

// --- rules --------------------------------------------------------------------------------------

static void test_equal_length(void **state)
{
	struct prefix allow[] = {addr_text_prefix("10.0.0.0/8"), addr_text_prefix("8.8.8.1"),
		addr_text_prefix("fc00::/7"), addr_text_prefix("20.0.0.0/8"),
		addr_text_prefix("30.1.0.0/16")};
	struct prefix deny[] = {addr_text_prefix("20.0.0.0/8"), addr_text_prefix("30.0.0.0/8"),
		addr_text_prefix("30.1.2.0/24"), addr_text_prefix("::/0"),
		addr_text_prefix("fd99::/64")};
	struct policy_fixture_box b;
	struct turn_policy *p;

	box_init(&b);
	b.c.allow = allow;
	b.c.nb_allow = sizeof(allow) / sizeof(allow[0]);
	b.c.deny = deny;
	b.c.nb_deny = sizeof(deny) / sizeof(deny[0]);
	p = policy_fixture_create(&b.c);
	// an allow beats the built-in deny of an equal prefix, but not of a longer one
	assert_int_equal(policy_fixture_judge(p, addr_text("10.1.2.3")), TURN_PEER_ALLOW);
	assert_int_equal(policy_fixture_judge(p, addr_text("10.99.0.254")), TURN_PEER_DENY);
	assert_int_equal(policy_fixture_judge(p, addr_text("8.8.8.1")), TURN_PEER_ALLOW);
	assert_int_equal(policy_fixture_judge(p, addr_text("fd00::1")), TURN_PEER_ALLOW);
	assert_int_equal(policy_fixture_judge(p, addr_text("fd99::3")), TURN_PEER_DENY);
	// the operator's deny beats the operator's allow
	assert_int_equal(policy_fixture_judge(p, addr_text("20.1.2.3")), TURN_PEER_DENY);
	// the longer prefix wins, both allow and deny
	assert_int_equal(policy_fixture_judge(p, addr_text("30.2.0.1")), TURN_PEER_DENY);
	assert_int_equal(policy_fixture_judge(p, addr_text("30.1.1.1")), TURN_PEER_ALLOW);
	assert_int_equal(policy_fixture_judge(p, addr_text("30.1.2.1")), TURN_PEER_DENY);
	// ::/0 covers IPv6 only
	assert_int_equal(policy_fixture_judge(p, addr_text("2606:4700::1111")), TURN_PEER_DENY);
	assert_int_equal(policy_fixture_judge(p, addr_text("1.1.1.1")), TURN_PEER_ALLOW);
	turn_policy_free(p);
}

// A limit of allocations that is not below the number of relay ports is no quota: a client that
// comes when all ports are in use gets 508, not 486.
static void test_as_many_as_ports(void **state)
{
	static const struct {
		uint32_t allowed, quota;
		bool shared;
	} cases[] = {{2 * 16384, 0}, {100000, 0}, {2 * 16384 - 1, 2 * 16384 - 1},
#ifdef FEATURE_SHARED
		{100000, 100000, true}
#endif
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy_fixture_box b;
		struct turn_policy *p;

		policy_fixture_box(&b);
		b.c.limits.allocations = cases[i].allowed;
#ifdef FEATURE_SHARED
		b.c.shared.enabled = cases[i].shared;
#endif
		p = policy_fixture_create(&b.c);
		assert_non_null(p);
		assert_int_equal(p->limits.allocations, cases[i].quota);
		turn_policy_free(p);
	}
}

// A rule that allows a wide prefix opens no cloud service in it, and no anycast address of an own
// subnet. A rule that names one does.
static void test_services(void **state)
{
	static const char *const services[] = {"168.63.129.16", "161.26.0.10", "166.9.1.1",
		"100.100.100.200", "100.100.2.136", "100.100.2.138", "192.0.0.192", "199.36.153.10",
		"fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42",
		"fd99::", "fd99::fdff:ffff:ffff:fffe"};
	struct prefix wide[] = {addr_text_prefix("0.0.0.0/0"), addr_text_prefix("100.64.0.0/10"),
		addr_text_prefix("192.0.0.0/24"), addr_text_prefix("fc00::/7"),
		addr_text_prefix("fd99::/64")};
	struct prefix named[sizeof(services) / sizeof(services[0])];
	struct policy_fixture_box b;
	struct turn_policy *p[2];

	box_init(&b);
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		named[i] = addr_text_prefix(services[i]);
	b.c.allow = wide;
	b.c.nb_allow = sizeof(wide) / sizeof(wide[0]);
	p[0] = policy_fixture_create(&b.c);
	b.c.allow = named;
	b.c.nb_allow = sizeof(named) / sizeof(named[0]);
	p[1] = policy_fixture_create(&b.c);
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		const struct addr a = addr_text(services[i]);

		if (policy_fixture_judge(p[0], a) != TURN_PEER_DENY ||
			policy_fixture_judge(p[1], a) != TURN_PEER_ALLOW)
			fail_msg("%s", services[i]);
	}
	assert_int_equal(policy_fixture_judge(p[0], addr_text("100.100.100.201")), TURN_PEER_ALLOW);
	turn_policy_free(p[0]);
	turn_policy_free(p[1]);
}

// A link of two routers has no anycast address, and a subnet longer than /121 has no reserved ones.
static void test_anycast(void **state)
{
	struct policy_fixture_box b;
	struct turn_policy *p;

	box_init(&b);
	b.local[4] = (struct turn_local){addr_text("2a00::1"), addr_text_prefix("2a00::/127")};
	b.local[5] = (struct turn_local){addr_text("2a01::11"), addr_text_prefix("2a01::10/124")};
	p = policy_fixture_create(&b.c);
	assert_int_equal(policy_fixture_judge(p, addr_text("2a00::")), TURN_PEER_ALLOW);
	assert_int_equal(policy_fixture_judge(p, addr_text("2a01::10")), TURN_PEER_DENY);
	assert_int_equal(policy_fixture_judge(p, addr_text("2a01::1f")), TURN_PEER_ALLOW);
	turn_policy_free(p);
	b.local[4] = (struct turn_local){addr_text("2a00::1"), addr_text_prefix("2a00::/112")};
	p = policy_fixture_create(&b.c);
	assert_int_equal(policy_fixture_judge(p, addr_text("2a00::ff7f")), TURN_PEER_ALLOW);
	assert_int_equal(policy_fixture_judge(p, addr_text("2a00::ff80")), TURN_PEER_DENY);
	turn_policy_free(p);
}

#define NB_RULES 600

// Rank of a rule among those that match an address: the longer first, then the operator's deny,
// allow, and the built-in deny.
struct verdict {
	int rank;
	bool allow;
};

static void weigh(struct verdict *v, const struct prefix *p, const struct addr *a, int origin)
{
	const int rank = p->len * 3 + 2 - origin;

	if (addr_prefix_contains(p, a) && rank > v->rank)
		*v = (struct verdict){rank, origin == 1};
}

static bool naive_allows(const struct turn_config *c, const struct addr *a)
{
	struct verdict v = {-1, true};

	for (uint32_t i = 0; i < c->nb_deny; i++)
		weigh(&v, &c->deny[i], a, 0);
	for (uint32_t i = 0; i < c->nb_allow; i++)
		weigh(&v, &c->allow[i], a, 1);
	for (size_t i = 0; i < nb_denied_by_default; i++) {
		const struct prefix p = addr_text_prefix(denied_by_default[i]);

		weigh(&v, &p, a, 2);
	}
	return v.allow;
}

// Addresses from a few bits only, so that prefixes nest and coincide.
static struct addr sparse_addr(struct test_rand *r)
{
	static const char *const base[] = {
		"10.0.0.0", "192.0.0.0", "8.0.0.0", "2001:db8::", "fd00::", "2600::", "::1:0:0:0"};
	struct addr a = addr_text(base[test_rand_below(r, 7)]);

	for (unsigned int i = addr_is_v4(&a) ? 13 : 4; i < 16; i++)
		a.b[i] |= (uint8_t)(test_rand(r) & test_rand(r) & test_rand(r) & 0xc1);
	return a;
}

static struct prefix sparse_prefix(struct test_rand *r)
{
	struct prefix p = {.addr = sparse_addr(r)};
	const unsigned int least = addr_is_v4(&p.addr) ? 96 : 0;
	const bool any = test_rand_below(r, 4) == 0;

	p.len = (uint8_t)(any ? least + test_rand_below(r, 129 - least)
			      : 104 + test_rand_below(r, 25));
	for (unsigned int bit = p.len; bit < 128; bit++)
		p.addr.b[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	return p;
}

static void test_longest_match(void **state)
{
	struct test_rand r = test_rand_start("longest match");
	struct prefix allow[NB_RULES], deny[NB_RULES];
	unsigned int allowed = 0, n = 0;

	for (int round = 0; round < 20; round++) {
		struct turn_config c = {.allow = allow,
			.deny = deny,
			.nb_allow = test_rand_below(&r, NB_RULES),
			.nb_deny = test_rand_below(&r, NB_RULES)};
		struct turn_policy *p;

		for (int i = 0; i < NB_RULES; i++) {
			allow[i] = sparse_prefix(&r);
			deny[i] = test_rand_below(&r, 4) == 0 ? allow[i] : sparse_prefix(&r);
		}
		p = policy_fixture_create(&c);
		for (int i = 0; i < 500; i++) {
			const struct addr a = sparse_addr(&r);
			const bool expected = naive_allows(&c, &a);

			if (addr_class(&a) != ADDR_UNICAST)
				continue;
			assert_int_equal(turn_policy_peer(p, &a, POLICY_FIXTURE_PORT),
				expected ? TURN_PEER_ALLOW : TURN_PEER_DENY);
			allowed += expected;
			n++;
		}
		turn_policy_free(p);
	}
	// the rules decided both ways
	assert_in_range(allowed, n / 10, n - n / 10);
}

// --- users, keys --------------------------------------------------------------------------------

#define NB_USERS 3000

static void check_keys(const struct policy_user *u, const char *password)
{
	const struct stun_credential cred = {
		u->name, strlen(u->name), "turn.test", password, strlen(password)};
	struct stun_key key;

	assert_true(stun_key_make(policy_fixture_crypto, STUN_ALG_SHA256, &cred, &key));
	assert_memory_equal(&u->sha256, &key, sizeof(key));
	assert_true(stun_key_make(policy_fixture_crypto, STUN_ALG_MD5, &cred, &key));
	assert_memory_equal(&u->md5, &key, sizeof(key));
}

static const struct policy_user *check_user(const struct turn_policy *p, const char *name)
{
	const struct policy_user *u = policy_user_by_name(p, name, strlen(name));
	uint8_t hash[32];

	assert_non_null(u);
	assert_string_equal(u->name, name);
	assert_true(stun_userhash(policy_fixture_crypto, name, strlen(name), "turn.test", hash));
	assert_ptr_equal(policy_user_by_hash(p, hash), u);
	hash[31] ^= 1; // after the bytes that the table hashes
	assert_null(policy_user_by_hash(p, hash));
	return u;
}

static void test_users(void **state)
{
	static struct turn_user users[NB_USERS];
	static char names[NB_USERS][16];
	char realm[] = "turn.test", secret[] = "s3cret", password[] = "pw";
	char *secrets[] = {secret};
	struct turn_config c = {.first.name = realm,
		.first.users = users,
		.first.nb_users = NB_USERS,
		.first.secrets = secrets,
		.first.nb_secrets = 1};
	struct turn_policy *p;

	for (int i = 0; i < NB_USERS; i++) {
		snprintf(names[i], sizeof(names[i]), "user%d", i);
		users[i] = (struct turn_user){.name = names[i], .password = password};
	}
	users[7].password = NULL;
	users[7].md5 = (struct stun_key){.bytes = {9, 9}, .len = 16};
	p = policy_fixture_create(&c);
	memset(users, 0xa5, sizeof(users)); // it has copied everything that it needs
	memset(secret, 'x', 3);
	memset(password, 'x', 2);
	assert_string_equal(p->secrets[0], "s3cret");
	for (int i = 0; i < NB_USERS; i++) {
		const struct policy_user *u = check_user(p, names[i]);

		if (i != 7)
			check_keys(u, "pw");
	}
	assert_int_equal(check_user(p, "user7")->md5.bytes[1], 9);
	assert_int_equal(check_user(p, "user7")->sha256.len, 0);
	assert_null(policy_user_by_name(p, "user", 4));
	assert_null(policy_user_by_name(p, "user1\0", 6));
	assert_null(policy_user_by_name(p, "", 0));
	turn_policy_free(p);
}

static void test_bad_users(void **state)
{
	struct turn_user users[2] = {{.name = (char *)"ivan"}, {.name = (char *)"ivan"}};
	struct turn_config c = {
		.first.name = (char *)"r", .first.users = users, .first.nb_users = 2};

	errno = 0;
	assert_null(turn_policy_create(
		&c, policy_fixture_crypto, policy_fixture_boot_key)); // neither password nor key
	assert_int_equal(errno, EINVAL);
	users[0].password = users[1].password = (char *)"pw";
	assert_null(turn_policy_create(&c, policy_fixture_crypto, policy_fixture_boot_key));
	assert_int_equal(errno, EEXIST);
	turn_policy_free(NULL);
}

static void test_nonce_key(void **state)
{
	static const uint8_t other_boot[32] = {4};
	struct turn_config c = {.first.name = (char *)"r", .nonce_secret = (char *)""};
	struct turn_policy *p[4];

	p[0] = turn_policy_create(&c, policy_fixture_crypto, policy_fixture_boot_key);
	p[1] = turn_policy_create(&c, policy_fixture_crypto, other_boot);
	c.nonce_secret = (char *)"fleet";
	p[2] = turn_policy_create(&c, policy_fixture_crypto, policy_fixture_boot_key);
	p[3] = turn_policy_create(&c, policy_fixture_crypto, other_boot);
	assert_memory_not_equal(p[0]->nonce_key, p[1]->nonce_key, 32);
	assert_memory_not_equal(p[0]->nonce_key, p[2]->nonce_key, 32);
	assert_memory_equal(p[2]->nonce_key, p[3]->nonce_key, 32);
	for (int i = 0; i < 4; i++)
		turn_policy_free(p[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_p1),
		cmocka_unit_test(test_p1_no_hairpin),
		cmocka_unit_test(test_no_rule_opens_forbidden_addresses),
		cmocka_unit_test(test_encodings_property),
		cmocka_unit_test(test_equal_length),
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_anycast),
		cmocka_unit_test(test_longest_match),
		cmocka_unit_test(test_as_many_as_ports),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_bad_users),
		cmocka_unit_test(test_nonce_key),
	};

	return cmocka_run_group_tests(tests, policy_fixture_open, policy_fixture_close);
}
