// SPDX-License-Identifier: BSD-3-Clause
// Bytes that wait for room in a connection, in one buffer.
#include "client/pending.h"

#include <stdlib.h>
#include <string.h>

bool pending_put(struct pending *p, const uint8_t *data, size_t len)
{
	const size_t left = pending_left(p);
	uint8_t *more;

	if (len > PENDING_MAX || left + len > PENDING_MAX)
		return false;
	more = malloc(left + len > 0 ? left + len : 1);
	if (more == NULL)
		return false;
	if (left > 0)
		memcpy(more, pending_next(p), left);
	memcpy(more + left, data, len);
	free(p->data);
	*p = (struct pending){.data = more, .len = (uint32_t)(left + len)};
	return true;
}

void pending_wrote(struct pending *p, size_t n)
{
	p->written += (uint32_t)n;
	if (p->written == p->len)
		pending_clear(p);
}

void pending_clear(struct pending *p)
{
	free(p->data);
	*p = (struct pending){0};
}
