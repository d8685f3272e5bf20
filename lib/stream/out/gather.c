// SPDX-License-Identifier: BSD-3-Clause
// Chains of messages, one for each connection (gather.h).
#include "gather.h"
#include "invariant.h"

void gather_add(struct gather *g, unsigned int i, uint16_t *last)
{
	ASSERT(g->nb <= i && *last <= i);
	if (*last == 0)
		g->first[g->nb++] = (uint16_t)i;
	else
		g->next[*last - 1] = (uint16_t)i;
	g->next[i] = GATHER_END;
	*last = (uint16_t)(i + 1);
}

unsigned int gather_pieces(const struct gather *g, struct gather_at pos, struct iovec *v)
{
	size_t bytes = 0;
	unsigned int n = 0;

	for (; pos.i != GATHER_END && n < GATHER_PIECES; pos.i = g->next[pos.i]) {
		const struct stream_message *m = &g->m[pos.i];
		const size_t left = (size_t)m->len - pos.done;

		bytes += left;
		if (n > 0 && bytes > GATHER_BYTES)
			break;
		v[n++] = (struct iovec){m->data + pos.done, left};
		pos.done = 0;
	}
	return n;
}

unsigned int gather_wrote(const struct gather *g, struct gather_at *pos, size_t n)
{
	unsigned int ended = 0;

	while (n > 0 && pos->i != GATHER_END) {
		const size_t left = (size_t)g->m[pos->i].len - pos->done;

		if (n < left) {
			pos->done = (uint16_t)(pos->done + n);
			break;
		}
		n -= left;
		*pos = (struct gather_at){.i = g->next[pos->i]};
		ended++;
	}
	return ended;
}
