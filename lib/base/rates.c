// SPDX-License-Identifier: BSD-3-Clause
// Keeps one time for each place: when all events there so far are paid for.
#include "rates.h"

#define SECOND_NS UINT64_C(1000000000)
#define MS_NS UINT64_C(1000000)
#define NETWORK 100

void rates_set(struct rates *r, uint32_t rate, uint32_t burst)
{
	r->gap_ns = rate > 0 ? SECOND_NS / rate : 0;
	if (rate > 0 && r->gap_ns == 0)
		r->gap_ns = 1;
	r->most_ns = (burst > 0 ? burst - 1 : 0) * r->gap_ns;
}

void rates_init(struct rates *r, void *mem, uint32_t places, uint32_t rate, uint32_t burst)
{
	rates_set(r, rate, burst);
	r->network = NETWORK;
	r->mask = places - 1;
	r->due_ns = mem;
}

// The place of a source, or of a network, which owes nothing from the past.
static uint64_t *place(struct rates *r, const struct addr *a, bool network, uint64_t now_ns)
{
	uint64_t *due = &r->due_ns[hash_addr(&r->key, a, network) & r->mask];

	if (*due < now_ns)
		*due = now_ns;
	return due;
}

bool rates_take(struct rates *r, const struct addr *source, uint64_t now_ms)
{
	const uint64_t now_ns = now_ms * MS_NS, gap_ns = (r->gap_ns + r->network - 1) / r->network;
	uint64_t *due, *network = NULL;
	struct addr a = addr_source(source);

	if (r->gap_ns == 0)
		return true;
	due = place(r, &a, false, now_ns);
	if (*due - now_ns > r->most_ns)
		return false;
	if (!addr_is_v4(source)) {
		a = addr_network(source);
		network = place(r, &a, true, now_ns);
		if (*network - now_ns > r->most_ns + r->gap_ns - gap_ns)
			return false;
		*network += gap_ns;
	}
	*due += r->gap_ns;
	return true;
}
