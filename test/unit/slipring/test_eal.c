// SPDX-License-Identifier: BSD-3-Clause
// Arguments of EAL: lcores, devices, memory, and which setting overrides which. Nothing here starts
// EAL.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "eal.h"
#include "test.h"

static const unsigned int four[] = {0, 1, 2, 3};
static struct conf_port veth = {.name = "wan", .device = "net_af_packet0,iface=d0"};

// A configuration with two workers and plenty of hugepages.
static struct conf base_conf(void)
{
	return (struct conf){
		.eal_file_prefix = "slipring",
		.workers = 2,
		.ports = &veth,
		.nb_ports = 1,
		.log.level = LOG_INFO,
	};
}

static struct eal_params base_params(const struct conf *c)
{
	return (struct eal_params){.conf = c,
		.cpus = four,
		.nb_cpus = 4,
		.need_mb = 300,
		.normal_mb = 400,
		.free_mb = 512};
}

static bool has(const struct eal_args *a, const char *arg)
{
	for (unsigned int i = 1; i < a->argc; i++)
		if (strcmp(a->argv[i], arg) == 0)
			return true;
	return false;
}

static bool has_prefix(const struct eal_args *a, const char *start)
{
	for (unsigned int i = 1; i < a->argc; i++)
		if (strncmp(a->argv[i], start, strlen(start)) == 0)
			return true;
	return false;
}

static void assert_deal(
	const unsigned int *cpus, unsigned int n, unsigned int workers, const char *expected)
{
	char *text = eal_lcores_deal(cpus, n, workers);

	assert_string_equal(text, expected);
	free(text);
}

static void test_deal(void **state)
{
	const unsigned int odd[] = {5, 9};

	// More CPUs than workers: the first is reserved for management.
	assert_deal(four, 4, 2, "0@(0,1,2,3),1@1,2@2");
	assert_deal(four, 4, 3, "0@(0,1,2,3),1@1,2@2,3@3");
	assert_deal(four, 4, 4, "0@(0,1,2,3),1@0,2@1,3@2,4@3");
	assert_deal(four, 1, 1, "0@(0),1@0");
	// More workers than CPUs share them evenly.
	assert_deal(odd, 2, 3, "0@(5,9),1@5,2@9,3@5");
	assert_deal(odd, 2, 1, "0@(5,9),1@9");
}

static void test_workers_default(void **state)
{
	assert_int_equal(eal_workers_default(1, 0), 1);
	assert_int_equal(eal_workers_default(2, 0), 1);
	assert_int_equal(eal_workers_default(8, 0), 7);
	assert_int_equal(eal_workers_default(128, 0), TURN_WORKERS_MAX);
	// eal.lcores includes the management lcore.
	assert_int_equal(eal_workers_default(8, 3), 2);
	assert_int_equal(eal_workers_default(2, 5), 4);
}

static void test_plain(void **state)
{
	struct conf c = base_conf();
	struct eal_params p = base_params(&c);
	struct eal_args a;

	assert_int_equal(eal_args_build(&a, &p), 0);
	assert_null(a.argv[a.argc]);
	assert_int_equal(a.memory, EAL_MEMORY_HUGE);
	assert_true(has(&a, "--no-pci"));
	assert_true(has(&a, "--in-memory"));
	assert_true(has(&a, "--single-file-segments"));
	assert_true(has(&a, "--iova-mode=va"));
	assert_true(has(&a, "--file-prefix=slipring"));
	assert_true(has(&a, "--lcores=0@(0,1,2,3),1@1,2@2"));
	assert_true(has(&a, "--log-level=*:warning"));
	assert_false(has(&a, "--no-huge"));
	assert_string_equal(a.file_prefix, "slipring");
	eal_args_free(&a);
}

// DPDK logs more if its area is at debug, and lib/port if the area of ports is.
static void test_areas(void **state)
{
	struct conf c = base_conf();
	struct eal_params p = base_params(&c);
	struct eal_args a;

	c.log.areas[CONF_AREA_PORTS] = LOG_DEBUG;
	assert_int_equal(eal_args_build(&a, &p), 0);
	assert_true(has(&a, "--log-level=*:warning"));
	assert_true(has(&a, "--log-level=port:info"));
	eal_args_free(&a);
	c.log.level = LOG_DEBUG;
	c.log.areas[CONF_AREA_DPDK] = LOG_INFO;
	c.log.areas[CONF_AREA_PORTS] = LOG_INFO;
	assert_int_equal(eal_args_build(&a, &p), 0);
	assert_true(has(&a, "--log-level=*:warning"));
	assert_true(has(&a, "--log-level=port:warning"));
	eal_args_free(&a);
}

