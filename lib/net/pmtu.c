// SPDX-License-Identifier: BSD-3-Clause
// The table of path MTUs.
#include "pmtu.h"
#include "invariant.h"

#define WAYS 4

struct pmtu_entry {
	struct pmtu_flow flow;
	uint64_t until_ms; // 0 = free
	uint16_t mtu;
};

// RFC 1191 section 7.1
static const uint16_t plateau[] = {65535, 32000, 17914, 8166, 4352, 2002, 1492, 1006, PMTU_MIN4};

static uint32_t bucket_count(uint32_t entries)
{
	return (entries + WAYS - 1) / WAYS;
}

size_t pmtu_size(uint32_t entries)
{
	return (size_t)bucket_count(entries) * WAYS * sizeof(struct pmtu_entry);
}

void pmtu_init(struct pmtu *t, void *mem, uint32_t entries, const struct hash_key *key)
{
	*t = (struct pmtu){.key = *key, .entry = mem, .nb_buckets = bucket_count(entries)};
}

static struct pmtu_entry *bucket_of(const struct pmtu *t, const struct pmtu_flow *flow)
{
	const uint64_t ours =
		hash_addr(&t->key, &flow->src, (uint32_t)flow->src_port << 16 | flow->dst_port);
	const uint64_t hash = hash_addr(&t->key, &flow->dst, ours) >> 32;

	return &t->entry[(hash * t->nb_buckets >> 32) * WAYS];
}

static bool flow_eq(const struct pmtu_flow *a, const struct pmtu_flow *b)
{
	return addr_eq(&a->dst, &b->dst) && addr_eq(&a->src, &b->src) &&
		a->src_port == b->src_port && a->dst_port == b->dst_port;
}

uint16_t pmtu_find(const struct pmtu *t, const struct pmtu_flow *flow, uint64_t now_ms)
{
	const struct pmtu_entry *b;

	if (!pmtu_any(t, now_ms))
		return PMTU_NONE;
	b = bucket_of(t, flow);
	for (unsigned int i = 0; i < WAYS; i++)
		if (now_ms < b[i].until_ms && flow_eq(&b[i].flow, flow))
			return b[i].mtu;
	return PMTU_NONE;
}

uint16_t pmtu_reported(bool is_v4, uint32_t mtu, uint32_t len)
{
	if (is_v4 && mtu == 0) {
		for (size_t i = 0; i < sizeof(plateau) / sizeof(plateau[0]); i++)
			if (plateau[i] < len)
				return plateau[i];
		return PMTU_NONE;
	}
	if (mtu >= len || mtu >= PMTU_NONE || mtu < (is_v4 ? PMTU_MIN4 : PMTU_MIN6))
		return PMTU_NONE;
	return (uint16_t)mtu;
}

bool pmtu_lower(struct pmtu *t, const struct pmtu_flow *flow, uint16_t mtu, uint64_t now_ms)
{
	struct pmtu_entry *b, *slot;

	if (t->nb_buckets == 0 || mtu >= pmtu_find(t, flow, now_ms))
		return false;
	slot = b = bucket_of(t, flow);
	for (unsigned int i = 0; i < WAYS; i++) {
		if (flow_eq(&b[i].flow, flow)) {
			slot = &b[i];
			break;
		}
		if (b[i].until_ms < slot->until_ms)
			slot = &b[i];
	}
	*slot = (struct pmtu_entry){.flow = *flow, .until_ms = now_ms + PMTU_MS, .mtu = mtu};
	ASSERT(t->until_ms <= slot->until_ms); // time does not go back
	ASSERT(pmtu_find(t, flow, now_ms) == mtu || t->until_ms <= now_ms);
	t->until_ms = slot->until_ms;
	return true;
}
