// SPDX-License-Identifier: BSD-3-Clause
// Requests of a worker that wait for an answer about their user. A client has at most one of them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "features/lookup/lookup_rings.h"
#include "turn.h"

struct rte_mbuf;

// A request that waits; its view is in the private area of the packet.
struct parked {
	struct rte_mbuf *m;
	uint64_t hash; // of its client
	uint16_t next; // of the requests with this question, that are ready, or that are free
	uint16_t next_client; // with the same bucket
};

struct parking {
	struct lookup_rings rings;
	struct parked *parked;
	uint16_t *by_question; // first request, by the place of its question
	uint16_t *by_client; // first request, by bucket of the client
	uint32_t nb_buckets; // a power of two
	uint16_t free, ready, last_ready;
	uint32_t nb, nb_ready;
};

size_t parking_size(const struct conf *c, const struct turn_relay_map *map);
int parking_make(struct worker *w);
void parking_close(struct dp *d);
// Keeps a packet until the question at a place is answered, or drops it. Consumes the packet.
void parking_put(struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t place);
// Takes answers, and fills w->burst with requests that need not wait any longer. Returns their
// number. Call it once per round.
unsigned int parking_take(struct worker *w);
// parking_take() where lookup may be off.
#define PARKING_FILL(w) (likely((w)->parking == NULL) ? 0 : parking_take(w))
// Number of requests that wait.
#define PARKING_HELD(w) ((w)->parking == NULL ? 0 : (w)->parking->nb)
// Drops all requests, after the worker has stopped.
void parking_drain(struct worker *w);
