// SPDX-License-Identifier: BSD-3-Clause
// Guards the running configuration against a reload, which frees its lists. Only the management
// lcore changes it, and it may read it without the lock. Other threads read it between in_use_read
// and in_use_done, and hold it only briefly, because a reload waits. Private to lib/mgmt.
#pragma once

#include <stdbool.h>

void in_use_read(void);
bool in_use_change(void); // management lcore; false: a reader holds it, try again later
void in_use_done(void); // after either
