// SPDX-License-Identifier: BSD-3-Clause
#include "exception/exception.h"

#define SECOND UINT64_C(1000000000)
#define BURSTS 50 // a second: at once may pass what belongs to 20 ms
#define BURST_MIN 64

void exception_meter_init(struct exception_meter *m, uint32_t rate, uint64_t now_ns)
{
	const uint32_t burst = RTE_MAX(rate / BURSTS, (uint32_t)BURST_MIN);

	*m = (struct exception_meter){
		.rate = rate, .burst = burst, .tokens = burst, .filled_ns = now_ns};
}

uint32_t exception_meter_see(struct exception_meter *m, uint64_t now_ns)
{
	const uint64_t passed = now_ns - m->filled_ns;
	uint64_t gained;

	// a longer pause fills it anyhow, whatever is owed: a burst is a second's at the most
	if (passed >= 100 * SECOND) {
		m->tokens = m->burst;
		m->filled_ns = now_ns;
		return m->burst;
	}
	gained = passed * m->rate / SECOND;
	if (gained > 0) {
		m->tokens = RTE_MIN((int64_t)m->burst, m->tokens + (int64_t)gained);
		// what is left of the time counts on
		m->filled_ns += (gained * SECOND + m->rate - 1) / m->rate;
	}
	return m->tokens > 0 ? (uint32_t)m->tokens : 0;
}
