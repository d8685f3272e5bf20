// SPDX-License-Identifier: BSD-3-Clause
// Decides when a stream thread naps, and for how long (nap.h).
#include "nap.h"
#include "invariant.h"

void nap_init(struct nap *n)
{
	*n = (struct nap){.us = NAP_MAX_US, .cost.ns = NAP_MAX_US * 1000 / NAP_WORTH};
}

static uint32_t nap_length(const struct nap *n, uint32_t told_us)
{
	const uint64_t worth = n->cost.ns * NAP_WORTH / 1000;
	const uint32_t us = worth < NAP_MIN_US ? NAP_MIN_US
		: worth > NAP_MAX_US           ? NAP_MAX_US
					       : (uint32_t)worth;

	return us > told_us ? us : told_us;
}

bool nap_see(struct nap *n, uint64_t now_ms, uint32_t messages, uint32_t told_us)
{
	n->seen += messages;
	if (now_ms == n->since_ms)
		return false;
	n->us = nap_length(n, told_us);
	// seen / elapsed >= GATHERS / us, in whole numbers
	n->on = (uint64_t)n->seen * n->us >= NAP_GATHERS * 100 * (now_ms - n->since_ms);
	ASSERT(n->us >= NAP_MIN_US && now_ms > n->since_ms);
	n->seen = 0;
	n->since_ms = now_ms;
	return true;
}
