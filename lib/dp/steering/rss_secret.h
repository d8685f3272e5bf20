// SPDX-License-Identifier: BSD-3-Clause
// rss_secret.c: the Toeplitz key of a port's NIC, made of a key that a restart keeps. A client's
// home then is the same after it.
#pragma once

#include <stdint.h>

#include "port.h"

#define RSS_SECRET_LEN 32

// Makes the key of the port of this name. Nobody who knows it knows another port's, or the secret.
// False when libcrypto fails. Any thread.
bool rss_secret_key(
	const uint8_t secret[RSS_SECRET_LEN], const char *port, uint8_t key[PORT_RSS_KEY_MAX]);
