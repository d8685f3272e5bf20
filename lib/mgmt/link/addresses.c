// SPDX-License-Identifier: BSD-3-Clause
// Logs changes of the addresses that the network assigns: each change once, and nothing about an
// address that disappears and comes back within a second.
#include "link/addresses.h"
#include "log/log.h"

#define TICKS 10 // a change must last this long before it is logged

static const char *text_of(const struct addr *a, char *buf, size_t len)
{
	static const struct addr none;

	return addr_eq(a, &none) ? "none" : addr_format(a, buf, len);
}

void mgmt_addresses_start(struct mgmt_addresses *a, const struct dp *d)
{
	a->nb = dp_learned(d, a->told);
	dp_learned(d, a->seen);
	for (unsigned int i = 0; i < a->nb; i++) {
		const struct dp_learned *l = &a->told[i];
		char addr[ADDR_TEXT_LEN], router[ADDR_TEXT_LEN];

		if (l->taken)
			LOG(ADDRESSES, INFO,
				"port %s: address %s of interface %s, gateway from there: %s",
				l->port, text_of(&l->addr, addr, sizeof(addr)), l->interface,
				text_of(&l->gateway, router, sizeof(router)));
	}
}

static void tell_address(const struct dp_learned *l)
{
	char addr[ADDR_TEXT_LEN], current[ADDR_TEXT_LEN];
	static const struct addr none;

	text_of(&l->addr, addr, sizeof(addr));
	if (!l->lost)
		LOG(ADDRESSES, NOTICE, "port %s: interface %s has %s again", l->port, l->interface,
			addr);
	else if (addr_eq(&l->replacement, &none))
		LOG(ADDRESSES, ERR,
			"port %s: interface %s has lost %s: there are no new allocations on it, "
			"existing ones continue",
			l->port, l->interface, addr);
	else
		LOG(ADDRESSES, ERR,
			"port %s: interface %s has %s now, no longer %s: there are no new "
			"allocations on the old one, %s",
			l->port, l->interface, text_of(&l->replacement, current, sizeof(current)),
			addr,
			l->taken ? "a restart adopts the new one"
				 : "change the file and restart to use the new one");
}

static void tell_router(const struct dp_learned *l)
{
	char router[ADDR_TEXT_LEN], gateway[ADDR_TEXT_LEN];

	LOG(ADDRESSES, WARNING,
		"port %s: the default router of interface %s is %s now; the gateway remains "
		"%s, a restart adopts the new one",
		l->port, l->interface, text_of(&l->router, router, sizeof(router)),
		text_of(&l->gateway, gateway, sizeof(gateway)));
}

static bool same_learned(const struct dp_learned *a, const struct dp_learned *b)
{
	return a->lost == b->lost && addr_eq(&a->addr, &b->addr) &&
		addr_eq(&a->replacement, &b->replacement) && addr_eq(&a->router, &b->router) &&
		addr_eq(&a->gateway, &b->gateway);
}

// The code that adopts a new address logs it itself, when it is done.
static void tell_change(const struct dp_learned *now, const struct dp_learned *was)
{
	static const struct addr none;
	const bool followed = now->follows &&
		(!addr_eq(&now->replacement, &none) || !addr_eq(&now->addr, &was->addr));

	if (!followed && (now->lost != was->lost || !addr_eq(&now->replacement, &was->replacement)))
		tell_address(now);
	if (!now->follows && !addr_eq(&now->router, &was->router) &&
		!addr_eq(&now->router, &now->gateway))
		tell_router(now);
}

void mgmt_addresses_tick(struct mgmt_addresses *a, const struct dp *d)
{
	struct dp_learned now[DP_LEARNED_MAX];

	if (a->nb == 0)
		return;
	dp_learned(d, now);
	for (unsigned int i = 0; i < a->nb; i++) {
		a->same[i] = same_learned(&now[i], &a->seen[i]) ? a->same[i] + 1 : 0;
		a->seen[i] = now[i];
		if (a->same[i] != TICKS)
			continue;
		tell_change(&now[i], &a->told[i]);
		a->told[i] = now[i];
	}
}
