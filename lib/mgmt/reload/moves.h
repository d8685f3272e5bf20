// SPDX-License-Identifier: BSD-3-Clause
// moves.c: what the log is told of addresses that are followed. Private to lib/mgmt.
#pragma once

#include <stddef.h>

struct conf;
struct conf_learned;

// Writes which addresses and routers of running give way to which of the list, nb of them, as a
// part of a sentence, to buf (len bytes).
void moves_describe(const struct conf *running, const struct conf_learned *list, unsigned int nb,
	char *buf, size_t len);
