// SPDX-License-Identifier: BSD-3-Clause
// The keys of shared relay ports, and what they change of others.
#include <stdlib.h>
#include <string.h>

#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
#define PORTS "  ports: 49152-65535\n"
#define ADDRESSES "  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n"
#define MODE "  mode: shared\n"
#define ALLOCATIONS "  allocations: 1000\n"

static void values_are_read(void **state)
{
	struct conf *c = conf_file_changed(PORTS, MODE);

	assert_true(c->turn.shared.enabled);
	assert_int_equal(c->turn.port_lo, 3480);
	assert_int_equal(c->turn.port_hi, 3487);
	assert_int_equal(c->turn.shared.peers, 256);
	assert_int_equal(c->turn.shared.peer_share, 50);
	conf_free(c);
	c = conf_file_changed(PORTS, MODE "  ports: 4000-4001\n  peers-per-allocation: 9\n");
	assert_int_equal(c->turn.port_lo, 4000);
	assert_int_equal(c->turn.port_hi, 4001);
	assert_int_equal(c->turn.shared.peers, 9);
	conf_free(c);
	c = conf_file_changed(PORTS, "  mode: unique\n");
	assert_false(c->turn.shared.enabled);
	assert_int_equal(c->turn.port_lo, 49152);
	conf_free(c);
	c = conf_file_changed(
		"log:", "test-constants: {relay.peer-share: 7, limits.pool.peers: 8}\nlog:");
	assert_int_equal(c->turn.shared.peer_share, 7);
	assert_int_equal(c->turn.pools.endpoints, 8);
	conf_free(c);
}

// It works with all addresses as it does with a list.
static void all_addresses_may_be_shared(void **state)
{
	struct conf *c = conf_file_changed(ADDRESSES PORTS, "  addresses: all\n" MODE);

	assert_int_equal(c->turn.nb_relay, 2 + 9);
	assert_true(c->turn.shared.enabled);
	conf_free(c);
}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		{PORTS, "  mode: ^multiplexed\n",
			"relay.mode: 'multiplexed' is not one of: unique, shared"},
		{PORTS, MODE "  ports: ^50000-50000\n",
			"relay.ports: IPv6 has too few shared ports for 2 workers (0): every "
			"worker needs one, make the range larger or workers.count smaller"},
		{PORTS, MODE "  ports: ^50000-50001\n",
			"relay.ports: IPv6 has too few shared ports for 2 workers (1): every "
			"worker needs one, make the range larger or workers.count smaller"},
		{PORTS, MODE "  ports: ^4000-4999\n",
			"relay.ports: 5 addresses with 1000 ports each are too many for shared "
			"mode: use at most 4096 ports in all"},
		{ADDRESSES PORTS, "  addresses: all\n" MODE "  ports: ^40000-41000\n",
			"relay.ports: 11 addresses with 1001 ports each are too many for "
			"shared mode: use at most "},
		{PORTS,
			MODE "  ports: 49152-49159\n"
			     "  pools: [^{name: lan, addresses: [10.1.0.5], for: [10.5.0.0/16]}]\n",
			"relay.pools[0]: pools do not work with shared relay ports: remove "
			"them, or mode: shared"},
		{"  default-family: ipv4", "  peers-per-allocation: ^0",
			"relay.peers-per-allocation: 0 is out of range"},
		{"  default-family: ipv4", "  peers-per-allocation: ^65536",
			"relay.peers-per-allocation: 65536 is out of range"},
	};

	CHECK(list);
}

// --- limits --------------------------------------------------------------------------------------

// The good file with shared ports, and other limits.
static char *limits_file(const char *limits)
{
	char *shared = conf_file_edit(PORTS, MODE);
	char *out = conf_text_edit(shared, ALLOCATIONS, limits);

	free(shared);
	return out;
}

static struct conf *load_limits(const char *limits)
{
	char *text = limits_file(limits), error[CONF_ERROR_LEN] = "";
	struct conf *c = conf_file_load(text, strlen(text), error);

	if (c == NULL)
		fail_msg("%s", error);
	free(text);
	return c;
}

static void assert_limits(const char *limits, uint32_t allocations, uint32_t per_user)
{
	struct conf *c = load_limits(limits);

	assert_int_equal(c->turn.limits.allocations, allocations);
	assert_int_equal(c->turn.limits.per_user, per_user);
	conf_free(c);
}

static void limits_do_not_depend_on_ports(void **state)
{
	char *text = limits_file("  allocations: ^0   \n");

	assert_limits(ALLOCATIONS, 1000, 250);
	assert_limits("", 100000, 25000);
	conf_file_refused(text, strlen(text),
		"limits.allocations: relay.mode is shared and needs memory for each "
		"allocation: write a limit above 0");
	free(text);
}

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	if (strstr(line, "limits.per-user") != NULL)
		snprintf(ctx, 512, "%s", line);
}

static void a_user_who_can_take_all_is_a_warning(void **state)
{
	char told[512] = "";
	struct conf_report r = {.say = hear, .ctx = told};
	struct conf *c = load_limits("  per-user: 100000\n");

	conf_warnings(c, &r);
	assert_non_null(strstr(told,
		"one user can take all 100000 allocations from the others: remove it, for a "
		"quarter of them, or lower it"));
	conf_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read),
		cmocka_unit_test(all_addresses_may_be_shared),
		cmocka_unit_test(mistakes_are_told_at_their_places),
		cmocka_unit_test(limits_do_not_depend_on_ports),
		cmocka_unit_test(a_user_who_can_take_all_is_a_warning),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
