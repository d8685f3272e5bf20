// SPDX-License-Identifier: BSD-3-Clause
// The keys of mobility.
#include "conf_file.h"
#include "test.h"

static void values_are_read(void **state)
{
	struct conf *c = conf_file_changed(
		"log:", "test-constants: {relay.mobility.grace: 2m, limits.pool.moves: 7}\nlog:");

	assert_false(c->turn.mobility.enabled);
	assert_int_equal(c->turn.mobility.grace_s, 120);
	assert_int_equal(c->turn.mobility.moves, 7);
	conf_free(c);
	c = conf_file_changed("  default-family: ipv4\n", "  mobility: {enabled: true}\n");
	assert_true(c->turn.mobility.enabled);
	assert_int_equal(c->turn.mobility.grace_s, 60);
	assert_int_equal(c->turn.mobility.moves, 0);
	conf_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
