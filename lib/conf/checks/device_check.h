// SPDX-License-Identifier: BSD-3-Clause
// Checks of device strings that go to DPDK.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// True if a device string can belong to DPDK or to slipring. Otherwise reason says what to write
// instead.
bool conf_device_check(const char *device, char *reason, size_t len);
// True if two device strings of DPDK name one device, however they are spelled. Some drivers make
// several devices of one PCI address, told apart by arguments. slipring's own strings (vtaps and
// replays) are equal if their texts are.
bool conf_device_same(const char *a, const char *b);
