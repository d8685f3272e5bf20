// SPDX-License-Identifier: BSD-3-Clause
// What each worker has free of relayed transport addresses. The home of a client that has none left
// lets a worker make the allocation that has some (requests/elsewhere.c). Each worker writes its
// own, all read; what is read may have changed since, so whoever gets the request looks again.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define VACANCY_KINDS 3 // enum relay_ports_kind
#define VACANCY_NEVER UINT64_MAX

struct csprng;

// What a worker has of one family.
struct vacancy_family {
	uint32_t nb; // ports that are free, resting ones included
	uint64_t from_ms[VACANCY_KINDS]; // from when on there is one; VACANCY_NEVER: there is none
};

// What a worker has. Zeroed memory says that it has nothing yet.
struct vacancy {
	uint64_t from_ms[2][VACANCY_KINDS]; // [is_v4]
	uint32_t nb[2];
	uint32_t tcp; // ports of relay.tcp.ports
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct vacancy) == 64, "one cache line: each has one writer");

// What is asked for.
struct vacancy_want {
	bool family[2]; // [is_v4]; of two a worker has to have both
	bool is_tcp;
	uint8_t kind; // enum relay_ports_kind
	uint64_t now_ms;
	uint64_t workers; // those that may be chosen, by bit
};

// Tells what this worker has of a family, and of ports for TCP. The worker alone.
void vacancy_tell(struct vacancy *v, bool is_v4, const struct vacancy_family *f);
void vacancy_tell_tcp(struct vacancy *v, uint32_t nb);
// Chooses a worker that has what is wanted, those with more free ports more often: so many homes
// that choose at once do not all choose one. all is by worker. -1 when there is none.
int vacancy_choose(const struct vacancy *all, const struct vacancy_want *want, struct csprng *rng);
