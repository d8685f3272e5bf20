// SPDX-License-Identifier: BSD-3-Clause
// Makes the list of rules for each step of the ladder; flow_ladder.c passes them to the NIC.
#include "steering/flow_rules.h"
#include "dp_features.h"
#include "turn_config.h"
#include "turn_relay_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PREFIX_BITS 9 // bits of a port above its slice
#define SLICE_SHIFT 1 // bit 0 distinguishes the ports of a pair
#define LISTENERS_MAX 255

// A set of ports: those whose bits under mask equal value.
struct ports {
	uint16_t value, mask;
};

// The part of the relay range that rules cover, in the bits above the slice.
struct cover {
	const struct turn_config *turn;
	uint16_t listener[LISTENERS_MAX]; // ports of listeners on relay addresses of the family
	unsigned int nb_listeners, nb;
	struct ports part[1 << PREFIX_BITS];
};

// --- addresses ----------------------------------------------------------------------------------

int flow_rules_relay(const struct flow_rules_want *w, uint32_t i)
{
	const struct addr *a = &w->port->addresses[i].addr;

	return addr_is_v4(a) == w->is_v4 ? turn_relay_map_find(w->map, a) : -1;
}

uint32_t flow_rules_addresses(const struct flow_rules_want *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->port->nb_addresses; i++)
		n += flow_rules_relay(w, i) >= 0;
	return n;
}

static bool has_listener(const struct turn_config *t, const struct addr *a)
{
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (!turn_listener_is_stream(&t->listeners[i]) &&
			addr_eq(&t->listeners[i].endpoint.addr, a))
			return true;
	return false;
}

static unsigned int owner_of(const struct flow_rules_want *w, int relay, unsigned int slice)
{
	return turn_relay_map_slice_worker(w->map, (unsigned int)relay, slice);
}

// One rule can match all slices with the same low bits as this one. Returns the number of values of
// these bits: the smallest for which all such slices belong to one worker. Slices are dealt in
// turn, so with a power of two of workers it is the number of workers; otherwise each slice has its
// own rule. All rules test the same bits.
static unsigned int period_of(const struct flow_rules_want *w, int relay, unsigned int slice)
{
	unsigned int period = 1, s = 0;

	while (s < TURN_SLICES && period < TURN_SLICES) {
		if (owner_of(w, relay, (slice + s) % TURN_SLICES) == owner_of(w, relay, slice)) {
			s += period;
			continue;
		}
		period *= 2;
		s = 0;
	}
	return period;
}

// --- the list -----------------------------------------------------------------------------------

int flow_rules_add(
	struct flow_rules *r, const struct port_rule *rule, char reason[FLOW_RULES_WHY_LEN])
{
	if (r->nb == FLOW_RULES_MAX) {
		snprintf(reason, FLOW_RULES_WHY_LEN, "takes more than %u rules", FLOW_RULES_MAX);
		return -E2BIG;
	}
	// the array doubles: it is full when nb is a power of two
	if ((r->nb & (r->nb - 1)) == 0) {
		const size_t room = r->nb > 0 ? 2 * (size_t)r->nb : 1;
		struct port_rule *more = reallocarray(r->rule, room, sizeof(*more));

		if (more == NULL) {
			snprintf(reason, FLOW_RULES_WHY_LEN, "out of memory");
			return -ENOMEM;
		}
		r->rule = more;
	}
	r->rule[r->nb++] = *rule;
	return 0;
}

// --- address ------------------------------------------------------------------------------------

static int make_whole(
	const struct flow_rules_want *w, struct flow_rules *out, char reason[FLOW_RULES_WHY_LEN])
{
	int rc = 0;

	for (uint32_t i = 0; i < w->port->nb_addresses && rc == 0; i++) {
		const struct addr *a = &w->port->addresses[i].addr;
		const int relay = flow_rules_relay(w, i);
		char text[ADDR_TEXT_LEN];

		if (relay < 0)
			continue;
		if (period_of(w, relay, 0) != 1) {
			snprintf(reason, FLOW_RULES_WHY_LEN,
				"fewer relay addresses than workers (%u)", w->turn->workers);
			return -EINVAL;
		}
		if (has_listener(w->turn, a)) {
			snprintf(reason, FLOW_RULES_WHY_LEN, "%s is a listener's address too",
				addr_format(a, text, sizeof(text)));
			return -EINVAL;
		}
		rc = flow_rules_add(out,
			&(struct port_rule){.dst = *a,
				.vlan = w->port->vlan,
				.queue = (uint16_t)owner_of(w, relay, 0)},
			reason);
	}
	return rc;
}

