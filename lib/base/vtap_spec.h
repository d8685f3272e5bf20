// SPDX-License-Identifier: BSD-3-Clause
// The device string of a virtual NIC on a Linux TAP, vtap:NAME[,key=value]... It is parsed in this
// library because the configuration check and the driver have to agree on it, and neither knows the
// other. PURE.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VTAP_NAME_LEN 16 // interface name with its NUL (the kernel's IFNAMSIZ)
#define VTAP_NETNS_LEN 128 // name of a network namespace with its NUL
#define VTAP_QUEUES_MAX 64

// What the kernel's end of the TAP is for the port.
enum vtap_role {
	VTAP_LAB, // another host on the wire, with a MAC of its own
	VTAP_EXCEPTION, // this host: both ends have one MAC
};

// The most offloading that is asked of the kernel; each value includes those before it.
enum vtap_offload { VTAP_OFFLOAD_NONE, VTAP_OFFLOAD_CSUM, VTAP_OFFLOAD_TSO, VTAP_OFFLOAD_USO };

struct vtap_spec {
	char name[VTAP_NAME_LEN]; // of the interface
	char netns[VTAP_NETNS_LEN]; // its name; "" = the one this program runs in
	uint16_t queues; // at most so many; 0 = as many as there are workers
	enum vtap_role role;
	enum vtap_offload offload;
	bool has_mac;
	uint8_t mac[6]; // of the port
};

// Whether a device string means a vtap, well-formed or not.
bool vtap_spec_is(const char *device);
// Reads a device string for which vtap_spec_is holds. False when it is malformed: error (of len
// bytes) then has the reason, worded to stand behind the name of the configuration key. It names no
// file and no port.
bool vtap_spec_parse(const char *device, struct vtap_spec *out, char *error, size_t len);
// The word for a value in the device string, such as "uso". Static memory.
const char *vtap_spec_offload_name(enum vtap_offload offload);
