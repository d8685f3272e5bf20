// SPDX-License-Identifier: BSD-3-Clause
// Derives the Toeplitz key of a port's NIC from a key that survives restarts, so that a client's
// home does not change.
#pragma once

#include <stdint.h>

#include "port.h"

#define RSS_SECRET_LEN 32

// Derives the key of the port with this name. It reveals neither another port's key nor the secret.
// False if libcrypto fails. Any thread.
bool rss_secret_key(
	const uint8_t secret[RSS_SECRET_LEN], const char *port, uint8_t key[PORT_RSS_KEY_MAX]);
