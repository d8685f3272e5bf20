// SPDX-License-Identifier: BSD-3-Clause
// Our addresses that the network translates 1:1, and the public addresses by which others know
// them. The public form appears only in messages: received addresses are converted to the internal
// form at once, and all other code uses only that form. A common address (policy.h) also belongs to
// other hosts: at their ports it has no other form.
#pragma once

#include <stdbool.h>

#include "turn_config.h"

struct external_pair {
	struct addr local, public;
	// The address to which public is translated, or public itself if it is in a pool.
	struct addr target;
	// distinguishes the public addresses of one local address; odd: external
	uint8_t form;
};

// Immutable once made, as a part of the policy. Empty if nothing is translated.
struct external {
	struct external_pair *by_own; // nb_own, sorted by local: for addresses told to clients
	// nb_public, sorted by public: for addresses received from clients. Addresses of relay
	// pools are included; they mean the relay address that they replace.
	struct external_pair *by_public;
	uint32_t nb_own, nb_public;
};

// Collects the external addresses of c->local, and the meaning of pool addresses. False without
// memory. external_free frees a partial result in either case.
bool external_make(struct external *e, const struct turn_config *c);
void external_free(struct external *e);
// The pair of a public address; NULL if it is not one.
const struct external_pair *external_find(const struct external *e, const struct addr *a);
// The pair of an external address; NULL for others, including a public address of a relay pool.
const struct external_pair *external_find_outside(const struct external *e, const struct addr *a);
// Address to tell a client: the public form of our address if it has one, else the address itself.
struct addr external_told(const struct external *e, const struct addr *a);
// Address that a client means: our address if a is its public form, the relay address if a replaces
// it in a pool, else a itself. a must be canonical.
struct addr external_meant(const struct external *e, const struct addr *a);
// The form in which a names the address that external_meant returns; 0 if it is that address
// itself. Two addresses with equal meaning and equal form are equal.
uint8_t external_form(const struct external *e, const struct addr *a);
