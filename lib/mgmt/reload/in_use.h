// SPDX-License-Identifier: BSD-3-Clause
// Who may look at the configuration in use while a reload changes it: its lists are freed then.
// Only the management lcore changes it, and may read it without this. Others read it between
// in_use_read and in_use_done, for no longer than that takes: a reload is done later. Private to
// lib/mgmt.
#pragma once

#include <stdbool.h>

void in_use_read(void);
bool in_use_change(void); // on the management lcore; false: somebody reads it, try again later
void in_use_done(void); // after either
