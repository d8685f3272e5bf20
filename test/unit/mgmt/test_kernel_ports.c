// SPDX-License-Identifier: BSD-3-Clause
// Ports that the kernel uses for its own sockets, and changes of them while the server runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"
#include "link/kernel_ports.h"
#include "test.h"

static char dir[] = "/tmp/test_kernel_ports_XXXXXX";
static struct conf_port port = {.name = "wan", .device = "packet:e0"};
static struct conf conf = {
	.ports = &port, .nb_ports = 1, .turn = {.nb_relay = 1, .port_lo = 49152, .port_hi = 65535}};

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static bool wrong(void)
{
	char text[512] = "";
	const bool warned = kernel_ports_wrong(&conf, dir, text, sizeof(text));

	assert_int_equal(warned, strstr(text, "relay ports are among them") != NULL);
	return warned;
}

static void the_list_is_read_as_the_kernel_writes_it(void **state)
{
	static const struct {
		const char *reserved;
		unsigned int lo, hi;
		bool allowed;
	} rows[] = {{"", 50000, 50000, true}, {"\n", 50000, 60000, true},
		{"50000\n", 50000, 50000, false}, {"50000\n", 50000, 50001, true},
		{"1,50000-50009,50010-60000\n", 50000, 60000, false},
		{"1,50000-50008,50010-60000\n", 50000, 60000, true},
		{"50000-65535\n", 40000, 50000, true}, {"50000-65535\n", 61000, 65535, false},
		{"", 61000, 65535, false}, {"", 1024, 32767, false}, {"", 1024, 32768, true}};

	(void)state;
	put("ip_local_port_range", "32768\t60999\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kernel_ports k;

		put("ip_local_reserved_ports", rows[i].reserved);
		assert_true(kernel_ports_read(dir, &k));
		if (kernel_ports_may(&k, rows[i].lo, rows[i].hi) != rows[i].allowed)
			fail_msg("row %zu", i);
		kernel_ports_free(&k);
	}
}

// Another package's file in sysctl.d, and the operator who corrects it.
static void a_change_is_told_once(void **state)
{
	struct kernel_ports_told told = {0};

	(void)state;
	put("ip_local_port_range", "20000\t39999\n");
	put("ip_local_reserved_ports", "\n");
	kernel_ports_tick(&told, &conf, dir, 0);
	assert_false(told.wrong);
	put("ip_local_port_range", "32768\t60999\n");
	assert_true(wrong());
	kernel_ports_tick(&told, &conf, dir, KERNEL_PORTS_MS - 1);
	assert_false(told.wrong); // not checked yet
	kernel_ports_tick(&told, &conf, dir, KERNEL_PORTS_MS);
	assert_true(told.wrong);
	put("ip_local_reserved_ports", "49152-65535\n");
	assert_false(wrong());
	kernel_ports_tick(&told, &conf, dir, 2 * KERNEL_PORTS_MS);
	assert_false(told.wrong);
}

static void other_ports_have_nothing_to_lose(void **state)
{
	(void)state;
	put("ip_local_port_range", "32768\t60999\n");
	put("ip_local_reserved_ports", "\n");
	assert_true(wrong());
	port.device = "vtap:e0";
	assert_false(wrong());
	port.device = "packet:e0";
	conf.turn.nb_relay = 0;
	assert_false(wrong());
	conf.turn.nb_relay = 1;
}

static void an_unreadable_range_is_no_warning(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/ip_local_port_range", dir);
	unlink(path);
	assert_false(wrong());
	put("ip_local_port_range", "rubbish\n");
	assert_false(wrong());
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **state)
{
	static const char *const names[] = {"ip_local_port_range", "ip_local_reserved_ports"};
	char path[128];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_is_read_as_the_kernel_writes_it),
		cmocka_unit_test(a_change_is_told_once),
		cmocka_unit_test(other_ports_have_nothing_to_lose),
		cmocka_unit_test(an_unreadable_range_is_no_warning),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
