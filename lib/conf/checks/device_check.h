// SPDX-License-Identifier: BSD-3-Clause
// Checks of device strings that are none of ours.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// True when a device string can be one of DPDK's or ours. Else reason says what to write instead.
bool conf_device_check(const char *device, char *reason, size_t len);
