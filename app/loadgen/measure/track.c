// SPDX-License-Identifier: BSD-3-Clause
// The arrivals of one flow, kept in a sliding window of bits.
#include <stdbool.h>
#include <string.h>

#include "measure/track.h"

// Marks a number; returns true if it was marked before.
static inline bool mark_seq(struct track *t, uint32_t seq)
{
	uint64_t *word = &t->seen[seq / 64 % (TRACK_WINDOW / 64)];
	const uint64_t bit = 1ull << seq % 64;
	const bool before = (*word & bit) != 0;

	*word |= bit;
	return before;
}

// Moves the window so that it ends before seq. Clears the bits of old numbers for the new ones.
static void move_window(struct track *t, uint32_t seq)
{
	if (seq - t->next >= TRACK_WINDOW) {
		memset(t->seen, 0, sizeof(t->seen));
		return;
	}
	for (uint32_t n = t->next; n != seq; n++)
		t->seen[n / 64 % (TRACK_WINDOW / 64)] &= ~(1ull << n % 64);
}

enum track_result track_add(struct track *t, uint32_t seq)
{
	const int32_t ahead = (int32_t)(seq - t->next); // signed, so that numbers may wrap

	if (ahead >= 0) {
		if (ahead > 0)
			move_window(t, seq);
		mark_seq(t, seq);
		t->next = seq + 1;
		t->unique++;
		return TRACK_IN_ORDER;
	}
	if (ahead < -TRACK_WINDOW) {
		t->unique++;
		return TRACK_LATE;
	}
	if (mark_seq(t, seq))
		return TRACK_DUPLICATE;
	t->unique++;
	return TRACK_REORDERED;
}
