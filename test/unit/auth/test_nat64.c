// SPDX-License-Identifier: BSD-3-Clause
// Peers behind the operator's NAT64 are judged by their embedded IPv4 address.
#include <string.h>

#include "addr_text.h"
#include "policy_fixture.h"
#include "test.h"
#include "test_rand.h"
#include "auth/policy.h"

// All prefix lengths of RFC 6052, one inside a denied prefix, one inside a prefix that is never
// allowed. Positions of the IPv4 address are those of figure 1 of the RFC, in bytes.
static const struct {
	const char *prefix;
	uint8_t offsets[4];
} nat64[] = {
	{"2a00:6400::/32", {4, 5, 6, 7}},
	{"2a00:6401:100::/40", {5, 6, 7, 9}},
	{"2a00:6402:1:0::/48", {6, 7, 9, 10}},
	{"fd00:64:1:100::/56", {7, 9, 10, 11}},
	{"2a00:6403:1:1::/64", {9, 10, 11, 12}},
	{"64:ff9b:1:0:0:0::/96", {12, 13, 14, 15}},
};

#define NB_NAT64 (sizeof(nat64) / sizeof(nat64[0]))

static void nat64_init(struct policy_fixture_box *b, struct prefix list[NB_NAT64])
{
	policy_fixture_box(b);
	for (size_t i = 0; i < NB_NAT64; i++)
		list[i] = addr_text_prefix(nat64[i].prefix);
	b->c.nat64 = list;
	b->c.nb_nat64 = NB_NAT64;
}

static struct addr nat64_encode(size_t i, const struct addr *v4)
{
	struct addr a = addr_text_prefix(nat64[i].prefix).addr;

	for (unsigned int k = 0; k < 4; k++)
		a.b[nat64[i].offsets[k]] = v4->b[12 + k];
	return a;
}

// A peer whose IPv4 address is refused is refused behind the translator, for that reason. All other
// peers are reachable, except our own addresses.
static void test_random(void **state)
{
	static const char *const near[] = {"10.99.0.0", "8.8.8.0", "127.0.0.0", "192.168.1.0",
		"0.0.0.0", "172.31.255.0", "94.254.0.0"};
	struct test_rand r = test_rand_start("nat64");
	struct prefix list[NB_NAT64];
	unsigned int seen[4] = {0};
	struct turn_policy *p;
	struct policy_fixture_box b;

	nat64_init(&b, list);
	p = policy_fixture_create(&b.c);
	for (unsigned int i = 0; i < 50000; i++) {
		struct addr v4 = addr_text(near[test_rand_below(&r, 7)]), a;
		enum turn_peer_class plain, c;

		if (i % 2 == 0)
			test_rand_fill(&r, v4.b + 12, 4);
		else
			v4.b[15] = (uint8_t)test_rand(&r);
		plain = policy_fixture_judge(p, v4);
		a = nat64_encode(i % NB_NAT64, &v4);
		if (i % NB_NAT64 < 5)
			a.b[15] = (uint8_t)test_rand(&r); // after the IPv4 address: not examined
		c = policy_fixture_judge(p, a);
		assert_int_equal(c, plain == TURN_PEER_OWN ? TURN_PEER_NEVER : plain);
		seen[c]++;
		assert_int_equal(turn_policy_peer(p, &a, 0), TURN_PEER_NEVER);
	}
	assert_true(seen[TURN_PEER_NEVER] > 0 && seen[TURN_PEER_DENY] > 0 &&
		seen[TURN_PEER_ALLOW] > 0 && seen[TURN_PEER_OWN] == 0);
	turn_policy_free(p);
}

