// SPDX-License-Identifier: BSD-3-Clause
// The realms of a policy: each is a policy of its own that shares with the first realm's what is
// not its own. Where there is one realm there is none of this.
#pragma once

#include "auth/policy.h"

// Which realms a listener serves, by number.
struct realms_listener {
	uint64_t serves[TURN_REALM_NUMBERS / 64];
	uint8_t first; // the realm whose credentials are asked for by default
};

struct realms_origin {
	char *text; // canonical
	uint8_t number;
};

// Immutable once made, as a part of the first realm's policy.
struct realms {
	// By number, never NULL: a number that nobody has is the first realm's.
	const struct turn_policy *by_number[TURN_REALM_NUMBERS];
	struct turn_policy **list; // those beside the first, nb; owned
	struct realms_origin *origins; // nb_origins
	struct realms_listener *listeners; // nb_listeners
	struct table by_name, by_origin; // values: a number, an index into origins
	void *table_mem;
	uint32_t nb, nb_origins, nb_listeners;
	size_t name_max; // bytes of the longest name
};

// Makes the realms of *c beside the first, whose policy is complete; first->realms then owns all of
// it. 0 or an errno value; realms_free frees what was made in either case.
int realms_make(struct turn_policy *first, const struct turn_config *c, struct stun_crypto *crypto);
void realms_free(struct realms *r); // NULL is fine

// The policy of the realm with this number: p's own where there is one realm, or nobody has it.
static inline const struct turn_policy *realms_policy(const struct turn_policy *p, uint8_t number)
{
	return p->realms == NULL ? p : p->realms->by_number[number];
}

// Whether clients of a listener are served in the realm with this number. p is the first realm's.
bool realms_serves(const struct turn_policy *p, uint8_t listener, uint8_t number);
// The realm of this name among those that a listener serves; NULL when there is none. There are
// several realms. Takes one hash of at most so many bytes as the longest name has.
const struct turn_policy *realms_named(
	const struct turn_policy *p, uint8_t listener, const void *name, size_t len);
// The realm whose credentials a request without any is asked for: that of its ORIGIN among those
// that the listener serves, else the listener's first. There are several realms. Takes at most four
// hashes of TURN_ORIGIN_MAX bytes each, and none where no realm has origins.
const struct turn_policy *realms_asked(
	const struct turn_policy *p, uint8_t listener, const struct stun_msg *m);
