// SPDX-License-Identifier: BSD-3-Clause
// Addresses whose clients are served: the rules of clients.allow, deny and deny-files.
#include "addr_text.h"
#include "policy_fixture.h"
#include "test.h"

static bool serves(const struct turn_policy *p, const char *client)
{
	const struct addr a = addr_text(client);

	return turn_policy_serves(p, &a);
}

static void test_all_clients_are_served_without_rules(void **state)
{
	struct policy_fixture_box b;
	struct turn_policy *p;

	policy_fixture_box(&b);
	p = policy_fixture_create(&b.c);
	assert_true(serves(p, "192.0.2.1") && serves(p, "2001:db8::1"));
	turn_policy_free(p);
}

static void test_longest_client_rule(void **state)
{
	struct prefix deny[] = {addr_text_prefix("192.0.2.0/24"), addr_text_prefix("2001:db8::/32"),
		addr_text_prefix("198.51.100.7")};
	struct prefix listed[] = {addr_text_prefix("203.0.113.0/24")};
	struct policy_fixture_box b;
	struct turn_policy *p;

	policy_fixture_box(&b);
	b.c.client_deny = deny;
	b.c.nb_client_deny = 3;
	b.c.client_deny_listed = listed;
	b.c.nb_client_deny_listed = 1;
	p = policy_fixture_create(&b.c);
	assert_false(serves(p, "192.0.2.1"));
	assert_false(serves(p, "2001:db8::1"));
	assert_false(serves(p, "203.0.113.255"));
	assert_false(serves(p, "198.51.100.7"));
	assert_true(serves(p, "198.51.100.8") && serves(p, "192.0.3.0"));
	assert_true(serves(p, "2001:db9::") && serves(p, "204.0.113.0"));
	turn_policy_free(p);
}

// With `allow` all other addresses are denied, of both families, and deny wins at equal length.
static void test_only_allowed_clients(void **state)
{
	struct prefix allow[] = {addr_text_prefix("192.0.2.0/24"), addr_text_prefix("198.51.100.7"),
		addr_text_prefix("192.0.2.128/25")};
	struct prefix deny[] = {addr_text_prefix("192.0.2.9"), addr_text_prefix("192.0.2.128/25")};
	struct policy_fixture_box b;
	struct turn_policy *p;

	policy_fixture_box(&b);
	b.c.client_allow = allow;
	b.c.nb_client_allow = 3;
	b.c.client_deny = deny;
	b.c.nb_client_deny = 2;
	p = policy_fixture_create(&b.c);
	assert_true(serves(p, "192.0.2.1") && serves(p, "198.51.100.7"));
	assert_false(serves(p, "192.0.2.9") || serves(p, "192.0.2.129"));
	assert_false(serves(p, "198.51.100.8") || serves(p, "8.8.8.8"));
	assert_false(serves(p, "2001:db8::1") || serves(p, "::2"));
	turn_policy_free(p);
	allow[0] = addr_text_prefix("::/0");
	b.c.nb_client_deny = 0;
	b.c.nb_client_allow = 1;
	p = policy_fixture_create(&b.c);
	assert_true(serves(p, "2001:db8::1"));
	assert_false(serves(p, "192.0.2.1")); // no prefix of IPv6 contains it
	turn_policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_clients_are_served_without_rules),
		cmocka_unit_test(test_longest_client_rule),
		cmocka_unit_test(test_only_allowed_clients),
	};

	return cmocka_run_group_tests(tests, policy_fixture_open, policy_fixture_close);
}
