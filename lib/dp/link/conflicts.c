// SPDX-License-Identifier: BSD-3-Clause
// Passes address conflicts from workers to management: a ring in each worker.
#include "link/conflicts.h"

#include <string.h>

#include "datapath.h"
#include "path/worker.h"

// Two of our ports may be on one link, and hear each other.
static bool is_own_mac(const struct dp *d, const uint8_t mac[6])
{
	for (unsigned int i = 0; i < d->nb_ports; i++)
		if (memcmp(d->port[i].l2.src, mac, 6) == 0)
			return true;
	return false;
}

void conflicts_note(
	struct worker *w, uint8_t port, const struct addr *claimed, const uint8_t mac[6])
{
	struct conflicts *c = &w->conflicts;
	const uint32_t taken = __atomic_load_n(&c->taken, __ATOMIC_ACQUIRE);
	struct dp_conflict *entry = &c->one[c->put % CONFLICTS];

	if (c->put - taken >= CONFLICTS || is_own_mac(w->dp, mac))
		return;
	for (uint32_t i = taken; i != c->put; i++)
		if (addr_eq(&c->one[i % CONFLICTS].addr, claimed))
			return;
	entry->addr = *claimed;
	entry->port = port;
	memcpy(entry->mac, mac, sizeof(entry->mac));
	__atomic_store_n(&c->put, c->put + 1, __ATOMIC_RELEASE);
}

bool dp_conflict(struct dp *d, unsigned int worker, struct dp_conflict *out)
{
	struct conflicts *c = &d->worker[worker]->conflicts;

	if (__atomic_load_n(&c->put, __ATOMIC_ACQUIRE) == c->taken)
		return false;
	*out = c->one[c->taken % CONFLICTS];
	__atomic_store_n(&c->taken, c->taken + 1, __ATOMIC_RELEASE);
	return true;
}
