// SPDX-License-Identifier: BSD-3-Clause
// Writes and verifies the stamp of a measured datagram.
#include "measure/stamp.h"

#include "bytes.h"
#include "measure/crc32c.h"

#define CHECKED_WORDS 3 // words of 8 bytes before the check, which covers them
#define CHECK_OFFSET (CHECKED_WORDS * 8)
#define DISTINCT 64 // distance in bytes within which all pattern bytes differ

_Static_assert(CHECK_OFFSET + 4 == STAMP_LEN, "the check ends the stamp");

static uint8_t pattern[STAMP_PAYLOAD_MAX] __attribute__((aligned(64)));

static bool is_recent(uint8_t byte, size_t pos)
{
	for (size_t i = pos < DISTINCT ? 0 : pos - DISTINCT; i < pos; i++)
		if (pattern[i] == byte)
			return true;
	return false;
}

void stamp_init(void)
{
	uint64_t x = 1;

	for (size_t i = 0; i < STAMP_PAYLOAD_MAX; i++) {
		do
			x = x * 6364136223846793005 + 1442695040888963407;
		while (is_recent((uint8_t)(x >> 56), i));
		pattern[i] = (uint8_t)(x >> 56);
	}
}

const uint8_t *stamp_pattern(void)
{
	return pattern;
}

// Adds the 16-bit words of v: two in the upper 32 bits, two in the lower.
static inline uint64_t pair_sums(uint64_t v)
{
	const uint64_t low = 0x0000ffff0000ffff;

	return (v & low) + (v >> 16 & low);
}

uint32_t stamp_write(uint8_t *payload, const struct stamp *s)
{
	const uint64_t tag_flow = (uint64_t)s->tag << 32 | s->flow;
	const uint64_t which =
		(uint64_t)s->seq << 32 | (uint32_t)s->len << 16 | (uint32_t)s->dir << 8 | s->epoch;
	uint64_t sums;
	uint32_t check;

	store_be64(payload, tag_flow);
	store_be64(payload + 8, which);
	store_be64(payload + 16, s->ticks);
	check = crc32c_words(payload, CHECKED_WORDS);
	store_be32(payload + CHECK_OFFSET, check);
	sums = pair_sums(tag_flow) + pair_sums(which) + pair_sums(s->ticks) + pair_sums(check);
	return (uint32_t)(sums >> 32) + (uint32_t)sums;
}

enum stamp_verdict stamp_read(const uint8_t *payload, size_t len, struct stamp *s)
{
	uint64_t tag_flow, which;

	if (len < STAMP_LEN || len > STAMP_PAYLOAD_MAX ||
		load_be32(payload + CHECK_OFFSET) != crc32c_words(payload, CHECKED_WORDS))
		return STAMP_CORRUPT;
	tag_flow = load_be64(payload);
	which = load_be64(payload + 8);
	*s = (struct stamp){
		.tag = (uint32_t)(tag_flow >> 32),
		.flow = (uint32_t)tag_flow,
		.seq = (uint32_t)(which >> 32),
		.len = (uint16_t)(which >> 16),
		.dir = (uint8_t)(which >> 8),
		.epoch = (uint8_t)which,
		.ticks = load_be64(payload + 16),
	};
	if (s->len != len || memcmp(payload + STAMP_LEN, pattern + STAMP_LEN, len - STAMP_LEN) != 0)
		return STAMP_CORRUPT;
	return STAMP_OK;
}
