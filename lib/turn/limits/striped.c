// SPDX-License-Identifier: BSD-3-Clause
// The memory of a table that all workers share.
#include "limits/striped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Average number of entries of a stripe in a full table. The fill of a stripe is binomial; the
// margin is six standard deviations, so in practice no stripe overflows.
#define MEAN 3700u
_Static_assert(MEAN < STRIPED_ENTRIES, "with room to spare");

static uint32_t stripes_for(uint64_t entries)
{
	return (uint32_t)(entries / MEAN) + 1;
}

size_t striped_size(uint64_t entries, size_t size)
{
	return stripes_for(entries) * size;
}

int striped_create(struct striped *t, uint64_t entries, size_t size)
{
	*t = (struct striped){
		aligned_alloc(64, striped_size(entries, size)), size, stripes_for(entries)};
	if (t->stripes == NULL)
		return -ENOMEM;
	memset(t->stripes, 0, striped_size(entries, size));
	return 0;
}

void striped_free(struct striped *t)
{
	free(t->stripes);
}