// --- port bits ----------------------------------------------------------------------------------

static bool overlaps_listener(const struct cover *c, uint16_t first, uint16_t last)
{
	for (unsigned int i = 0; i < c->nb_listeners; i++)
		if (c->listener[i] >= first && c->listener[i] <= last)
			return true;
	return false;
}

// Adds the ports that begin with the given bits; if a listener is among them, it tries each half.
static void cover_add(struct cover *c, uint16_t first, unsigned int bits)
{
	const uint16_t mask = (uint16_t)(0xffffu << (16 - bits));
	const uint16_t last = (uint16_t)(first | (uint16_t)~mask);

	if (last < c->turn->port_lo || first > c->turn->port_hi)
		return;
	if (!overlaps_listener(c, first, last)) {
		c->part[c->nb++] = (struct ports){first, mask};
		return;
	}
	if (bits == PREFIX_BITS)
		return; // packets to these ports are handed over
	cover_add(c, first, bits + 1);
	cover_add(c, (uint16_t)(first | 1u << (15 - bits)), bits + 1);
}

// One cover for all addresses, so that all rules test the same bits.
static void cover_make(struct cover *c, const struct flow_rules_want *w)
{
	*c = (struct cover){.turn = w->turn};
	for (uint32_t i = 0; i < w->turn->nb_listeners && i < LISTENERS_MAX; i++) {
		const struct endpoint *endpoint = &w->turn->listeners[i].endpoint;

		if (addr_is_v4(&endpoint->addr) == w->is_v4 &&
			turn_relay_map_find(w->map, &endpoint->addr) >= 0)
			c->listener[c->nb_listeners++] = endpoint->port;
	}
	cover_add(c, 0, 0);
}

static int add_block(const struct cover *c, struct flow_rules *out, const struct port_rule *slices,
	char reason[FLOW_RULES_WHY_LEN])
{
	int rc = 0;

	for (unsigned int i = 0; i < c->nb && rc == 0; i++) {
		struct port_rule r = *slices;

		r.port |= c->part[i].value;
		r.mask |= c->part[i].mask;
		rc = flow_rules_add(out, &r, reason);
	}
	return rc;
}

static int make_sliced(
	const struct flow_rules_want *w, struct flow_rules *out, char reason[FLOW_RULES_WHY_LEN])
{
	struct cover c;
	int rc = 0;

	cover_make(&c, w);
	if (c.nb == 0) {
		snprintf(reason, FLOW_RULES_WHY_LEN,
			"listeners' ports leave nothing of relay.ports");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < w->port->nb_addresses; i++) {
		const int relay = flow_rules_relay(w, i);

		for (unsigned int s = 0; s < TURN_SLICES && relay >= 0 && rc == 0; s++) {
			const unsigned int period = period_of(w, relay, s);
			const struct port_rule r = {.dst = w->port->addresses[i].addr,
				.vlan = w->port->vlan,
				.port = (uint16_t)(s << SLICE_SHIFT),
				.mask = (uint16_t)((period - 1) << SLICE_SHIFT),
				.queue = (uint16_t)owner_of(w, relay, s)};

			if (s < period)
				rc = add_block(&c, out, &r, reason);
		}
	}
	return rc;
}

static int rules_make(const struct flow_rules_want *w, enum flow_rules_step step,
	struct flow_rules *out, char reason[FLOW_RULES_WHY_LEN])
{
#define X(is_used, make) \
	if (is_used(w))  \
		return make(w, step, out, reason);
	DP_RULES(X)
#undef X
	return step == FLOW_RULES_ADDRESS ? make_whole(w, out, reason)
					  : make_sliced(w, out, reason);
}

int flow_rules_make(const struct flow_rules_want *w, enum flow_rules_step step,
	struct flow_rules *out, char reason[FLOW_RULES_WHY_LEN])
{
	int rc;

	*out = (struct flow_rules){0};
	rc = rules_make(w, step, out, reason);
	if (rc == 0)
		return 0;
	free(out->rule);
	*out = (struct flow_rules){0};
	return rc;
}
