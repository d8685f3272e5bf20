// SPDX-License-Identifier: BSD-3-Clause
// Checks of device strings that are none of ours.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// True when a device string can be one of DPDK's or ours. Else reason says what to write instead.
bool conf_device_check(const char *device, char *reason, size_t len);
// True when two device strings of DPDK name one device, in whatever spelling. Some drivers make
// several devices of one PCI address, which arguments tell apart. Strings that are ours, vtaps and
// replays, are the same when their texts are.
bool conf_device_same(const char *a, const char *b);
