// SPDX-License-Identifier: BSD-3-Clause
// Own addresses that the network translates 1:1, and the public ones that others know them by. The
// public form stands only in messages: whatever comes in is turned into the own form at once, and
// everything inside has that form alone. A common address (policy.h) is others' besides: at their
// ports it has no other form.
#pragma once

#include <stdbool.h>

#include "turn_config.h"

struct external_pair {
	struct addr local, public;
	struct addr target; // what public is translated to, or itself if it is of a pool
	// of own that public is; unlike for every public one of an own address; odd: external
	uint8_t form;
};

// Immutable once made, as a part of the policy. Empty where nothing is translated.
struct external {
	struct external_pair *by_own; // nb_own, sorted by own: what clients are told
	// nb_public, sorted by public: what clients mean. Addresses of relay pools are here too;
	// they mean the relay address that they stand for.
	struct external_pair *by_public;
	uint32_t nb_own, nb_public;
};

// Collects the external addresses of c->local, and what addresses of pools stand for. False
// without memory. external_free frees what was made in either case.
bool external_make(struct external *e, const struct turn_config *c);
void external_free(struct external *e);
// The pair of a public address; NULL when it is none.
const struct external_pair *external_find(const struct external *e, const struct addr *a);
// The pair of an external address; NULL for others, also for a public address of a relay pool.
const struct external_pair *external_find_outside(const struct external *e, const struct addr *a);
// What a client is told in place of an address: its public form when it is an own address that has
// one, else the address itself.
struct addr external_told(const struct external *e, const struct addr *a);
// What a client means by an address: the own address whose public form it is, the relay address
// that it stands for in a pool, else the address itself. The address is canonical.
struct addr external_meant(const struct external *e, const struct addr *a);
// In which of its forms the address that external_meant returns is named by a: 0 when by itself.
// Addresses that mean the same and have the same form are the same.
uint8_t external_form(const struct external *e, const struct addr *a);
