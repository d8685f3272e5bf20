// SPDX-License-Identifier: BSD-3-Clause
// The device string of a virtual NIC on a Linux TAP, vtap:NAME[,key=value]... It is parsed in this
// library because the configuration check and the driver have to agree on it, and neither depends
// on the other. PURE.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VTAP_NAME_LEN 16 // interface name with its NUL (the kernel's IFNAMSIZ)
#define VTAP_NETNS_LEN 128 // name of a network namespace with its NUL
#define VTAP_QUEUES_MAX 64

// Role of the kernel's end of the TAP.
enum vtap_role {
	VTAP_LAB, // another host on the wire, with its own MAC
	VTAP_EXCEPTION, // this host: both ends have the same MAC
};

// Most offloads to request from the kernel; each value includes those before it.
enum vtap_offload { VTAP_OFFLOAD_NONE, VTAP_OFFLOAD_CSUM, VTAP_OFFLOAD_TSO, VTAP_OFFLOAD_USO };

struct vtap_spec {
	char name[VTAP_NAME_LEN]; // name of the interface
	char netns[VTAP_NETNS_LEN]; // network namespace; "" = that of this program
	uint16_t queues; // upper limit; 0 = the number of workers
	enum vtap_role role;
	enum vtap_offload offload;
	bool has_mac;
	uint8_t mac[6]; // MAC of the port
};

// True if a device string means a vtap, well-formed or not.
bool vtap_spec_is(const char *device);
// Reads a device string for which vtap_spec_is is true. False if it is malformed, with the reason
// in error (len bytes), worded to follow the name of the configuration key, without a file or port.
bool vtap_spec_parse(const char *device, struct vtap_spec *out, char *error, size_t len);
// Returns the word for a value in the device string, such as "uso", a static string.
const char *vtap_spec_offload_name(enum vtap_offload offload);
