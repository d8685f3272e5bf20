// SPDX-License-Identifier: BSD-3-Clause
// A table of a few routes, searched linearly from its longest prefix on.
#include "tables/routes.h"

#include <stdlib.h>

static int longer_first(const void *a, const void *b)
{
	const struct route *l = a, *r = b;

	if (l->dst.len != r->dst.len)
		return r->dst.len - l->dst.len;
	return l->port - r->port;
}

void routes_sort(struct route *r, uint32_t nb)
{
	qsort(r, nb, sizeof(*r), longer_first);
}

const struct route *routes_find(
	const struct route *r, uint32_t nb, uint8_t port, const struct addr *dst)
{
	const struct route *found = NULL;

	for (uint32_t i = 0; i < nb; i++) {
		if (found != NULL && r[i].dst.len < found->dst.len)
			break;
		if ((r[i].not_for >> port & 1) != 0 || !addr_prefix_contains(&r[i].dst, dst))
			continue;
		if (r[i].port == port)
			return &r[i];
		found = found != NULL ? found : &r[i];
	}
	return found;
}
