// SPDX-License-Identifier: BSD-3-Clause
// EAL's arguments: those given by the user, or a set that works on most machines.
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_common.h>
#include <rte_errno.h>

#include "eal.h"
#include "options/config.h"

#define ARGS_MAX 16
#define NEED_MB 512 // memory without hugepages; with hugepages EAL takes as much as it needs

// EAL keeps pointers to its arguments.
static char *chosen[ARGS_MAX + 1];
static int nb_chosen;

__attribute__((format(printf, 1, 2))) static void add_arg(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (nb_chosen < ARGS_MAX && vasprintf(&chosen[nb_chosen], fmt, ap) >= 0)
		nb_chosen++;
	va_end(ap);
}

static size_t hugepages_free_mb(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "re");
	size_t n = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%zu", &n) != 1)
		n = 0;
	fclose(f);
	return n * 2;
}

// The main lcore may run on any CPU. The lanes get the last CPUs; the first is left to other work.
static void choose_lcores(void)
{
	char all[1024] = "", lanes[2048] = "";
	unsigned int cpu[CPU_SETSIZE], n = 0;
	size_t a = 0, l = 0;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return;
	for (unsigned int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	for (unsigned int i = 0; i < n && i < CONFIG_LANES_MAX && a < sizeof(all) - 8; i++)
		a += (size_t)snprintf(all + a, sizeof(all) - a, "%s%u", i > 0 ? "," : "", cpu[i]);
	for (unsigned int i = 0; i + 1 < RTE_MAX(n, 2u) && i < CONFIG_LANES_MAX; i++)
		l += (size_t)snprintf(
			lanes + l, sizeof(lanes) - l, ",%u@%u", i + 1, cpu[n - 1 - i]);
	add_arg("--lcores=0@(%s)%s", all, lanes);
}

// EAL does not delete its runtime directory. Each run has a new prefix, so the directories would
// pile up.
static void remove_runtime_dir(void)
{
	rmdir(rte_eal_get_runtime_dir());
}

static void choose_all(const char *program)
{
	atexit(remove_runtime_dir); // registered before EAL's handler, so it runs after that one
	add_arg("%s", program);
	add_arg("--no-pci");
	add_arg("--iova-mode=va");
	add_arg("--file-prefix=loadgen-%d", (int)getpid());
	add_arg("--log-level=lib.telemetry:error");
	add_arg("--log-level=*:warning");
	choose_lcores();
	if (hugepages_free_mb() >= NEED_MB) {
		add_arg("--in-memory");
		add_arg("--single-file-segments");
	} else {
		add_arg("--no-huge");
		add_arg("--no-shconf");
		add_arg("-m");
		add_arg("%u", NEED_MB);
	}
}

int eal_separator(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return 0;
}

int eal_begin(int argc, char **argv, char *error, size_t len)
{
	const int separator = eal_separator(argc, argv);
	static char **eal; // EAL keeps pointers into it
	int n;

	eal = calloc((size_t)argc + ARGS_MAX + 1, sizeof(*eal));
	if (eal == NULL) {
		snprintf(error, len, "out of memory");
		return -1;
	}
	if (separator > 1) {
		n = separator;
		memcpy(eal, argv, (size_t)n * sizeof(*eal));
	} else {
		choose_all(argv[0]);
		n = nb_chosen;
		memcpy(eal, chosen, (size_t)n * sizeof(*eal));
	}
	if (rte_eal_init(n, eal) < 0) {
		snprintf(error, len, "DPDK does not start: %s (its messages are above)",
			rte_strerror(rte_errno));
		return -1;
	}
	return 0;
}

void eal_end(void)
{
	rte_eal_cleanup();
}
