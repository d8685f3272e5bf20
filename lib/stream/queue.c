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

// Drops the oldest media that is not begun. False when there is none.
static bool drop_oldest(struct queue *q)
{
	struct queue_item *prev = NULL;

	if (q->kept == q->bytes)
		return false;
	for (struct queue_item *i = q->first; i != NULL; prev = i, i = i->next) {
		if (!i->media || (i == q->first && q->begun))
			continue;
		take_out(q, prev);
		return true;
	}
	return false;
}

unsigned int queue_put(struct queue *q, uint32_t max, const struct queue_message *m)
{
	const uint32_t more = weight(m->len);
	struct queue_item *i = NULL;
	unsigned int dropped = 0;

	while (!m->begun && q->bytes + more > max && drop_oldest(q))
		dropped++;
	if (m->begun || q->bytes + more <= max)
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
		q->begun = m->begun;
	} else {
		q->last->next = i;
	}
	q->last = i;
	q->bytes += more;
	if (!m->media)
		q->kept += more;
	return dropped;
}

bool queue_next(const struct queue *q, const uint8_t **data, uint16_t *len)
{
	if (q->first == NULL)
		return false;
	*data = q->first->data + q->done;
	*len = (uint16_t)(q->first->len - q->done);
	return true;
}

bool queue_wrote(struct queue *q, uint16_t n)
{
	q->done = (uint16_t)(q->done + n);
	q->begun = true;
	if (q->done < q->first->len)
		return false;
	take_out(q, NULL);
	q->done = 0;
	q->begun = false;
	return true;
}

void queue_clear(struct queue *q)
{
	while (q->first != NULL)
		take_out(q, NULL);
	*q = (struct queue){0};
}
