// SPDX-License-Identifier: BSD-3-Clause
// Reads the text of EAL's --lcores. Pure, like conf.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CONF_LCORES_MAX 1024

// Two bit sets: lcores, and the CPUs that they may run on.
struct conf_lcores {
	uint64_t ids[CONF_LCORES_MAX / 64], cpus[CONF_LCORES_MAX / 64];
};

static inline bool conf_lcores_has(const uint64_t *set, unsigned int i)
{
	return (set[i / 64] >> i % 64 & 1) != 0;
}

// Reads the text of EAL's --lcores. Returns 0, or -EINVAL when the text is malformed.
int conf_lcores_parse(const char *text, struct conf_lcores *out);
// The number of lcores that text names, or -EINVAL.
int conf_lcores_count(const char *text);
