// SPDX-License-Identifier: BSD-3-Clause
// Logs what becomes of addresses that the network has given: each change once.
#include "addresses.h"
#include "log.h"

static const char *text_of(const struct addr *a, char *buf, size_t len)
{
	static const struct addr none;

	return addr_eq(a, &none) ? "none" : addr_format(a, buf, len);
}

void mgmt_addresses_start(struct mgmt_addresses *a, const struct dp *d)
{
	a->nb = dp_learned(d, a->told);
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
	char addr[ADDR_TEXT_LEN], other[ADDR_TEXT_LEN];
	static const struct addr none;

	text_of(&l->addr, addr, sizeof(addr));
	if (!l->lost)
		LOG(ADDRESSES, NOTICE, "port %s: interface %s has %s again", l->port, l->interface,
			addr);
	else if (addr_eq(&l->other, &none))
		LOG(ADDRESSES, ERR,
			"port %s: interface %s has lost %s: there are no new allocations on it, "
			"those there are go on",
			l->port, l->interface, addr);
	else
		LOG(ADDRESSES, ERR,
			"port %s: interface %s has %s now, no longer %s: there are no new "
			"allocations on that, %s",
			l->port, l->interface, text_of(&l->other, other, sizeof(other)), addr,
			l->taken ? "a restart takes the new one"
				 : "the file and a restart take the new one");
}

static void tell_router(const struct dp_learned *l)
{
	char router[ADDR_TEXT_LEN], gateway[ADDR_TEXT_LEN];

	LOG(ADDRESSES, WARNING,
		"port %s: the default router of interface %s is %s now; the gateway goes on to be "
		"%s, a restart takes the new one",
		l->port, l->interface, text_of(&l->router, router, sizeof(router)),
		text_of(&l->gateway, gateway, sizeof(gateway)));
}

void mgmt_addresses_tick(struct mgmt_addresses *a, const struct dp *d)
{
	struct dp_learned now[DP_LEARNED_MAX];

	if (a->nb == 0)
		return;
	dp_learned(d, now);
	for (unsigned int i = 0; i < a->nb; i++) {
		const struct dp_learned *was = &a->told[i];

		if (now[i].lost != was->lost || !addr_eq(&now[i].other, &was->other))
			tell_address(&now[i]);
		if (!addr_eq(&now[i].router, &was->router) &&
			!addr_eq(&now[i].router, &now[i].gateway))
			tell_router(&now[i]);
		a->told[i] = now[i];
	}
}
