// SPDX-License-Identifier: BSD-3-Clause
// Checks the keys of access tokens (auth.oauth, realms[].oauth). Private to lib/conf.
#pragma once

#include <stdint.h>

struct conf_ctx;
struct turn_oauth;
struct turn_user;

// Checks the keys of one realm; users are the realm's users. Returns 0, or -EINVAL after reporting
// the errors.
int conf_oauth_check(
	struct conf_ctx *x, struct turn_oauth *o, const struct turn_user *users, uint32_t nb_users);
