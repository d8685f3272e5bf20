// SPDX-License-Identifier: BSD-3-Clause
// Records are contiguous. A record that does not fit before the end of the memory begins at its
// start, and the rest at the end is skipped.
#include "capture/capture_ring.h"

#include <stddef.h>

#define SKIPPED UINT32_MAX

struct head {
	uint32_t len; // length of the record; SKIPPED: there is no record
	uint32_t step; // bytes to the next head, a multiple of 8
};
_Static_assert(sizeof(struct head) == 8, "the record after it is aligned");

static uint32_t step_of(uint32_t len)
{
	return ((len + 7) & ~UINT32_C(7)) + (uint32_t)sizeof(struct head);
}

static struct head *head_at(const struct capture_ring *r, uint64_t pos)
{
	return (struct head *)(void *)(r->mem + (pos & (r->size - 1)));
}

void capture_ring_init(struct capture_ring *r, void *mem, uint32_t size)
{
	*r = (struct capture_ring){.mem = mem, .size = size};
}

void *capture_ring_room(struct capture_ring *r, uint32_t len)
{
	const uint32_t left = r->size - (uint32_t)(r->tail & (r->size - 1));
	const uint64_t used = r->tail - __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
	const uint64_t need = (uint64_t)step_of(len);

	if (len > r->size / 4 || r->size - used < need + (need > left ? left : 0))
		return NULL;
	if (need > left) {
		*head_at(r, r->tail) = (struct head){SKIPPED, left};
		__atomic_store_n(&r->tail, r->tail + left, __ATOMIC_RELEASE);
	}
	return head_at(r, r->tail) + 1;
}

void capture_ring_put(struct capture_ring *r, uint32_t len)
{
	*head_at(r, r->tail) = (struct head){len, step_of(len)};
	__atomic_store_n(&r->tail, r->tail + step_of(len), __ATOMIC_RELEASE);
}

const void *capture_ring_first(struct capture_ring *r, uint32_t *len)
{
	while (r->head != __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE)) {
		const struct head *h = head_at(r, r->head);

		*len = h->len;
		if (h->len != SKIPPED)
			return h + 1;
		capture_ring_drop(r);
	}
	return NULL;
}

void capture_ring_drop(struct capture_ring *r)
{
	__atomic_store_n(&r->head, r->head + head_at(r, r->head)->step, __ATOMIC_RELEASE);
}