static void test_no_hugepages(void **state)
{
	struct conf c = base_conf();
	struct eal_params p = base_params(&c);
	struct eal_args a;

	p.free_mb = 299;
	assert_int_equal(eal_args_build(&a, &p), 0);
	assert_int_equal(a.memory, EAL_MEMORY_NORMAL);
	assert_true(has(&a, "--no-huge"));
	assert_true(has(&a, "-m"));
	assert_true(has(&a, "400"));
	assert_true(has(&a, "--no-shconf"));
	assert_true(has(&a, "--iova-mode=va"));
	// EAL refuses the combination.
	assert_false(has(&a, "--in-memory"));
	eal_args_free(&a);
	p.free_mb = 300;
	assert_int_equal(eal_args_build(&a, &p), 0);
	assert_int_equal(a.memory, EAL_MEMORY_HUGE);
	eal_args_free(&a);
}

// Then no file is opened: EAL does not start, and does not lock its prefix.
static void test_more_memory_than_there_is(void **state)
{
	struct conf c = base_conf();
	struct eal_params p = base_params(&c);
	char error[256] = "";
	struct eal e;

	p.free_mb = 0;
	p.all_mb = 399;
	assert_int_equal(eal_start(&e, &p, error, sizeof(error)), -1);
	assert_string_equal(error,
		"400 MB are needed, and this machine has 399 MB: lower limits.allocations, "
		"workers.count, see `slipring --show-needs`");
	assert_true(eal_memory_mb() > 16);
}

static void test_pci(void **state)
{
	struct conf_port ports[] = {{.name = "a", .device = "0000:03:00.0"},
		{.name = "b", .device = "net_null0"},
		{.name = "c", .device = "0000:03:00.1,mprq_en=1"},
		{.name = "a.5", .device = "0000:03:00.0", .vlan = 5, .shares = true}};
	struct conf c = base_conf();
	struct eal_params p = base_params(&c);
	struct eal_args a;
	unsigned int allowed = 0;

	c.ports = ports;
	c.nb_ports = 4; // a VLAN has no device of its own
	assert_int_equal(eal_args_build(&a, &p), 0);
	assert_false(has(&a, "--no-pci"));
	for (unsigned int i = 1; i < a.argc; i++) {
		if (strcmp(a.argv[i], "-a") == 0)
			assert_string_equal(a.argv[i + 1], ports[2 * allowed++].device);
	}
	assert_int_equal(allowed, 2);
	// Without an IOMMU the NIC needs physical addresses: EAL decides.
	assert_false(has_prefix(&a, "--iova-mode"));
	eal_args_free(&a);
}

// EAL scans the PCI bus for the members of a bond, too.
static void test_bond(void **state)
{
	char *members[] = {"0000:3b:00.0", "net_null0", "0000:3b:00.1"};
	struct conf_port port = {
		.name = "wan", .device = "bond:wan", .bond = {.members = members, .nb_members = 3}};
	struct conf c = base_conf();
	struct eal_params p = base_params(&c);
	struct eal_args a;
	unsigned int allowed = 0;

	c.ports = &port;
	assert_int_equal(eal_args_build(&a, &p), 0);
	assert_false(has(&a, "--no-pci"));
	for (unsigned int i = 1; i < a.argc; i++) {
		if (strcmp(a.argv[i], "-a") == 0)
			assert_string_equal(a.argv[i + 1], members[2 * allowed++]);
	}
	assert_int_equal(allowed, 2);
	eal_args_free(&a);
}

// A vtap is no EAL device: there is no argument for it, with hugepages or without.
static void test_vtap(void **state)
{
	struct conf_port port = {.name = "wan", .device = "vtap:t0,netns=lab"};
	struct conf c = base_conf();
	struct eal_params p = base_params(&c);
	struct eal_args a;

	c.ports = &port;
	for (unsigned int huge = 0; huge < 2; huge++) {
		p.free_mb = huge ? 512 : 0;
		assert_int_equal(eal_args_build(&a, &p), 0);
		assert_true(has(&a, "--no-pci"));
		assert_true(has(&a, "--iova-mode=va"));
		assert_true(has(&a, huge ? "--in-memory" : "--no-huge"));
		assert_false(has(&a, "-a"));
		assert_false(has_prefix(&a, "--vdev"));
		assert_false(has_prefix(&a, "vtap"));
		eal_args_free(&a);
	}
}

static void test_configured(void **state)
{
	char *args[] = {"--legacy-mem", "--vdev=net_null7"};
	struct conf c = base_conf();
	struct eal_params p = base_params(&c);
	struct eal_args a;

	c.eal_lcores = "0@(0-1),1@0,2@1";
	c.eal_file_prefix = "other";
	c.eal_args = args;
	c.nb_eal_args = 2;
	c.log.level = LOG_DEBUG;
	assert_int_equal(eal_args_build(&a, &p), 0);
	assert_true(has(&a, "--lcores=0@(0-1),1@0,2@1"));
	assert_string_equal(a.file_prefix, "other");
	assert_true(has(&a, "--log-level=*:info"));
	assert_true(has(&a, "--log-level=port:info"));
	assert_string_equal(a.argv[a.argc - 1], "--vdev=net_null7");
	// A memory option of the operator replaces ours.
	assert_int_equal(a.memory, EAL_MEMORY_OPERATOR);
	assert_false(has(&a, "--in-memory"));
	assert_false(has(&a, "--no-huge"));
	eal_args_free(&a);
}

