// SPDX-License-Identifier: BSD-3-Clause
// Takes tokens of sources and networks.
#include "rates/limiter.h"
#include "invariant.h"

void limiter_init(struct limiter *l, void *mem, uint32_t sources, uint32_t networks)
{
	ASSERT(sources > 0 && (sources & (sources - 1)) == 0);
	ASSERT((networks & (networks - 1)) == 0);
	l->bucket = mem;
	l->mask = sources - 1;
	l->networks = networks > 0 ? sources : 0;
	l->network_mask = networks > 0 ? networks - 1 : sources - 1;
	l->parts = l->times = 1;
}

bool limiter_take(
	struct limiter *l, const struct limit *each, const struct addr *source, uint64_t now_ms)
{
	const struct limit of_source = limit_part(each, l->parts),
			   times = limit_times(each, l->times);
	const struct limit of_network = limit_part(&times, l->parts);
	const uint64_t now_ns = now_ms * BUCKET_MS;
	struct bucket *network = NULL;

	ASSERT(l->parts > 0 && l->network_mask < (l->networks > 0 ? UINT32_MAX : l->mask + 1));
	if (!addr_is_v4(source)) {
		network = limiter_network(l, source);
		if (bucket_see(network, &of_network, now_ns) == 0)
			return false;
	}
	if (!bucket_take(limiter_source(l, source), &of_source, now_ns))
		return false;
	if (network != NULL)
		bucket_take(network, &of_network, now_ns);
	return true;
}
