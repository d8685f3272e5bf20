// SPDX-License-Identifier: BSD-3-Clause
// Waits until an assigned address is stable. Adopting each change at once would end the calls on
// the other address every time.
#include "link/addr_settled.h"

static bool same_wanted(const struct addr_wanted *a, const struct addr_wanted *b)
{
	return addr_eq(&a->addr, &b->addr) && addr_eq(&a->router, &b->router) &&
		a->prefix_len == b->prefix_len;
}

bool addr_settled_look(struct addr_settled *s, const struct addr_wanted *wanted, uint64_t now_ms)
{
	if (wanted == NULL) {
		s->since_ms = 0;
		return false;
	}
	if (s->since_ms == 0 || !same_wanted(&s->wanted, wanted)) {
		s->wanted = *wanted;
		s->since_ms = now_ms;
	}
	return now_ms - s->since_ms >= ADDR_SETTLE_MS && now_ms >= s->next_ms;
}

void addr_settled_tried(struct addr_settled *s, uint64_t now_ms)
{
	s->since_ms = 0;
	s->next_ms = now_ms + ADDR_HOLD_MS;
}
