// SPDX-License-Identifier: BSD-3-Clause
// Keeps one time for each place: when all events there so far are paid for.
#include "rates.h"

#define SECOND_NS UINT64_C(1000000000)
#define MS_NS UINT64_C(1000000)

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
	r->mask = places - 1;
	r->due_ns = mem;
}

bool rates_take(struct rates *r, const struct addr *source, uint64_t now_ms)
{
	const uint64_t now_ns = now_ms * MS_NS;
	struct addr a = *source;
	uint64_t *due;

	if (r->gap_ns == 0)
		return true;
	if (!addr_is_v4(&a)) // an IPv6 host can use its whole /64
		a.d[1] = 0;
	due = &r->due_ns[hash_addr(&r->key, &a, 0) & r->mask];
	if (*due < now_ns)
		*due = now_ns;
	if (*due - now_ns > r->most_ns)
		return false;
	*due += r->gap_ns;
	return true;
}
