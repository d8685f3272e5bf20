// SPDX-License-Identifier: BSD-3-Clause
// Finds the CPUs and hugepages for EAL, starts EAL and ends it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "eal.h"
#include "log/log.h"

unsigned int eal_cpus_allowed(unsigned int cpus[RTE_MAX_LCORE])
{
	unsigned int n = 0;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0) {
		for (unsigned int i = 0; i < RTE_MAX_LCORE; i++)
			if (CPU_ISSET(i, &set))
				cpus[n++] = i;
	}
	if (n == 0)
		cpus[n++] = 0;
	return n;
}

static size_t pages_free(const char *dir, const char *size)
{
	char path[PATH_MAX];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/free_hugepages", dir, size);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%zu", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

size_t eal_hugepages_free_mb(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t kb = 0, size;

	if (d == NULL)
		return 0;
	while ((e = readdir(d)) != NULL) {
		if (sscanf(e->d_name, "hugepages-%zukB", &size) == 1)
			kb += size * pages_free(dir, e->d_name);
	}
	closedir(d);
	return kb / 1024;
}

size_t eal_memory_mb(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? ((size_t)pages * (size_t)size) >> 20 : SIZE_MAX;
}

// Normal pages are allocated one by one, until the machine has no memory for other processes.
static bool has_room(const struct eal *e, const struct eal_params *p, char *error, size_t len)
{
	if (e->args.memory != EAL_MEMORY_NORMAL || p->normal_mb <= p->all_mb)
		return true;
	snprintf(error, len,
		"%zu MB are needed, and this machine has %zu MB: lower limits.allocations, "
		"workers.count, see `slipring --show-needs`",
		p->normal_mb, p->all_mb);
	return false;
}

static void tell_memory(struct eal *e, const struct eal_params *p)
{
	switch (e->args.memory) {
	case EAL_MEMORY_HUGE:
		snprintf(e->memory, sizeof(e->memory), "hugepages, %zu MB needed of %zu MB free",
			p->need_mb, p->free_mb);
		break;
	case EAL_MEMORY_NORMAL:
		snprintf(e->memory, sizeof(e->memory), "normal pages, %zu MB", p->normal_mb);
		LOG(START, WARNING,
			"%zu MB needed but %zu MB free in hugepages: normal pages are used, which "
			"is slower (sysctl vm.nr_hugepages=%zu helps)",
			p->need_mb, p->free_mb, p->need_mb / 2 + 1);
		break;
	case EAL_MEMORY_OPERATOR:
		snprintf(e->memory, sizeof(e->memory), "as the EAL arguments say");
		break;
	}
}

// Takes the first worker lcores that EAL has, whether the configuration or the operator chose them.
static int take_lcores(struct eal *e, const struct conf *c, char *error, size_t len)
{
	unsigned int lcore, n = 0;

	RTE_LCORE_FOREACH_WORKER (lcore) {
		if (n == c->workers)
			break;
		e->workers[n++] = lcore;
	}
	if (n == c->workers)
		return 0;
	snprintf(error, len,
		"%u workers need as many lcores besides the main lcore, EAL has %u: name more in "
		"eal.lcores, or lower workers.count",
		c->workers, n);
	return -1;
}

static bool asks_for_help(const struct eal_args *a)
{
	for (unsigned int i = 1; i < a->argc; i++)
		if (strcmp(a->argv[i], "--help") == 0 || strcmp(a->argv[i], "-h") == 0 ||
			strcmp(a->argv[i], "-v") == 0 || strcmp(a->argv[i], "--version") == 0)
			return true;
	return false;
}

// EAL reacts to an unknown argument with its whole help, a hundred lines, on standard output, and
// the reason is lost among them. The reason goes to standard error.
static int init_quietly(struct eal *e)
{
	const int none = asks_for_help(&e->args) ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
	const int out = none >= 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
	int rc;

	if (out >= 0) {
		fflush(stdout);
		dup2(none, STDOUT_FILENO);
	}
	rc = rte_eal_init((int)e->args.argc, e->argv);
	if (out >= 0) {
		fflush(stdout);
		dup2(out, STDOUT_FILENO);
		close(out);
	}
	if (none >= 0)
		close(none);
	return rc;
}

// Starts EAL with a copy of the vector, because EAL sorts it and writes into it.
static int init_eal(struct eal *e, char *error, size_t len)
{
	const struct eal_args *a = &e->args;

	for (unsigned int i = 1; i < a->argc; i++)
		LOG(START, DEBUG, "EAL argument %u: %s", i, a->argv[i]);
	e->argv = malloc((a->argc + 1) * sizeof(*e->argv));
	if (e->argv == NULL) {
		snprintf(error, len, "out of memory");
		return -1;
	}
	memcpy(e->argv, a->argv, (a->argc + 1) * sizeof(*e->argv));
	if (init_quietly(e) < 0) {
		snprintf(error, len, "DPDK does not start: %s (see its messages above)",
			rte_strerror(rte_errno));
		return -1;
	}
	return 0;
}

static void release_eal(struct eal *e)
{
	if (e->lock >= 0)
		close(e->lock);
	free(e->argv);
	eal_args_free(&e->args);
}

int eal_start(struct eal *e, const struct eal_params *p, char *error, size_t len)
{
	*e = (struct eal){.lock = -1};
	if (eal_args_build(&e->args, p) != 0) {
		snprintf(error, len, "out of memory");
		return -1;
	}
	if (!has_room(e, p, error, len) ||
		(e->lock = instance_lock(e->args.file_prefix, error, len)) < 0) {
		release_eal(e);
		return -1;
	}
	tell_memory(e, p);
	if (init_eal(e, error, len) != 0) {
		release_eal(e);
		return -1;
	}
	if (take_lcores(e, p->conf, error, len) != 0) {
		eal_stop(e);
		return -1;
	}
	return 0;
}

void eal_stop(struct eal *e)
{
	rte_eal_cleanup();
	release_eal(e);
}
