// SPDX-License-Identifier: BSD-3-Clause
// The free relayed transport addresses of each worker. If the home of a client has no free address,
// it lets a worker with free ones make the allocation (requests/elsewhere.c). Each worker writes
// its own entry, all workers read it; the entry may be out of date, so the chosen worker checks
// again.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define VACANCY_KINDS 3 // enum relay_ports_kind
#define VACANCY_NEVER UINT64_MAX

struct csprng;

// Free addresses of a worker in one family.
struct vacancy_family {
	uint32_t nb; // free ports, including resting ones
	uint64_t from_ms[VACANCY_KINDS]; // time from which one is available; VACANCY_NEVER: none is
};

// A worker's entry. Zeroed memory means that it has no ports yet.
struct vacancy {
	uint64_t from_ms[2][VACANCY_KINDS]; // [is_v4]
	uint32_t nb[2];
	uint32_t tcp; // free ports of relay.tcp.ports (features/tcp/tcp_table.c)
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct vacancy) == 64, "one cache line per writer");

// The wanted ports.
struct vacancy_want {
	bool family[2]; // [is_v4]; if both are set, a worker must have both
	bool is_tcp;
	uint8_t kind; // enum relay_ports_kind
	uint64_t now_ms;
	uint64_t workers; // bit mask of the workers that may be chosen
};

// Publishes the free ports of this worker in a family. Only the worker itself calls it.
void vacancy_tell(struct vacancy *v, bool is_v4, const struct vacancy_family *f);
// Chooses a worker that has the wanted ports, with a probability proportional to its free ports: so
// homes that choose at the same time choose different workers. all is by worker. -1 if there is no
// such worker.
int vacancy_choose(const struct vacancy *all, const struct vacancy_want *want, struct csprng *rng);
