// SPDX-License-Identifier: BSD-3-Clause
// identities.c: certificates and ALPN, of all listeners and of one.
#pragma once

#include <stdint.h>

struct conf_ctx;

// These check the keys, not the files. The first checks those of all listeners.
int conf_identities_check(struct conf_ctx *x);
// Those of one, once for an entry that is several. Notes which entry it comes from.
int conf_identities_check_listener(struct conf_ctx *x, uint32_t i);
