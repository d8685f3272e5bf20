// SPDX-License-Identifier: BSD-3-Clause
// Messages that wait for a client, in a chain. The oldest media is dropped first.
#include <stdlib.h>
#include <string.h>

#include "queue.h"

static uint32_t weight(uint32_t len)
{
	return (uint32_t)sizeof(struct queue_item) + len;
}

// Takes the item behind prev out of the chain (prev NULL: the first item).
static void take_out(struct queue *q, struct queue_item *prev)
{
	struct queue_item **link = prev != NULL ? &prev->next : &q->first;
	struct queue_item *i = *link;

	*link = i->next;
	if (q->last == i)
		q->last = prev;
	q->bytes -= weight(i->len);
	if (!i->media)
		q->kept -= weight(i->len);
	free(i);
}

// Drops the oldest media of which nothing was written or offered. False when there is none.
static bool drop_oldest(struct queue *q)
{
	const uint32_t bound = q->done + q->offered;
	struct queue_item *prev = NULL;
	uint32_t at = 0; // of i, in all bytes

	if (q->kept == q->bytes)
		return false;
	for (struct queue_item *i = q->first; i != NULL; prev = i, i = i->next) {
		const bool bound_to_stay = at < bound;

		at += i->len;
		if (!i->media || bound_to_stay)
			continue;
		take_out(q, prev);
		return true;
	}
	return false;
}

unsigned int queue_put(struct queue *q, uint32_t max, const struct queue_message *m)
{
	const uint32_t more = weight(m->len);
	const bool begun = m->done > 0 || m->offered > 0;
	struct queue_item *i = NULL;
	unsigned int dropped = 0;

	while (!begun && q->bytes + more > max && drop_oldest(q))
		dropped++;
	if (begun || q->bytes + more <= max)
		i = malloc(sizeof(*i) + m->len);
	if (i == NULL)
		return dropped + 1;
	i->next = NULL;
	i->len = m->len;
	i->media = m->media;
	memcpy(i->data, m->data, m->len);
	if (q->first == NULL) {
		q->first = i;
		q->done = m->done;
	} else {
		q->last->next = i;
	}
	q->last = i;
	q->offered += m->offered;
	q->bytes += more;
	if (!m->media)
		q->kept += more;
	return dropped;
}

unsigned int queue_pieces(const struct queue *q, struct iovec *v, unsigned int max, size_t limit)
{
	uint32_t skip = q->done;
	unsigned int n = 0;

	if (q->offered > 0)
		limit = q->offered;
	for (struct queue_item *i = q->first; i != NULL && n < max && limit > 0; i = i->next) {
		const size_t len = i->len - skip;

		v[n].iov_base = i->data + skip;
		v[n].iov_len = len < limit ? len : limit;
		limit -= v[n++].iov_len;
		skip = 0;
	}
	return n;
}

unsigned int queue_wrote(struct queue *q, size_t n)
{
	unsigned int ended = 0;

	q->offered = 0;
	while (n > 0 && q->first != NULL) {
		const size_t left = (size_t)q->first->len - q->done;

		if (n < left) {
			q->done = (uint16_t)(q->done + n);
			break;
		}
		n -= left;
		q->done = 0;
		take_out(q, NULL);
		ended++;
	}
	return ended;
}

void queue_clear(struct queue *q)
{
	while (q->first != NULL)
		take_out(q, NULL);
	*q = (struct queue){0};
}
