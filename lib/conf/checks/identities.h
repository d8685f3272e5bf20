// SPDX-License-Identifier: BSD-3-Clause
// Checks of certificates and ALPN names.
#pragma once

#include <stdint.h>

struct conf_ctx;

// Checks the keys of the file for all listeners; it does not read the certificate files. 0 or
// -EINVAL.
int conf_identities_check(struct conf_ctx *x);
// Checks listener i. Call it once for an entry that became several listeners. Records which entry
// the certificate comes from. 0 or -EINVAL.
int conf_identities_check_listener(struct conf_ctx *x, uint32_t i);
