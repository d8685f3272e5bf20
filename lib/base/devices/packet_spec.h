// SPDX-License-Identifier: BSD-3-Clause
// The device string of a port that shares an interface with the kernel, packet:NAME[,queues=N].
// It is parsed in this library because the configuration check and the driver have to agree on it.
// PURE.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_NAME_LEN 16 // interface name with its NUL (the kernel's IFNAMSIZ)
#define PACKET_QUEUES_MAX 64

struct packet_spec {
	char name[PACKET_NAME_LEN]; // of the interface
	uint16_t queues; // at most so many; 0 = as many as there are workers
};

// Whether a device string means a packet port, well-formed or not.
bool packet_spec_is(const char *device);
// Reads a device string for which packet_spec_is holds. False when it is malformed: error (of len
// bytes) then has the reason, worded to stand behind the name of the configuration key.
bool packet_spec_parse(const char *device, struct packet_spec *out, char *error, size_t len);
