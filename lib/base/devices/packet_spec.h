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
	char name[PACKET_NAME_LEN]; // name of the interface
	uint16_t queues; // upper limit; 0 = the number of workers
};

// True if a device string means a packet port, well-formed or not.
bool packet_spec_is(const char *device);
// Reads a device string for which packet_spec_is is true. False if it is malformed, with the reason
// in error (len bytes), worded to follow the name of the configuration key.
bool packet_spec_parse(const char *device, struct packet_spec *out, char *error, size_t len);
