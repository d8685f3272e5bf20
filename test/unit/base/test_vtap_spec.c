// SPDX-License-Identifier: BSD-3-Clause
// The device string of a vtap: valid ones, and the messages for invalid ones.
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "devices/vtap_spec.h"

static char error[160];

static struct vtap_spec parse(const char *device)
{
	struct vtap_spec s;

	memset(&s, 0xa5, sizeof(s));
	if (!vtap_spec_parse(device, &s, error, sizeof(error)))
		fail_msg("%s: %s", device, error);
	return s;
}

static void test_is(void **state)
{
	assert_true(vtap_spec_is("vtap:t0"));
	assert_true(vtap_spec_is("vtap:"));
	assert_false(vtap_spec_is("vtap0"));
	assert_false(vtap_spec_is("net_vtap:t0"));
	assert_false(vtap_spec_is("replay:x"));
	assert_false(vtap_spec_is(""));
}

static void test_defaults(void **state)
{
	const struct vtap_spec s = parse("vtap:t0");

	assert_string_equal(s.name, "t0");
	assert_string_equal(s.netns, "");
	assert_int_equal(s.queues, 0);
	assert_int_equal(s.role, VTAP_LAB);
	assert_int_equal(s.offload, VTAP_OFFLOAD_USO);
	assert_false(s.has_mac);
}

static void test_options_may_come_in_any_order(void **state)
{
	const struct vtap_spec s = parse(
		"vtap:t0,offload=csum,netns=lab,role=exception,mac=02:00:00:00:00:01,queues=64");

	assert_string_equal(s.name, "t0");
	assert_string_equal(s.netns, "lab");
	assert_int_equal(s.queues, 64);
	assert_int_equal(s.role, VTAP_EXCEPTION);
	assert_int_equal(s.offload, VTAP_OFFLOAD_CSUM);
	assert_true(s.has_mac);
}

static void test_names_may_hold_dots_dashes_and_underscores(void **state)
{
	const struct vtap_spec s = parse("vtap:a.b_c-d45678901,netns=lab-1.x_y");

	assert_string_equal(s.name, "a.b_c-d45678901"); // the longest
	assert_string_equal(s.netns, "lab-1.x_y");
}

static void test_a_mac_may_be_in_either_case(void **state)
{
	static const uint8_t mac[6] = {0x02, 0, 0xaa, 0xBB, 0x0c, 0xff};

	assert_memory_equal(parse("vtap:t0,mac=02:00:aA:BB:0c:ff").mac, mac, sizeof(mac));
}

static void test_words(void **state)
{
	static const enum vtap_offload offloads[] = {
		VTAP_OFFLOAD_NONE, VTAP_OFFLOAD_CSUM, VTAP_OFFLOAD_TSO, VTAP_OFFLOAD_USO};
	static const char *const names[] = {"none", "csum", "tso", "uso"};
	char device[64];

	for (unsigned int i = 0; i < 4; i++) {
		snprintf(device, sizeof(device), "vtap:t0,offload=%s", names[i]);
		assert_int_equal(parse(device).offload, offloads[i]);
		assert_string_equal(vtap_spec_offload_name(offloads[i]), names[i]);
	}
	// a limit to one offload includes those below it
	assert_true(VTAP_OFFLOAD_NONE < VTAP_OFFLOAD_CSUM && VTAP_OFFLOAD_CSUM < VTAP_OFFLOAD_TSO &&
		VTAP_OFFLOAD_TSO < VTAP_OFFLOAD_USO);
	assert_int_equal(parse("vtap:t0,role=lab").role, VTAP_LAB);
	assert_int_equal(parse("vtap:t0,queues=1").queues, 1);
	assert_int_equal(parse("vtap:t0,queues=007").queues, 7);
}

