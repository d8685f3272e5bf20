// SPDX-License-Identifier: BSD-3-Clause
// The device string of a packet port: valid ones, and the messages for invalid ones.
#include <stdio.h>
#include <string.h>

#include "devices/packet_spec.h"
#include "test.h"

static struct packet_spec parse(const char *device)
{
	struct packet_spec s;
	char error[160];

	memset(&s, 0xa5, sizeof(s));
	if (!packet_spec_parse(device, &s, error, sizeof(error)))
		fail_msg("%s: %s", device, error);
	return s;
}

static void test_is(void **state)
{
	(void)state;
	assert_true(packet_spec_is("packet:eth0"));
	assert_true(packet_spec_is("packet:"));
	assert_false(packet_spec_is("packet"));
	assert_false(packet_spec_is("net_af_packet0,iface=eth0"));
	assert_false(packet_spec_is("vtap:packet:"));
	assert_false(packet_spec_is(""));
}

static void test_right(void **state)
{
	(void)state;
	assert_string_equal(parse("packet:eth0").name, "eth0");
	assert_int_equal(parse("packet:eth0").queues, 0);
	assert_string_equal(parse("packet:eth0.100,queues=64").name, "eth0.100");
	assert_int_equal(parse("packet:eth0,queues=64").queues, 64);
	assert_string_equal(parse("packet:a23456789012345").name, "a23456789012345");
	assert_string_equal(parse("packet:wg-x_y@z").name, "wg-x_y@z"); // by kernel rules
}

static const struct {
	const char *device, *says;
} wrong[] = {
	{"packet:", "interface name is empty: write packet:NAME"},
	{"packet:,queues=1", "interface name is empty"},
	{"packet:a234567890123456", "'a234567890123456' is too long: at most 15 characters"},
	{"packet:a/b", "'a/b' is not valid"},
	{"packet:a b", "is not valid"},
	{"packet:.", "is not valid"},
	{"packet:..", "is not valid"},
	{"packet:e0,", "no option '', it has: queues"},
	{"packet:e0,netns=x", "no option 'netns=x'"},
	{"packet:e0,queues", "no option 'queues'"},
	{"packet:e0,queues=", "queues=: must be a number from 1 to 64"},
	{"packet:e0,queues=0", "from 1 to 64"},
	{"packet:e0,queues=65", "from 1 to 64"},
	{"packet:e0,queues=4294967297", "from 1 to 64"},
	{"packet:e0,queues=-1", "from 1 to 64"},
	{"packet:e0,queues=1x", "from 1 to 64"},
	{"packet:e0,queues=1,queues=1", "queues is given twice"},
};

static void test_wrong(void **state)
{
	struct packet_spec s;
	char error[160], small[12];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (packet_spec_parse(wrong[i].device, &s, error, sizeof(error)))
			fail_msg("%s is taken", wrong[i].device);
		if (strstr(error, wrong[i].says) == NULL)
			fail_msg("%s: %s", wrong[i].device, error);
		assert_false(packet_spec_parse(wrong[i].device, &s, small, sizeof(small)));
		assert_true(strlen(small) < sizeof(small));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is),
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
