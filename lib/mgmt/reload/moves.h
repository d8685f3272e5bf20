// SPDX-License-Identifier: BSD-3-Clause
// Describes, for the log, address changes that the data path follows. Private to lib/mgmt.
#pragma once

#include <stddef.h>

struct conf;
struct conf_learned;

// Writes which addresses and routers of `running` are replaced by which of the list (nb entries),
// as a part of a sentence, to buf (len bytes).
void moves_describe(const struct conf *running, const struct conf_learned *list, unsigned int nb,
	char *buf, size_t len);
