// SPDX-License-Identifier: BSD-3-Clause
// Requests of users who are looked up: what cred_verify cannot decide alone.
#pragma once

#include "auth/cred.h"
#include "turn.h"
#include "turn_refusal.h"

struct stun_crypto;
struct turn_policy;
struct turn_realm;
struct turn_request;

// Policy of a realm: *out is 1 if its users are looked up.
int lookup_make_realm(uint32_t *out, const struct turn_realm *realm, struct stun_crypto *crypto);
// Judges a request that cred_verify has refused, with the credentials of its allocation, or NULL.
// Sets r->cred, and r->waits if an answer must come first. Returns refusal if the user's name is
// not one to look up.
enum turn_refusal lookup_verify(
	struct turn_request *r, enum turn_refusal refusal, const struct turn_cred *known);
// True if the request waits for an answer; plan then says so.
bool lookup_waits(const struct turn_request *r, struct turn_plan *plan);
