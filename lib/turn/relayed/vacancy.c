// SPDX-License-Identifier: BSD-3-Clause
// A board on which workers publish their free relay ports.
#include "relayed/vacancy.h"
#include "csprng.h"

void vacancy_tell(struct vacancy *v, bool is_v4, const struct vacancy_family *f)
{
	for (unsigned int kind = 0; kind < VACANCY_KINDS; kind++)
		__atomic_store_n(&v->from_ms[is_v4][kind], f->from_ms[kind], __ATOMIC_RELAXED);
	__atomic_store_n(&v->nb[is_v4], f->nb, __ATOMIC_RELAXED);
}

#define MANY (1u << 24) // ports of 64 workers add up to 32 bits

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

// Number of wanted ports that a worker has; 0 also if none can be allocated yet.
static uint32_t room_of(const struct vacancy *v, const struct vacancy_want *want)
{
	uint32_t room = MANY;

	for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++) {
		const uint64_t *from_ms = &v->from_ms[is_v4][want->kind];

		if (!want->family[is_v4])
			continue;
		if (__atomic_load_n(from_ms, __ATOMIC_RELAXED) > want->now_ms)
			return 0;
		room = min_u32(room, __atomic_load_n(&v->nb[is_v4], __ATOMIC_RELAXED));
	}
	return want->is_tcp ? min_u32(room, __atomic_load_n(&v->tcp, __ATOMIC_RELAXED)) : room;
}

int vacancy_choose(const struct vacancy *all, const struct vacancy_want *want, struct csprng *rng)
{
	uint32_t room[64], sum = 0, nth;
	unsigned int w;

	for (w = 0; w < 64; w++) {
		room[w] = (want->workers >> w & 1) != 0 ? room_of(&all[w], want) : 0;
		sum += room[w];
	}
	if (sum == 0)
		return -1;
	nth = csprng_below(rng, sum);
	for (w = 0; nth >= room[w]; w++)
		nth -= room[w];
	return (int)w;
}
