// SPDX-License-Identifier: BSD-3-Clause
// The meaning of counters, as an answer of telemetry. Private to lib/mgmt.
#pragma once

#include <stdbool.h>

struct rte_tel_data;

// Adds the meaning of each name of a list to the dictionary t. A list has the name of a command of
// telemetry, as "drops"; "refusals" has the error code of the answer before the text, 0 = not
// answered. False if there is no such list.
bool mgmt_meanings_add(struct rte_tel_data *t, const char *list_name);
