// SPDX-License-Identifier: BSD-3-Clause
// What counters mean, as an answer of telemetry. Private to lib/mgmt.
#pragma once

#include <stdbool.h>

struct rte_tel_data;

// Adds to the dictionary t what each name of a list means: of "drops", "refusals" (behind the code
// of the answer, 0 = not answered), "streams" or "dtls". False when there is no such list.
bool mgmt_meanings_add(struct rte_tel_data *t, const char *list_name);