static void test_targets(void **state)
{
	static const struct {
		const char *addr;
		enum turn_peer_class expected;
	} targets[] = {
		{"2a00:6400:808:808::", TURN_PEER_ALLOW}, {"2a00:6400:a00:1::", TURN_PEER_DENY},
		{"2a00:6400:7f00:1::", TURN_PEER_NEVER},
		{"2a00:6400:a63:3::", TURN_PEER_ALLOW}, // 10.99.0.3, which is allowed
		{"2a00:6400:a63:1::", TURN_PEER_NEVER}, // ours: a detour through the translator
		{"2a00:6400:a63:2::", TURN_PEER_NEVER},
		{"2a00:6400:a63:ff::", TURN_PEER_NEVER}, // broadcast
		{"2a00:6400:a63:fe::", TURN_PEER_DENY}, // gateway
		{"2a00:6400:808:808:100::", TURN_PEER_NEVER}, // bits 64 to 71 are zero
		{"2a00:6401:108:808:8::", TURN_PEER_ALLOW}, {"2a00:6401:10a:0:1::", TURN_PEER_DENY},
		{"64:ff9b:1::808:808", TURN_PEER_ALLOW}, {"64:ff9b:1::a00:1", TURN_PEER_DENY},
		{"64:ff9b:1:1::808:808", TURN_PEER_NEVER}, // the next prefix has no translator
		{"fd00:64:1:108:8:808::", TURN_PEER_ALLOW}, // private, but a translator
		{"fd00:64:1:208:8:808::", TURN_PEER_DENY},
		{"2a00:6403:1:2:8:808:800:0", TURN_PEER_ALLOW}, // like any other address
	};
	struct prefix list[NB_NAT64],
		allow[] = {addr_text_prefix("::/0"), addr_text_prefix("10.99.0.0/24")};
	struct prefix deny[] = {
		addr_text_prefix("9.9.9.9"), addr_text_prefix("2a00:6400:808:0::/64")};
	struct turn_policy *p;
	struct policy_fixture_box b;

	nat64_init(&b, list);
	p = policy_fixture_create(&b.c);
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		const enum turn_peer_class c = policy_fixture_judge(p, addr_text(targets[i].addr));

		if (c != targets[i].expected)
			fail_msg("%s: class %d, not %d", targets[i].addr, c, targets[i].expected);
	}
	turn_policy_free(p);
	// an allow rule for the prefix opens no IPv4 address; deny rules of both families hold
	b.c.allow = allow;
	b.c.nb_allow = 2;
	b.c.deny = deny;
	b.c.nb_deny = 2;
	p = policy_fixture_create(&b.c);
	assert_int_equal(policy_fixture_judge(p, addr_text("2a00:6400:a00:1::")), TURN_PEER_DENY);
	assert_int_equal(policy_fixture_judge(p, addr_text("2a00:6400:909:909::")), TURN_PEER_DENY);
	assert_int_equal(policy_fixture_judge(p, addr_text("2a00:6400:808:0::")), TURN_PEER_DENY);
	assert_int_equal(
		policy_fixture_judge(p, addr_text("2a00:6400:808:808::")), TURN_PEER_ALLOW);
	turn_policy_free(p);
	// of two nested prefixes, the stricter rule counts
	list[1] = addr_text_prefix("2a00:6400:808::/48");
	p = policy_fixture_create(&b.c);
	assert_int_equal(
		policy_fixture_judge(p, addr_text("2a00:6400:808:a00:1::")), TURN_PEER_DENY);
	assert_int_equal(
		policy_fixture_judge(p, addr_text("2a00:6400:808:707:7:700::")), TURN_PEER_ALLOW);
	turn_policy_free(p);
}

// A gateway and our own addresses keep their class, even inside a translator's prefix.
static void test_own(void **state)
{
	struct prefix list[] = {addr_text_prefix("fd99::/32")};
	struct turn_policy *p;
	struct policy_fixture_box b;

	policy_fixture_box(&b);
	b.c.nat64 = list;
	b.c.nb_nat64 = 1;
	p = policy_fixture_create(&b.c);
	assert_int_equal(policy_fixture_judge(p, addr_text("fd99::1")), TURN_PEER_OWN);
	assert_int_equal(policy_fixture_judge(p, addr_text("fd99::2")), TURN_PEER_NEVER);
	assert_int_equal(
		policy_fixture_judge(p, addr_text("fd99::fe")), TURN_PEER_NEVER); // 0.0.0.0
	assert_int_equal(policy_fixture_judge(p, addr_text("fd99:0:808:808::")), TURN_PEER_ALLOW);
	b.gateways[1] = addr_text("fd99:0:808:808::");
	turn_policy_free(p);
	p = policy_fixture_create(&b.c);
	assert_int_equal(policy_fixture_judge(p, addr_text("fd99:0:808:808::")), TURN_PEER_DENY);
	turn_policy_free(p);
}

// A prefix length that no translator can have is refused.
static void test_bad(void **state)
{
	struct prefix list[] = {addr_text_prefix("2a00::/33")};
	struct policy_fixture_box b;

	policy_fixture_box(&b);
	b.c.nat64 = list;
	b.c.nb_nat64 = 1;
	assert_null(turn_policy_create(&b.c, policy_fixture_crypto, policy_fixture_boot_key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, policy_fixture_open, policy_fixture_close);
}
