// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/turn for users who are looked up (lib/features/meson.build).
#pragma once

#include "features/lookup/lookup.h"
#include "features/lookup/lookup_secrets.h"
#include "features/lookup/lookup_users.h"

#define LOOKUP_NOTHING(...) ((void)0)

#define LOOKUP_POLICY_REALM(X) X(uint32_t, looked_up, lookup_make_realm, LOOKUP_NOTHING)
#define LOOKUP_POLICY_VALUES(X) X(bool, lookup_sha256, lookup.sha256)
#define LOOKUP_PARTS(X) \
	X(struct lookup, lookup, lookup_size, lookup_init, LOOKUP_NOTHING, LOOKUP_NOTHING)
#define LOOKUP_POLICIES(X) X(lookup_secrets_policy)
#define LOOKUP_REQUEST(X) X(uint32_t, waits)
#define LOOKUP_ELSEWHERE(X) X(lookup_verify, lookup_waits)
