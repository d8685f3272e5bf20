// SPDX-License-Identifier: BSD-3-Clause
// The realms of a policy: each has a policy that shares all common data with the first realm's. Not
// allocated with a single realm.
#pragma once

#include "stun.h"
#include "tables/table.h"
#include "turn_config.h"

struct turn_policy;
struct turn_request;

// The realms that a listener serves, by number.
struct realms_listener {
	uint64_t serves[TURN_REALM_NUMBERS / 64];
	uint8_t first; // the realm that challenges use by default
};

struct realms_origin {
	char *text; // canonical
	uint8_t number;
};

// Immutable once made, as a part of the first realm's policy.
struct realms {
	// By number, never NULL: an unused number gives the first realm's policy.
	const struct turn_policy *by_number[TURN_REALM_NUMBERS];
	struct turn_policy **list; // the further realms, nb; owned
	struct realms_origin *origins; // nb_origins
	struct realms_listener *listeners; // nb_listeners
	struct table by_name, by_origin; // values: a number, an index into origins
	void *table_mem;
	uint32_t nb, nb_origins, nb_listeners;
	size_t name_max; // bytes of the longest name
};

// Makes the further realms of *c, if there are any. The first realm's policy is complete;
// first->realms then owns them. Returns 0 or an errno value; realms_free frees a partial result in
// either case.
int realms_make(struct turn_policy *first, const struct turn_config *c, struct stun_crypto *crypto);
// Like realms_make(), if *first was moved from p (turn_policy_move): makes the further realms from
// those of p.
int realms_move(struct turn_policy *first, const struct turn_policy *p);
void realms_free(struct turn_policy *first, bool moved); // moved: realms_move has made them

// True if clients of a listener are served in the realm with this number. p is the first realm's
// policy.
bool realms_serves(const struct turn_policy *p, uint8_t listener, uint8_t number);
// The realm of a request, where there are several. A request without a REALM that its listener
// serves is challenged for the realm of its allocation, if it has one; else for that of its ORIGIN.
// No message changes a realm permanently: it is determined for each request.
const struct turn_policy *realms_choose(const struct turn_request *r);