// Devices, and the expected text of the message.
static const struct {
	const char *device, *says;
} wrong[] = {
	{"vtap:", "interface name is empty"},
	{"vtap:,queues=1", "interface name is empty"},
	{"vtap:a234567890123456", "interface name 'a234567890123456' is too long: at most 15"},
	{"vtap:a/b", "may hold only letters"},
	{"vtap:a b", "may hold only letters"},
	{"vtap:tap%d", "may hold only letters"}, // the kernel would number it
	{"vtap:t0:1", "may hold only letters"},
	{"vtap:\xc3\xa9", "may hold only letters"},
	{"vtap:.", "choose another"},
	{"vtap:..", "choose another"},
	{"vtap:t0,", "no option ''"},
	{"vtap:t0,,queues=1", "no option ''"},
	{"vtap:t0,queue=1", "no option 'queue', it has: queues"},
	{"vtap:t0,iface=x", "no option 'iface'"},
	{"vtap:t0,queues", "queues has no value"},
	{"vtap:t0,queues=", "queues=: must be a number from 1 to 64"},
	{"vtap:t0,queues=0", "queues=0: must be a number from 1 to 64"},
	{"vtap:t0,queues=65", "queues=65: must be a number from 1 to 64"},
	{"vtap:t0,queues=300", "queues=300: must be"},
	{"vtap:t0,queues=4294967297", "must be a number"},
	{"vtap:t0,queues=-1", "must be a number"},
	{"vtap:t0,queues=1x", "must be a number"},
	{"vtap:t0,queues=1,queues=1", "queues is given twice"},
	{"vtap:t0,netns=", "network namespace is empty"},
	{"vtap:t0,netns=../x", "network namespace '../x' may hold only"},
	{"vtap:t0,netns=..", "choose another"},
	{"vtap:t0,role=host", "role=host: must be lab or exception"},
	{"vtap:t0,role=", "must be lab or exception"},
	{"vtap:t0,role=labs", "must be lab or exception"},
	{"vtap:t0,offload=all", "offload=all: must be uso, tso, csum or none"},
	{"vtap:t0,offload=us", "must be uso"},
	{"vtap:t0,mac=02:00:00:00:00", "must be like 02:00"},
	{"vtap:t0,mac=02:00:00:00:00:0g", "must be like 02:00"},
	{"vtap:t0,mac=02-00-00-00-00-01", "must be like 02:00"},
	{"vtap:t0,mac=02:00:00:00:00:01:02", "must be like 02:00"},
	{"vtap:t0,mac=01:00:5e:00:00:01", "is not the MAC of a host"},
	{"vtap:t0,mac=00:00:00:00:00:00", "is not the MAC of a host"},
};

static void test_wrong(void **state)
{
	struct vtap_spec s;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		error[0] = '\0';
		if (vtap_spec_parse(wrong[i].device, &s, error, sizeof(error)))
			fail_msg("%s is accepted", wrong[i].device);
		if (strstr(error, wrong[i].says) == NULL)
			fail_msg("%s: '%s' does not say '%s'", wrong[i].device, error,
				wrong[i].says);
	}
}

// For any length of the string, truncated anywhere, the message stays within its buffer.
static void test_long(void **state)
{
	char device[256] = "vtap:t0,mac=02:00:00:00:00:01,netns=", small[24];
	const size_t len = strlen(device);
	struct vtap_spec s;

	memset(device + len, 'n', sizeof(device) - len - 1);
	assert_false(vtap_spec_parse(device, &s, small, sizeof(small)));
	assert_true(strlen(small) < sizeof(small));
	device[len + VTAP_NETNS_LEN - 1] = '\0';
	assert_true(vtap_spec_parse(device, &s, small, sizeof(small)));
	assert_int_equal(strlen(s.netns), VTAP_NETNS_LEN - 1);
	for (size_t cut = strlen("vtap:"); cut < sizeof(device); cut++) {
		char copy[256];

		snprintf(copy, sizeof(copy), "%.*s", (int)cut, device);
		vtap_spec_parse(copy, &s, small, sizeof(small));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_options_may_come_in_any_order),
		cmocka_unit_test(test_names_may_hold_dots_dashes_and_underscores),
		cmocka_unit_test(test_a_mac_may_be_in_either_case),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
