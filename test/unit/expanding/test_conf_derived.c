// SPDX-License-Identifier: BSD-3-Clause
// Values derived from the keys of a file: packet buffers, bursts, limits of networks.
#include "conf_file.h"
#include "test.h"
#include "conf_drivers.h"

// Enough packet buffers for all rings and queues at once, and never fewer than the former default.
static void buffers_follow_from_ports_and_workers(void **state)
{
	struct conf_driver driver = {.rx_ring = 4096};
	struct conf_drivers drivers = {.list = &driver, .nb = 1};
	struct conf *c = conf_file_changed("count: 2", "count: 1");

	assert_int_equal(c->mbufs, 16384);
	c->workers = 2; // each with 2 x (1024 + 1024) descriptors and 4 x 512 requests
	conf_derive_mbufs(c);
	assert_int_equal(c->mbufs, 16384);
	c->workers = 3;
	conf_derive_mbufs(c);
	assert_int_equal(c->mbufs, 3 * 6144);
	c->drivers = &drivers;
	conf_derive_mbufs(c);
	assert_int_equal(c->mbufs, 3 * (6144 + 2 * 3072));
	c->drivers = NULL;
	c->turn.listeners[0].transport = TURN_OVER_TCP;
	conf_derive_mbufs(c);
	assert_int_equal(c->mbufs, 3 * (6144 + 512));
	conf_free(c);
	c = conf_file_changed("    vlan: 0\n", "    exception: {name: sr0}\n");
	c->workers = 3;
	conf_derive_mbufs(c);
	assert_int_equal(c->mbufs, 3 * (6144 + 512));
	conf_free(c);
	c = conf_file_changed("log:", "test-constants: {buffers.mbufs: 2048}\nlog:");
	assert_int_equal(c->mbufs, 2048);
	conf_free(c);
}

static void other_limits_follow_from_limits(void **state)
{
	struct conf *c = conf_file_changed("  binding: {rate: 1000}\n",
		"  binding: {rate: 0}\n  unauthenticated: {rate: 300000}\n");

	assert_int_equal(c->turn.limits.binding.burst, 1);
	assert_int_equal(c->turn.limits.unauthenticated.burst, 1000000);
	conf_free(c);
	c = conf_file_changed("max: 3600", "max: 60");
	assert_int_equal(c->turn.limits.lifetime_default_s, 60);
	conf_free(c);
	c = conf_file_changed("log:", "streams: {per-source: 7}\ndtls: {per-source: 0}\nlog:");
	assert_int_equal(c->streams.per_network, 14);
	assert_int_equal(c->dtls.per_network, 0);
	conf_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_follow_from_ports_and_workers),
		cmocka_unit_test(other_limits_follow_from_limits),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
