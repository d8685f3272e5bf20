// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment abstraction layer: its arguments, its start and its end.
#pragma once

#include <stddef.h>

#include <rte_config.h>

#include "conf.h"

// --- eal_args.c: pure ----------------------------------------------------------------------------

enum eal_memory {
	EAL_MEMORY_HUGE, // anonymous hugepages
	EAL_MEMORY_NORMAL, // --no-huge
	EAL_MEMORY_OPERATOR, // the operator's arguments decide
};

struct eal_params {
	const struct conf *conf; // workers is resolved
	char *const *extra; // EAL arguments of the command line
	unsigned int nb_extra;
	const unsigned int *cpus; // CPUs that this process may use, ascending
	unsigned int nb_cpus;
	size_t need_mb; // megabytes of hugepages that the data path will need
	size_t normal_mb; // megabytes of normal pages that it will need instead
	size_t free_mb; // free megabytes of hugepages
	size_t all_mb; // megabytes of the machine
};

struct eal_args {
	char **argv; // NULL-terminated; owns its strings
	unsigned int argc;
	enum eal_memory memory;
	const char *file_prefix; // the prefix in force; points into argv
};

// Builds EAL's arguments; eal_args_free frees them. 0, or -1 without memory.
int eal_args_build(struct eal_args *a, const struct eal_params *p);
void eal_args_free(struct eal_args *a);
// True if the operator's EAL arguments name the lcores, so that eal.lcores has no effect.
bool eal_args_lcores(char *const *args, unsigned int nb);
// Distributes lcores over CPUs, as "0@(0-3),1@1,2@2". The management lcore 0 may run on all CPUs.
// Workers 1.. get one CPU each; the first CPU is left to management if there are enough. Returns a
// malloced text.
char *eal_lcores_deal(const unsigned int *cpus, unsigned int nb_cpus, unsigned int workers);
// The default number of workers. lcores: the number of lcores in eal.lcores, 0 without that key.
unsigned int eal_workers_default(unsigned int nb_cpus, unsigned int lcores);

// --- eal.c ---------------------------------------------------------------------------------------

struct eal {
	struct eal_args args; // DPDK keeps pointers to its strings
	char **argv; // the copy that DPDK has reordered
	int lock; // descriptor of the lock that excludes a second instance with this prefix
	unsigned int workers[TURN_WORKERS_MAX]; // lcore ids
	char memory[128]; // how EAL got its memory, for the log
};

// Lists the CPUs that this process may run on and DPDK can name; returns how many.
unsigned int eal_cpus_allowed(unsigned int cpus[RTE_MAX_LCORE]);
// Free megabytes in hugepages of all sizes under dir (/sys/kernel/mm/hugepages).
size_t eal_hugepages_free_mb(const char *dir);
// Total megabytes of memory of the machine.
size_t eal_memory_mb(void);
// Starts EAL with an lcore for each worker of conf. 0, or -1 with a reason in error. Call it once
// per process.
int eal_start(struct eal *e, const struct eal_params *p, char *error, size_t len);
void eal_stop(struct eal *e);

// --- instance.c ----------------------------------------------------------------------------------

// Takes the lock of a file prefix. Returns its descriptor, or -1 with a reason in error. The kernel
// releases the lock when the process ends, however it ends.
int instance_lock(const char *file_prefix, char *error, size_t len);
