// SPDX-License-Identifier: BSD-3-Clause
// The realms of a policy: each has a policy that shares all common data with the first realm's. Not
// allocated with a single realm.
#pragma once

#include "auth/policy.h"

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

// Makes the further realms of *c. The first realm's policy is complete; first->realms then owns
// them. Returns 0 or an errno value; realms_free frees a partial result in either case.
int realms_make(struct turn_policy *first, const struct turn_config *c, struct stun_crypto *crypto);
void realms_free(struct realms *r); // accepts NULL

// The policy of the realm with this number: p itself if there is one realm, or the number is
// unused.
static inline const struct turn_policy *realms_policy(const struct turn_policy *p, uint8_t number)
{
	return p->realms == NULL ? p : p->realms->by_number[number];
}

// True if clients of a listener are served in the realm with this number. p is the first realm's
// policy.
bool realms_serves(const struct turn_policy *p, uint8_t listener, uint8_t number);
// The realm of this name among those that a listener serves; NULL if there is no such realm. Only
// called with several realms. Takes one hash of at most as many bytes as the longest name has.
const struct turn_policy *realms_named(
	const struct turn_policy *p, uint8_t listener, const void *name, size_t len);
// The realm for the challenge of a request without credentials: that of its ORIGIN among those that
// the listener serves, else the listener's first realm. Only called with several realms. Takes at
// most four hashes of STUN_ORIGIN_MAX bytes each, and no hash if no realm has origins.
const struct turn_policy *realms_asked(
	const struct turn_policy *p, uint8_t listener, const struct stun_msg *m);
