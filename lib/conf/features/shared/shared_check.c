// SPDX-License-Identifier: BSD-3-Clause
// Fills in and checks the keys of shared relay ports.
#include <errno.h>

#include "checks/checks.h"
#include "conf.h"
#include "conf_features.h"
#include "problems.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "schema/schema.h"

#define PORT_LO 3480
#define PORT_HI 3487
#define PLACES 100000 // allocations that memory is reserved for
#define PEER_SHARE 50 // percent, if there are several users

const struct conf_choice conf_shared_choices[] = {{"unique", false}, {"shared", true}, {NULL, 0}};

// Counts the shared addresses of a family that listeners leave free.
static uint32_t count_family(const struct turn_config *t, bool is_v4, bool *any)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < t->nb_relay; i++) {
		if (addr_is_v4(&t->relay[i]) != is_v4)
			continue;
		*any = true;
		nb += conf_relay_left(t, &t->relay[i]);
	}
	return nb;
}

// Checks the number of shared addresses. n: the node to report as the place of an error.
static int check_number(struct conf_ctx *x, const struct conf_node *n)
{
	const struct turn_config *t = &x->conf->turn;
	const uint32_t workers = x->conf->workers > 0 ? x->conf->workers : 1;

	if ((uint64_t)t->nb_relay * (t->port_hi - t->port_lo + 1u) > TURN_SHARED_MAX)
		return conf_fail(x, n,
			"%u addresses with %u ports each are too many for shared mode: use at "
			"most %u ports in all",
			t->nb_relay, t->port_hi - t->port_lo + 1u, TURN_SHARED_MAX);
	for (int is_v4 = 1; is_v4 >= 0; is_v4--) {
		bool any = false;
		const uint32_t nb = count_family(t, is_v4 == 1, &any);

		if (any && nb < workers)
			return conf_fail(x, n,
				"IPv%c has too few shared ports for %u workers (%u): every worker "
				"needs one, make the range larger or workers.count smaller",
				is_v4 == 1 ? '4' : '6', workers, nb);
	}
	return 0;
}

int conf_shared_fill(struct conf_ctx *x)
{
	struct turn_config *t = &x->conf->turn;
	const struct conf_node *ports = conf_node_by_field(x->root, &t->port_lo, 0);
	const struct conf_node *allocations =
		conf_node_by_field(x->root, &t->limits.allocations, 0);

	if (t->shared.peer_share == 0)
		t->shared.peer_share = turn_config_one_user(t) ? 100 : PEER_SHARE;
	if (!t->shared.enabled)
		return 0;
	if (ports == NULL) {
		ports = conf_node_by_field(x->root, &t->relay, 0);
		t->port_lo = PORT_LO;
		t->port_hi = PORT_HI;
	}
	if (allocations == NULL)
		t->limits.allocations = PLACES;
	if (t->limits.allocations == 0)
		return conf_fail(x, allocations,
			"relay.mode is shared and needs memory for each allocation: write a limit "
			"above 0");
	if (t->nb_relay_pools > 0)
		return conf_fail(x, conf_node_by_field(x->root, &t->relay_pools, 0),
			"pools do not work with shared relay ports: remove them, or mode: shared");
	return check_number(x, ports);
}
