// SPDX-License-Identifier: BSD-3-Clause
// Messages that wait for a client, in a chain. The oldest media is dropped first.
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "invariant.h"

static uint32_t item_weight(uint32_t len)
{
	return (uint32_t)sizeof(struct queue_item) + len;
}

// True if what a queue says of its items agrees.
static inline bool queue_agrees(const struct queue *q)
{
	if (q->first == NULL)
		return q->last == NULL && q->bytes == 0 && q->kept == 0;
	return q->last != NULL && q->last->next == NULL && q->kept <= q->bytes &&
		q->done < q->first->len;
}

// Removes the item after prev from the chain (prev NULL: the first item).
static void take_out(struct queue *q, struct queue_item *prev)
{
	struct queue_item **link = prev != NULL ? &prev->next : &q->first;
	struct queue_item *i = *link;

	ASSERT(q->bytes >= item_weight(i->len) && (i->media || q->kept >= item_weight(i->len)));
	*link = i->next;
	if (q->last == i)
		q->last = prev;
	q->bytes -= item_weight(i->len);
	if (!i->media)
		q->kept -= item_weight(i->len);
	free(i);
}

// Drops the oldest media item that was not partly written or offered. False if there is no such
// item.
static bool drop_oldest(struct queue *q)
{
	const bool begun = q->done > 0 || q->offered;
	struct queue_item *prev = NULL;

	if (q->kept == q->bytes)
		return false;
	for (struct queue_item *i = q->first; i != NULL; prev = i, i = i->next) {
		if (!i->media || (i == q->first && begun))
			continue;
		take_out(q, prev);
		return true;
	}
	return false;
}

unsigned int queue_put(struct queue *q, uint32_t max, const struct queue_message *m)
{
	const uint32_t more = item_weight(m->len);
	const bool begun = m->done > 0 || m->offered;
	struct queue_item *i = NULL;
	unsigned int dropped = 0;

	ASSERT(!begun || q->first == NULL); // the rest of a message goes first
	ASSERT(queue_agrees(q));
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
		q->offered = m->offered;
	} else {
		q->last->next = i;
	}
	q->last = i;
	q->bytes += more;
	if (!m->media)
		q->kept += more;
	ASSERT(queue_agrees(q));
	return dropped;
}

unsigned int queue_pieces(const struct queue *q, struct iovec *v, unsigned int max, size_t limit)
{
	uint32_t skip = q->done;
	unsigned int n = 0;

	if (q->offered && max > 1)
		max = 1;
	for (struct queue_item *i = q->first; i != NULL && n < max; i = i->next) {
		const size_t len = i->len - skip;

		if (n > 0 && len > limit)
			break;
		v[n++] = (struct iovec){i->data + skip, len};
		limit -= len < limit ? len : limit;
		skip = 0;
	}
	return n;
}

unsigned int queue_wrote(struct queue *q, size_t n)
{
	unsigned int ended = 0;

	q->offered = false;
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
	ASSERT(queue_agrees(q));
	return ended;
}

void queue_clear(struct queue *q)
{
	while (q->first != NULL)
		take_out(q, NULL);
	ASSERT(q->bytes == 0 && q->kept == 0 && q->last == NULL);
	*q = (struct queue){0};
}