static void test_command_line_wins(void **state)
{
	char *args[] = {"--file-prefix=conf"};
	char *extra[] = {"-l0-2", "--file-prefix", "mine", "--main-lcore=1"};
	struct conf c = base_conf();
	struct eal_params p = base_params(&c);
	struct eal_args a;

	c.eal_args = args;
	c.nb_eal_args = 1;
	p.extra = extra;
	p.nb_extra = 4;
	assert_int_equal(eal_args_build(&a, &p), 0);
	// EAL accepts a single list of lcores.
	assert_false(has_prefix(&a, "--lcores"));
	assert_string_equal(a.file_prefix, "mine");
	// --main-lcore is not -m.
	assert_int_equal(a.memory, EAL_MEMORY_HUGE);
	for (unsigned int i = 0; i < 4; i++)
		assert_string_equal(a.argv[a.argc - 4 + i], extra[i]);
	eal_args_free(&a);
}

static void write_pages(const char *dir, const char *size, const char *n)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, size);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s/free_hugepages", dir, size);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", n);
	fclose(f);
}

static void remove_pages(const char *dir, const char *size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/free_hugepages", dir, size);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/%s", dir, size);
	assert_int_equal(rmdir(path), 0);
}

static void test_hugepages_free(void **state)
{
	char dir[] = "/tmp/test-eal-XXXXXX";

	assert_non_null(mkdtemp(dir));
	assert_int_equal(eal_hugepages_free_mb("/nonexistent"), 0);
	assert_int_equal(eal_hugepages_free_mb(dir), 0);
	write_pages(dir, "hugepages-2048kB", "100");
	write_pages(dir, "hugepages-1048576kB", "2");
	assert_int_equal(eal_hugepages_free_mb(dir), 200 + 2048);
	remove_pages(dir, "hugepages-2048kB");
	remove_pages(dir, "hugepages-1048576kB");
	assert_int_equal(rmdir(dir), 0);
}

static void test_cpus_allowed(void **state)
{
	unsigned int cpus[RTE_MAX_LCORE];
	const unsigned int n = eal_cpus_allowed(cpus);

	assert_in_range(n, 1, RTE_MAX_LCORE);
	for (unsigned int i = 1; i < n; i++)
		assert_true(cpus[i - 1] < cpus[i]);
}

static void test_instance(void **state)
{
	char dir[] = "/tmp/test-eal-XXXXXX", error[256] = "", own_pid[32], path[300];
	int fd, second_fd;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(setenv("RUNTIME_DIRECTORY", dir, 1), 0);
	fd = instance_lock("one", error, sizeof(error));
	assert_true(fd >= 0);
	assert_int_equal(instance_lock("one", error, sizeof(error)), -1);
	snprintf(own_pid, sizeof(own_pid), "(pid %d)", (int)getpid());
	assert_non_null(strstr(error, own_pid));
	assert_non_null(strstr(error, "eal.file-prefix 'one'"));
	// Another prefix is another instance.
	second_fd = instance_lock("two", error, sizeof(error));
	assert_true(second_fd >= 0);
	close(second_fd);
	// And once the first has exited its prefix is free.
	close(fd);
	fd = instance_lock("one", error, sizeof(error));
	assert_true(fd >= 0);
	close(fd);
	// a symbolic link there could be used to truncate any file
	snprintf(path, sizeof(path), "%s/dpdk/one/instance.lock", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("../two/instance.lock", path), 0);
	assert_int_equal(instance_lock("one", error, sizeof(error)), -1);
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/dpdk/%s/instance.lock", dir, i ? "one" : "two");
		assert_int_equal(unlink(path), 0);
		*strrchr(path, '/') = '\0';
		assert_int_equal(rmdir(path), 0);
	}
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deal),
		cmocka_unit_test(test_workers_default),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_no_hugepages),
		cmocka_unit_test(test_more_memory_than_there_is),
		cmocka_unit_test(test_pci),
		cmocka_unit_test(test_bond),
		cmocka_unit_test(test_vtap),
		cmocka_unit_test(test_configured),
		cmocka_unit_test(test_command_line_wins),
		cmocka_unit_test(test_hugepages_free),
		cmocka_unit_test(test_cpus_allowed),
		cmocka_unit_test(test_instance),
		cmocka_unit_test(test_areas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
