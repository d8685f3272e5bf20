// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment abstraction layer: which arguments it gets, its start and its end.
#pragma once

#include <stddef.h>

#include <rte_config.h>

#include "conf.h"

// --- eal_args.c: pure ----------------------------------------------------------------------------

enum eal_memory {
	EAL_MEMORY_HUGE, // anonymous hugepages
	EAL_MEMORY_NORMAL, // --no-huge
	EAL_MEMORY_OPERATOR, // the operator's arguments say
};

struct eal_params {
	const struct conf *conf; // workers resolved
	char *const *extra; // of the command line
	unsigned int nb_extra;
	const unsigned int *cpus; // allowed to this process, ascending
	unsigned int nb_cpus;
	size_t need_mb; // what the data path will ask for
	size_t free_mb; // in hugepages
};

struct eal_args {
	char **argv; // NULL-terminated; the strings are owned
	unsigned int argc;
	enum eal_memory memory;
	const char *file_prefix; // the one in force; points into argv
};

// 0, or -1 when memory ran out.
int eal_args_build(struct eal_args *a, const struct eal_params *p);
void eal_args_free(struct eal_args *a);
// Whether EAL arguments of the operator's say which lcores there are, and eal.lcores does not.
bool eal_args_lcores(char *const *args, unsigned int nb);
// "0@(0-3),1@1,2@2": the management lcore 0 floats over all CPUs, workers 1.. are dealt over them,
// leaving the first to management as long as there are enough. Malloced.
char *eal_lcores_deal(const unsigned int *cpus, unsigned int nb_cpus, unsigned int workers);
// Workers when the configuration names no number. lcores: of eal.lcores, 0 when there is none.
unsigned int eal_workers_default(unsigned int nb_cpus, unsigned int lcores);

// --- eal.c ---------------------------------------------------------------------------------------

struct eal {
	struct eal_args args; // DPDK keeps pointers to its strings
	char **argv; // the copy DPDK has put in another order
	int lock; // file that keeps a second instance with this prefix away
	unsigned int workers[TURN_WORKERS_MAX]; // lcore ids
	char memory[128]; // for the log
};

// CPUs this process may run on that DPDK can name; returns how many.
unsigned int eal_cpus_allowed(unsigned int cpus[RTE_MAX_LCORE]);
// Free megabytes of all page sizes under dir (/sys/kernel/mm/hugepages).
size_t eal_hugepages_free_mb(const char *dir);
// Starts EAL with a lcore for each worker of conf. 0, or -1 with a reason in error. Once a process.
int eal_start(struct eal *e, const struct eal_params *p, char *error, size_t len);
void eal_stop(struct eal *e);

// --- instance.c ----------------------------------------------------------------------------------

// Takes the lock of a file prefix: returns its descriptor, or -1 with a reason in error. The kernel
// releases it when the process ends, however it ends.
int instance_lock(const char *file_prefix, char *error, size_t len);
